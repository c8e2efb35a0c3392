// A server behind the queue that dies, freezes, loses what it had, or is full.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "contract/queue_contract.h"
#include "support/fakes.h"

namespace sluice::test {

namespace {

using std::chrono::steady_clock;

constexpr milliseconds kShort{200};

}  // namespace

TEST_P(QueueServer, Q07_SomethingOfAnotherKindInItsPlaceIsRefusedAndLeftAlone) {
  queue_.reset();
  server().occupy();
  const auto strange = fixture_->make("first", 1);
  const Status refused = strange->start(Deadline::in(kSoon));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << refused.error().text;
  EXPECT_TRUE(server().isOccupied()) << "nothing was deleted";
}

TEST_P(QueueServer, Q21_ATokenFromBeforeAReconnectSettlesNothingElse) {
  begin({.lease = kMiddleLease});
  publish(1, 10);
  const auto held = take(10);
  std::set<std::int64_t> settled;
  for (int round = 0; round < 3; ++round) {
    server().cutConnections();
    publish(100 + round * 10, 10);
    // The slot reconnects here; what it held may come again, with tokens of its own.
    const auto fresh = take(*queue_, 1, 10);
    Result<std::vector<SettleOutcome>> outcomes{ErrorCode::Unavailable, ""};
    waitUntil([&] {
      outcomes =
          queue_->settle(0, settlementsOf({held[static_cast<std::size_t>(round)]}), Deadline::in(kSoon));
      return outcomes.ok();
    });
    if (outcomes.value().at(0) == SettleOutcome::Settled) settled.insert(round + 1);
    EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(fresh)), 0U) << "another slot's";
  }
  // Whatever that settled: exactly the rest is still there, none of the new ones is gone.
  EXPECT_EQ(fixture_->rawDepth(), 40 - static_cast<std::int64_t>(settled.size()));
  const auto rest = drainAll(*open("second"));
  EXPECT_EQ(rest.size(), 40 - settled.size());
  for (const std::int64_t order : settled)
    EXPECT_EQ(rest.count(order), 0U);
}

