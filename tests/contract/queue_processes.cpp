// Several processes on one queue, and a server that dies.
#include <algorithm>
#include <atomic>
#include <thread>

#include "contract/queue_contract.h"

namespace sluice::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueProcesses);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueServer);

TEST_P(QueueProcesses, WhatADeadProcessHeldReachesAnother) {
  publish(1, 20);
  const auto held = take(20);
  settle(settlementsOf({held.at(0)}));
  const auto begin = std::chrono::steady_clock::now();
  queue_.reset();  // its connections go, what it held stays behind
  const auto other = open("second");
  const auto again = take(*other, 0, 19);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, fixture_->lease() + fixture_->takeOverSlack());
  for (const Delivery& delivery : again) {
    EXPECT_EQ(delivery.deliveries, 2U);
    EXPECT_EQ(delivery.failures, 0U);
  }
  settle(*other, 0, settlementsOf(again));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueProcesses, ARestartedProcessGetsItsOwnWithoutWaiting) {
  publish(1, 5);
  const auto held = take(5);
  publish(6, 5);
  queue_.reset();
  queue_ = open("first");
  const auto again = take(5);
  EXPECT_EQ(ordersOf(again), ordersOf(held)) << "its own first, in order";
  EXPECT_EQ(again.at(0).deliveries, 2U);
  EXPECT_EQ(ordersOf(take(5)), (std::vector<std::int64_t>{6, 7, 8, 9, 10}));
}

TEST_P(QueueProcesses, ALateSettlementAfterTakeOverIsStale) {
  publish(1, 3);
  const auto held = take(3);
  const auto other = open("second");
  const auto taken = take(*other, 0, 3);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held)), 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held, SettleKind::RetryLater)), 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held, SettleKind::DeadLetter)), 0U);
  EXPECT_EQ(fixture_->rawDepth(), 3);
  EXPECT_TRUE(dead().empty());
  settle(*other, 0, settlementsOf(taken));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueProcesses, WhatIsDrainedReachesOthersAtOnce) {
  publish(1, 700);
  (void)take(700);
  const auto other = open("second");
  const auto drained = queue_->drain(Deadline::in(kSoon));
  ASSERT_TRUE(drained.ok()) << drained.error().text;
  EXPECT_EQ(drained.value(), 700U);
  auto again = ordersOf(take(*other, 0, 700));
  std::sort(again.begin(), again.end());
  EXPECT_EQ(again.front(), 1);
  EXPECT_EQ(again.back(), 700);
  EXPECT_EQ(std::unique(again.begin(), again.end()), again.end());
}

TEST_P(QueueProcesses, ManyProcessesOpenAtOnceAndLoseNothing) {
  constexpr std::int64_t kMessages = 500;
  publish(1, kMessages);
  std::atomic<std::int64_t> settled{0};
  std::vector<std::thread> processes;
  processes.reserve(10);
  for (int k = 0; k < 10; ++k) {
    processes.emplace_back([this, k, &settled] {
      const auto queue = open("process" + std::to_string(k), 1);
      const Deadline deadline = Deadline::in(kSoon);
      while (settled.load() < kMessages && !deadline.passed()) {
        const auto batch = queue->receive(0, 20, Deadline::in(milliseconds(50)));
        if (!batch || batch.value().empty()) continue;
        settled += static_cast<std::int64_t>(countSettled(*queue, 0, settlementsOf(batch.value())));
      }
    });
  }
  for (std::thread& process : processes) {
    process.join();
  }
  EXPECT_EQ(settled.load(), kMessages);
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueProcesses, PublishedBeforeAnyConsumerWasEverThere) {
  // The fixture's queue has been started but nobody ever received from it.
  publish(1, 10);
  queue_.reset();
  const auto late = open("late");
  EXPECT_EQ(take(*late, 0, 10).size(), 10U);
}

