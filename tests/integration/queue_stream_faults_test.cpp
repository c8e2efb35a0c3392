// queue_stream when Redis loses things: groups, entries, connections, memory.
#include <atomic>
#include <filesystem>
#include <thread>

#include "stream_fixture.h"

namespace sluice::test {

namespace {

class StreamFaults : public StreamOwn {};

const QueueCase kCase{"stream", [] { return std::make_unique<StreamFixture>(milliseconds(600)); }};

INSTANTIATE_TEST_SUITE_P(Own, StreamFaults, testing::Values(kCase), queueCaseName);

TEST_P(StreamFaults, AFlushedServerIsRebuiltOnceAndQuietly) {
  publish(1, 5);
  const auto held = take(5);
  std::atomic<bool> stop{false};
  std::thread waiting([&] {
    while (!stop) {
      (void)queue_->receive(1, 10, Deadline::in(milliseconds(100)));
    }
  });
  std::this_thread::sleep_for(milliseconds(100));
  redis().command({"FLUSHALL"});
  const Deadline deadline = Deadline::in(kSoon);
  while (stats().dataLost == 0 && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  std::this_thread::sleep_for(milliseconds(300));
  stop = true;
  waiting.join();
  EXPECT_EQ(stats().dataLost, 1U);
  EXPECT_EQ(own().log.topic("group gone"), 1U);
  EXPECT_EQ(own().log.lines, 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held)), 0U) << "what was lost is nobody's";
  publish(6, 3);
  EXPECT_EQ(ordersOf(take(3)), (std::vector<std::int64_t>{6, 7, 8}));
}

TEST_P(StreamFaults, ADestroyedGroupGetsEverythingAgain) {
  publish(1, 5);
  settle(settlementsOf(take(2)));
  redis().command({"XGROUP", "DESTROY", kJournal, kGroup});
  EXPECT_EQ(ordersOf(take(3)), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(stats().dataLost, 1U);
}

TEST_P(StreamFaults, ADeletedJournalUnderAWaitingConsumer) {
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

TEST_P(StreamFaults, AServerThatComesBackEmptyIsOneLoss) {
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
  expectQuiet(*queue_, 0, own().lease() * 2);
  // Somebody deletes the timetable, and an hour passes.
  redis().command({"DEL", "t:{0}:retry"});
  const auto id = std::string(redis().command({"XRANGE", kJournal, "-", "+"}).value()[0][0].text());
  redis().command({"XCLAIM", kJournal, kGroup, "~later", "0", id, "IDLE", "3700000", "JUSTID"});
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
}

TEST_P(StreamFaults, ATokenSurvivesALostConnection) {
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

TEST_P(StreamFaults, FullMemoryStillLetsOrdersBeSettled) {
  publish(1, 100);
  const auto held = take(100);
  redis().command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(publish(*queue_, admissionsOf(200, 1)).error().code, ErrorCode::Unavailable);
  auto later = settlementsOf({held.at(0)}, SettleKind::RetryLater);
  EXPECT_EQ(queue_->settle(0, later, Deadline::in(kSoon)).error().code, ErrorCode::Unavailable);
  settle(settlementsOf({held.begin() + 1, held.end()}));
  redis().command({"CONFIG", "SET", "maxmemory", "0"});
  settle(later);
  const auto last = take(1);
  EXPECT_EQ(last.at(0).failures, 1U) << "the refused settlement left nothing half done";
  settle(settlementsOf(last));
  expectClean();
}

TEST_P(StreamFaults, AJournalOfAnotherTypeIsSaidSo) {
  queue_.reset();
  redis().command({"DEL", kJournal});
  redis().command({"SET", kJournal, "a string"});
  const auto strange = fixture_->make("first", 1);
  const Status refused = strange->start(Deadline::in(kSoon));
  EXPECT_EQ(refused.error().code, ErrorCode::Corrupt) << refused.error().text;
  EXPECT_EQ(redis().text({"GET", kJournal}), "a string");
}

TEST_P(StreamFaults, AWrongPasswordIsAnOperatorsMatter) {
  own().settings.redis.password = "wrong-secret";
  const auto locked = fixture_->make("first", 1);
  const Status refused = locked->start(Deadline::in(kSoon));
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << refused.error().text;
  EXPECT_EQ(refused.error().text.find("wrong-secret"), std::string::npos);
}

TEST_P(StreamFaults, ForcedReconnectsLeakNothing) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  publish(1, 1);
  (void)take(1);
  const auto before = descriptors();
  for (int round = 0; round < 100; ++round) {
    redis().command({"CLIENT", "KILL", "TYPE", "normal"});
    (void)queue_->receive(0, 1, Deadline::in(milliseconds(1)));
    (void)queue_->receive(0, 1, Deadline::in(milliseconds(1)));
  }
  EXPECT_LE(descriptors(), before + 2);
  EXPECT_GE(stats().reconnects, 10U);
  publish(2, 1);
  EXPECT_TRUE(publish(*queue_, admissionsOf(3, 1)).ok());
}

}  // namespace

}  // namespace sluice::test