TEST_P(QueueServer, Q37_KilledWhilePublishingLosesNothingThatWasAccepted) {
  const std::int64_t publishers = sized(20, 100);
  const std::int64_t each = sized(40, 100);
  const std::int64_t all = publishers * each;
  std::atomic<std::int64_t> accepted{0};
  std::vector<std::thread> threads;
  for (std::int64_t publisher = 0; publisher < publishers; ++publisher) {
    threads.emplace_back([&, publisher] {
      const Deadline deadline = Deadline::in(kSoon * 3);
      for (std::int64_t k = 0; k < each; k += 2) {
        // Repeated until it is accepted; one of which nothing is known may come twice.
        while (!publish(*queue_, admissionsOf(1 + publisher * each + k, 2)).ok() && !deadline.passed()) {
          std::this_thread::sleep_for(milliseconds(5));
        }
        accepted += 2;
      }
    });
  }
  for (const std::int64_t part : {all / 3, all / 2}) {
    waitUntil([&] { return accepted >= part; });
    server().kill();
    server().start();
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(drainAll(*queue_).size(), static_cast<std::size_t>(all));
  EXPECT_EQ(stats().dataLost, 0U);
}

TEST_P(QueueServer, Q38_KilledWhileBatchesAreOut) {
  publish(1, 300);
  auto held = take(100);
  settle(settlementsOf({held.begin(), held.begin() + 50}));
  server().kill();
  expectReceiveFails(*queue_, 0, kShort);
  EXPECT_FALSE(queue_->settle(0, settlementsOf({held[60]}), Deadline::in(kShort)).ok());
  server().start();
  const auto seen = drainAll(*queue_);
  EXPECT_EQ(seen.size(), 250U);
  EXPECT_EQ(*seen.begin(), 51);
  EXPECT_EQ(*seen.rbegin(), 300);
  EXPECT_EQ(stats().dataLost, 0U);
  EXPECT_GE(stats().reconnects, 1U);
}

TEST_P(QueueServer, Q39_AwayAtOpenThenThere) {
  server().kill();
  const auto late = fixture_->make("late", 1);
  const auto begin = steady_clock::now();
  const Status refused = late->start(Deadline::in(milliseconds(500)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable) << refused.error().text;
  EXPECT_LT(steady_clock::now() - begin, kSoon / 4);
  server().start();
  waitUntil([&] { return late->start(Deadline::in(milliseconds(500))).ok(); });
  ASSERT_TRUE(publish(*late, admissionsOf(1, 1)).ok());
  EXPECT_EQ(take(*late, 0, 1).size(), 1U);
}

TEST_P(QueueServer, Q40_AFrozenServerHoldsNobodyBeyondTheDeadline) {
  begin({.lease = kMiddleLease});
  publish(1, 4);
  const auto held = take(2);
  ASSERT_EQ(held.size(), 2U);
  server().freeze();
  const auto begin = steady_clock::now();
  expectReceiveFails(*queue_, 1, kShort);
  EXPECT_FALSE(queue_->settle(0, settlementsOf(held), Deadline::in(kShort)).ok());
  EXPECT_FALSE(queue_->stats(Deadline::in(kShort)).ok());
  EXPECT_FALSE(queue_->drain(Deadline::in(kShort)).ok());
  EXPECT_LT(steady_clock::now() - begin, kSoon / 3);
  server().resume();
  // Orders flow again, and none is lost: what was sent to the frozen server may have happened or not.
  (void)drainAll(*open("second"));
}

TEST_P(QueueServer, Q42_AFrozenServerLeavesTheOutcomeUnknownAndOneOrderInTheEnd) {
  publish(1, 1);  // so that a connection is there
  server().freeze();
  const auto begin = steady_clock::now();
  const auto published = queue_->publish(messagesOf(admissionsOf(2, 1)), Deadline::in(kShort));
  EXPECT_LT(steady_clock::now() - begin, kSoon / 4);
  ASSERT_FALSE(published.ok());
  EXPECT_EQ(published.error().code, ErrorCode::OutcomeUnknown) << published.error().text;
  server().resume();
  waitUntil([this] { return publish(*queue_, admissionsOf(2, 1)).ok(); });
  expectOneRowEach(2);
}

void QueueContract::expectOneRowEach(std::int64_t count) {
  Fakes fakes;
  for (int k = 0; k < 3; ++k)
    (void)fakes.sell(1000, 1000);
  std::map<std::int64_t, int> rows;
  const Deadline deadline = Deadline::in(kSoon);
  while (fixture_->rawDepth() > 0 && !deadline.passed()) {
    const auto batch = queue_->receive(0, 10, Deadline::in(kShort));
    if (!batch) continue;
    for (const Delivery& delivery : batch.value()) {
      const UtcTime now = fakes.clock.now();
      const auto decided = fakes.store.persist({&delivery.admission, 1}, now, now + kSoon, soon());
      ASSERT_TRUE(decided.ok()) << decided.error().text;
      EXPECT_NE(decided.value()[0].kind, PersistKind::Conflict);
      rows[delivery.admission.order.value()] += decided.value()[0].kind == PersistKind::Already ? 0 : 1;
    }
    (void)queue_->settle(0, settlementsOf(batch.value()), Deadline::in(kSoon));
  }
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(count));
  for (const auto& [order, decided] : rows)
    EXPECT_EQ(decided, 1) << order;
}

TEST_P(QueueServer, Q41_WhateverIsDeletedUnderAWaitingConsumerIsRebuiltAndSaidOnce) {
  std::uint64_t losses = 0;
  for (const Loss loss : {Loss::Queue, Loss::Consumers, Loss::Everything}) {
    const std::size_t linesBefore = fixture_->log.calls();
    std::atomic<bool> stop{false};
    std::thread waiting([&] {
      while (!stop)
        (void)queue_->receive(1, 10, Deadline::in(milliseconds(100)));
    });
    std::this_thread::sleep_for(milliseconds(100));
    server().lose(loss);
    ++losses;
    waitUntil([&] { return stats().dataLost >= losses; });
    std::this_thread::sleep_for(milliseconds(300));
    stop = true;
    waiting.join();
    EXPECT_EQ(stats().dataLost, losses) << "counted once";
    EXPECT_LE(fixture_->log.calls() - linesBefore, 5U) << "no storm in the log";
    publish(1, 3);
    const auto again = take(3);
    EXPECT_EQ(ordersOf(again), numbers(1, 3));
    settle(settlementsOf(again));
  }
}

TEST_P(QueueServer, Q41_WhatWasOutWhenTheQueueWasDeletedIsNobodys) {
  publish(1, 5);
  const auto held = take(5);
  server().lose(Loss::Everything);
  waitUntil([&] {
    (void)queue_->receive(1, 1, Deadline::in(kShort));
    return stats().dataLost == 1;
  });
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held)), 0U);
  publish(6, 3);
  EXPECT_EQ(ordersOf(take(3)), numbers(6, 3));
}