TEST_P(QueueProcesses, DeadLettersAreVisibleToOthers) {
  if (!queue_->traits().inspectable) return;
  const DeadLetter letter = deadLetter(1, "seen by all");
  const auto other = open("second");
  const auto found = other->findDeadLetter(letter.id, Deadline::in(kSoon));
  ASSERT_TRUE(found.ok() && found.value());
  EXPECT_EQ(found.value()->reason, "seen by all");
  ASSERT_TRUE(other->replayDeadLetter(letter.id, Deadline::in(kSoon)).ok());
  EXPECT_EQ(queue_->replayDeadLetter(letter.id, Deadline::in(kSoon)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
}

TEST_P(QueueServer, AwayAtOpenThenThere) {
  fixture_->killServer();
  const auto late = fixture_->make("late", 1);
  const auto begin = std::chrono::steady_clock::now();
  const Status refused = late->start(Deadline::in(milliseconds(500)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable) << refused.error().text;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  fixture_->startServer();
  const Deadline deadline = Deadline::in(kSoon);
  while (!late->start(Deadline::in(milliseconds(500))).ok() && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  ASSERT_TRUE(publish(*late, admissionsOf(1, 1)).ok());
  EXPECT_EQ(take(*late, 0, 1).size(), 1U);
}

TEST_P(QueueServer, KilledWhileBatchesAreOut) {
  publish(1, 300);
  auto held = take(100);
  settle(settlementsOf({held.begin(), held.begin() + 50}));
  fixture_->killServer();
  const auto away = queue_->receive(0, 10, Deadline::in(milliseconds(200)));
  EXPECT_FALSE(away.ok());
  EXPECT_FALSE(queue_->settle(0, settlementsOf({held[60]}), Deadline::in(milliseconds(200))).ok());
  fixture_->startServer();
  std::set<std::int64_t> seen;
  const Deadline deadline = Deadline::in(kSoon);
  while (fixture_->rawDepth() > 0 && !deadline.passed()) {
    const auto batch = queue_->receive(0, 100, Deadline::in(milliseconds(200)));
    if (!batch || batch.value().empty()) continue;
    for (const std::int64_t order : ordersOf(batch.value())) {
      seen.insert(order);
    }
    settle(settlementsOf(batch.value()));
  }
  EXPECT_EQ(seen.size(), 250U);
  EXPECT_EQ(*seen.begin(), 51);
  EXPECT_EQ(*seen.rbegin(), 300);
  EXPECT_EQ(stats().dataLost, 0U);
  EXPECT_GE(stats().reconnects, 1U);
}

TEST_P(QueueServer, KilledWhilePublishingLosesNothingThatWasAccepted) {
  std::atomic<bool> stop{false};
  std::set<std::int64_t> accepted;
  std::thread publisher([&] {
    for (std::int64_t order = 1; !stop; ++order) {
      if (publish(*queue_, {admissionOf(order)}).ok()) accepted.insert(order);
    }
  });
  for (int round = 0; round < 2; ++round) {
    std::this_thread::sleep_for(milliseconds(150));
    fixture_->killServer();
    fixture_->startServer();
  }
  std::this_thread::sleep_for(milliseconds(150));
  stop = true;
  publisher.join();
  EXPECT_FALSE(accepted.empty());
  std::set<std::int64_t> seen;
  const Deadline deadline = Deadline::in(kSoon);
  while (fixture_->rawDepth() > 0 && !deadline.passed()) {
    const auto batch = queue_->receive(0, limits::kReceiveBatchMax, Deadline::in(milliseconds(200)));
    if (!batch || batch.value().empty()) continue;
    for (const std::int64_t order : ordersOf(batch.value())) {
      seen.insert(order);
    }
    settle(settlementsOf(batch.value()));
  }
  EXPECT_TRUE(std::includes(seen.begin(), seen.end(), accepted.begin(), accepted.end()));
}

TEST_P(QueueServer, FrozenServerHoldsNobodyBeyondTheDeadline) {
  publish(1, 4);
  const auto held = take(2);
  ASSERT_EQ(held.size(), 2U);
  fixture_->freezeServer();
  const auto begin = std::chrono::steady_clock::now();
  const auto received = queue_->receive(1, 1, Deadline::in(milliseconds(200)));
  const auto settled = queue_->settle(0, settlementsOf(held), Deadline::in(milliseconds(200)));
  const auto figures = queue_->stats(Deadline::in(milliseconds(200)));
  const auto drained = queue_->drain(Deadline::in(milliseconds(200)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(6000));
  EXPECT_FALSE(received.ok());
  EXPECT_FALSE(settled.ok());
  EXPECT_FALSE(figures.ok());
  EXPECT_FALSE(drained.ok());
  fixture_->resumeServer();
  // Orders flow again, and none is lost: what was sent to the frozen server may have happened or not.
  const auto other = open("second");
  const Deadline deadline = Deadline::in(kSoon);
  while (fixture_->rawDepth() > 0 && !deadline.passed()) {
    const auto batch = other->receive(0, 10, Deadline::in(milliseconds(100)));
    if (batch && !batch.value().empty()) (void)countSettled(*other, 0, settlementsOf(batch.value()));
  }
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueServer, CloseReturnsWhileTheServerIsFrozen) {
  fixture_->freezeServer();
  std::thread waiting([this] { EXPECT_FALSE(queue_->receive(0, 1, Deadline::in(kSoon)).ok()); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = std::chrono::steady_clock::now();
  queue_->close();
  waiting.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  fixture_->resumeServer();
}

}  // namespace sluice::test
