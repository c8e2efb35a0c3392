// queue_stream when Redis loses things or holds strange ones: groups, entries, connections.
#include <thread>

#include "stream_fixture.h"

namespace sluice::test {

namespace {

class StreamFaults : public StreamOwn {};

INSTANTIATE_TEST_SUITE_P(Own, StreamFaults, testing::Values(kStream), queueCaseName);

TEST_P(StreamFaults, Q41_ADestroyedGroupGetsEverythingAgain) {
  publish(1, 5);
  settle(settlementsOf(take(2)));
  redis().command({"XGROUP", "DESTROY", kJournal, kGroup});
  EXPECT_EQ(ordersOf(take(3)), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(stats().dataLost, 1U);
}

TEST_P(StreamFaults, Q41_ADeletedJournalUnderAWaitingConsumer) {
  std::thread deleter([this] {
    std::this_thread::sleep_for(milliseconds(100));
    redis().command({"DEL", kJournal});
    // As the qualify script does it: it knows nothing of groups.
    injectField("o", encodeAdmission(admissionOf(1)));
  });
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
  deleter.join();
  EXPECT_EQ(stats().dataLost, 1U);
}

TEST_P(StreamFaults, Q41_AServerThatComesBackEmptyIsOneLoss) {
  begin({.lease = kShortLease, .synced = true});  // else it may have forgotten that it was emptied
  publish(1, 5);
  (void)take(5);
  redis().command({"FLUSHALL"});
  redis().restart();
  const Deadline deadline = Deadline::in(kSoon);
  while (!queue_->receive(0, 1, Deadline::in(milliseconds(50))).ok() && !deadline.passed()) {
  }
  EXPECT_EQ(stats().dataLost, 1U);
  publish(9, 1);
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{9});
}

TEST_P(StreamFaults, EntriesDeletedWhilePendingAreDroppedAndCounted) {
  publish(1, 3);
  (void)take(3);
  queue_.reset();
  redis().command({"XTRIM", kJournal, "MAXLEN", "1"});
  queue_ = open("first");
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{3});
  EXPECT_EQ(stats().vanished, 2U);
  EXPECT_EQ(stats().inFlight, 1);
  EXPECT_EQ(stats().ready, 0);
}

TEST_P(StreamFaults, AForgottenRetryIsStillFound) {
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = milliseconds(3600000);
  settle(later);
  expectQuiet(*queue_, 0, own().needs.lease * 2);
  // Somebody deletes the timetable, and an hour passes.
  redis().command({"DEL", "t:{0}:retry"});
  const auto id = std::string(redis().command({"XRANGE", kJournal, "-", "+"}).value()[0][0].text());
  redis().command({"XCLAIM", kJournal, kGroup, "~later", "0", id, "IDLE", "3700000", "JUSTID"});
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
}

TEST_P(StreamFaults, Q21_ATokenSurvivesALostConnection) {
  publish(1, 2);
  const auto held = take(2);
  redis().command({"CLIENT", "KILL", "TYPE", "normal"});
  const Deadline deadline = Deadline::in(kSoon);
  Result<std::vector<SettleOutcome>> outcome{ErrorCode::Unavailable, ""};
  while (!outcome && !deadline.passed()) {
    outcome = queue_->settle(0, settlementsOf({held.at(0)}), Deadline::in(milliseconds(500)));
  }
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().at(0), SettleOutcome::Settled) << "still ours in Redis";
  const auto again = take(1);
  EXPECT_EQ(ordersOf(again), std::vector<std::int64_t>{2});
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held.at(1)})), 0U) << "it was handed out anew";
  settle(settlementsOf(again));
  expectClean();
}

// Each of its keys, and whatever stands there instead: named with both kinds, and left alone.
TEST_P(StreamFaults, Q07_AKeyOfAnotherTypeIsNamedWithBothKinds) {
  queue_.reset();
  for (const auto& [key, kind] :
       {std::pair(kJournal, "stream"), std::pair(kDead, "stream"),
        std::pair(std::string("t:{0}:failures"), "hash"), std::pair(std::string("t:{0}:retry"), "zset")}) {
    redis().command({"DEL", key});
    redis().command({"RPUSH", key, "somebody's"});
    const auto strange = fixture_->make("first", 1);
    const Status refused = strange->start(Deadline::in(kSoon));
    ASSERT_FALSE(refused.ok()) << key;
    EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << refused.error().text;
    for (const std::string& part : {key, std::string("list"), std::string(kind)}) {
      EXPECT_NE(refused.error().text.find(part), std::string::npos) << part << ": " << refused.error().text;
    }
    EXPECT_EQ(redis().number({"LLEN", key}), 1);
    redis().command({"DEL", key});
  }
}

TEST_P(StreamFaults, Q07_AKeyOfAnotherTypeWhileItRunsIsNamedTooAndMendedItGoesOn) {
  publish(1, 1);
  redis().command({"DEL", kJournal});
  redis().command({"SET", kJournal, "a string"});
  const auto refused = queue_->receive(0, 1, Deadline::in(kSoon));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << "an operator must look";
  EXPECT_NE(refused.error().text.find(kJournal), std::string::npos) << refused.error().text;
  EXPECT_EQ(redis().text({"GET", kJournal}), "a string");
  redis().command({"DEL", kJournal});
  waitUntil([this] { return queue_->receive(0, 1, Deadline::in(milliseconds(50))).ok(); });
  publish(2, 1);
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{2});
}

}  // namespace

}  // namespace sluice::test