TEST_P(QueueServer, Q44_WithMemoryFullPublishingIsRefusedAndConsumersDrain) {
  publish(1, 200);
  const auto held = take(100);
  server().setMemoryFull(true);
  const auto refused = publish(*queue_, admissionsOf(300, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().code == ErrorCode::Overloaded || refused.error().code == ErrorCode::Unavailable)
      << refused.error().text;
  auto later = settlementsOf({held.at(0)}, SettleKind::RetryLater);
  const auto postponed = queue_->settle(0, later, Deadline::in(kSoon));
  settle(settlementsOf({held.begin() + 1, held.end()}));
  const auto rest = take(100);
  EXPECT_EQ(ordersOf(rest), numbers(101, 100)) << "nothing was dropped";
  settle(settlementsOf(rest));
  server().setMemoryFull(false);
  if (!postponed) settle(later);
  const auto last = take(1);
  EXPECT_EQ(last.at(0).failures, 1U) << "a refused settlement leaves nothing half done";
  settle(settlementsOf(last));
  publish(300, 1);
  EXPECT_EQ(drainAll(*queue_), std::set<std::int64_t>{300});
}

TEST_P(QueueServer, Q45_CloseReturnsWhileTheServerIsFrozen) {
  server().freeze();
  std::thread waiting([this] { EXPECT_FALSE(queue_->receive(0, 1, Deadline::in(kSoon)).ok()); });
  std::thread publishing(
      [this] { EXPECT_FALSE(queue_->publish(messagesOf(admissionsOf(1, 1)), Deadline::in(kSoon)).ok()); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = steady_clock::now();
  queue_->close();
  waiting.join();
  publishing.join();
  EXPECT_LT(steady_clock::now() - begin, kSoon / 4);
  server().resume();
}

TEST_P(QueueNetwork, Q40_PacketsThatVanishHoldNobody) {
  publish(1, 30);
  for (const auto broken : {0, 1, 2, 3}) {
    const auto held = take(5);
    if (broken == 0) line().stall();
    if (broken == 1) line().drop(Way::ToServer);
    if (broken == 2) line().drop(Way::ToClient);
    if (broken == 3) line().refuse(), line().cut();
    const auto begin = steady_clock::now();
    expectReceiveFails(*queue_, 1, kShort);
    EXPECT_FALSE(queue_->settle(0, settlementsOf(held), Deadline::in(kShort)).ok()) << broken;
    EXPECT_FALSE(queue_->publish(messagesOf(admissionsOf(1000, 1)), Deadline::in(kShort)).ok()) << broken;
    EXPECT_FALSE(queue_->stats(Deadline::in(kShort)).ok()) << broken;
    EXPECT_FALSE(queue_->deadLetters("", 1, Deadline::in(kShort)).ok()) << broken;
    EXPECT_LT(steady_clock::now() - begin, kSoon / 3) << broken;
    line().pass();
    line().cut();  // what a stack does in the end
    waitUntil([this] { return queue_->stats(Deadline::in(kShort)).ok(); });
  }
  auto seen = drainAll(*queue_);
  seen.erase(1000);
  // Some were settled by a request whose answer vanished; of the others none is lost.
  EXPECT_TRUE(seen.empty() || *seen.rbegin() == 30);
  EXPECT_GE(seen.size(), 10U);
}

TEST_P(QueueNetwork, Q42_AnAnswerThatVanishesIsUnknownAndRepeatedItIsOneOrder) {
  publish(1, 1);
  line().drop(Way::ToClient);
  const auto published = queue_->publish(messagesOf(admissionsOf(2, 1)), Deadline::in(kShort));
  ASSERT_FALSE(published.ok());
  EXPECT_EQ(published.error().code, ErrorCode::OutcomeUnknown) << published.error().text;
  waitUntil([this] { return fixture_->rawDepth() == 2; });  // it did happen
  line().pass();
  line().cut();
  waitUntil([this] { return publish(*queue_, admissionsOf(2, 1)).ok(); });
  EXPECT_EQ(fixture_->rawDepth(), 3) << "the same order twice";
  expectOneRowEach(2);
}

TEST_P(QueueNetwork, Q40_AConnectionCutInTheMiddleOfABatchLosesNothing) {
  publish(1, 2000);
  std::set<std::int64_t> seen;
  SeededRandom random(testSeed());
  const Deadline deadline = Deadline::in(kSoon * 2);
  for (int round = 0; round < sized(30, 300) && !deadline.passed(); ++round) {
    line().cutAfter(round % 2 == 0 ? Way::ToClient : Way::ToServer, random.next() % 3000, Ending::Reset);
    const auto batch = queue_->receive(0, 40, Deadline::in(kShort));
    if (!batch) continue;
    for (const std::int64_t order : ordersOf(batch.value()))
      seen.insert(order);
    (void)queue_->settle(0, settlementsOf(batch.value()), Deadline::in(kShort));
  }
  line().pass();
  for (const std::int64_t order : drainAll(*queue_))
    seen.insert(order);
  EXPECT_EQ(seen.size(), 2000U);
}

}  // namespace sluice::test
