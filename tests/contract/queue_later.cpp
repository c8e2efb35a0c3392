// Retries that wait, and leases that are extended.
#include <thread>

#include "contract/queue_contract.h"

namespace sluice::test {

TEST_P(QueueDelay, Q24_ADelayedRetryWaitsAndOthersFlow) {
  const milliseconds delay = scaled(milliseconds(400));
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = delay;
  const auto begin = std::chrono::steady_clock::now();
  settle(later);
  publish(2, 3);
  const auto others = take(3);
  EXPECT_EQ(ordersOf(others), numbers(2, 3));
  settle(settlementsOf(others));
  const auto again = take(1);
  const auto waited = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].admission, admissionOf(1));
  // The server's clock and ours both count whole milliseconds.
  EXPECT_GE(waited, delay - milliseconds(2));
  EXPECT_LT(waited, kSoon / 2);
}

TEST_P(QueueDelay, Q24_DelaysAreKeptPerMessage) {
  publish(1, 3);
  auto later = settlementsOf(take(3), SettleKind::RetryLater);
  later.at(0).delay = scaled(milliseconds(600));
  later.at(1).delay = scaled(milliseconds(100));
  later.at(2).delay = scaled(milliseconds(350));
  settle(later);
  for (const std::int64_t order : {2, 3, 1}) {
    const auto taken = take(1);
    EXPECT_EQ(ordersOf(taken), numbers(order, 1));
    settle(settlementsOf(taken));
  }
}

TEST_P(QueueDelay, Q24_ADelayLongerThanTheLeaseIsKept) {
  const milliseconds delay = fixture_->needs.lease * 3 + milliseconds(300);
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = delay;
  const auto begin = std::chrono::steady_clock::now();
  settle(later);
  const auto again = take(1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, delay - milliseconds(2));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].deliveries, 2U);
}

// Ever longer pauses with chance in them, as fulfilment asks for (see queue_fulfilment.cpp), then the end.
TEST_P(QueueDelay, Q25_WhatAlwaysFailsComesAtThePausesThatWereAskedThenIsDead) {
  constexpr std::uint32_t kFailuresMax = 6;
  SeededRandom random(testSeed());
  SteadyTime due{};
  publish(1, 1);
  for (std::uint32_t failures = 0; failures < kFailuresMax; ++failures) {
    const auto taken = take(1);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_GE(std::chrono::steady_clock::now(), due);
    EXPECT_EQ(taken[0].failures, failures);
    EXPECT_EQ(taken[0].deliveries, failures + 1);
    const bool last = failures + 1 == kFailuresMax;
    auto verdict = settlementsOf(taken, last ? SettleKind::DeadLetter : SettleKind::RetryLater);
    verdict[0].delay = backoff(failures, milliseconds(20), milliseconds(300), random);
    // The server's clock and ours both count whole milliseconds.
    due = std::chrono::steady_clock::now() + verdict[0].delay - milliseconds(2);
    settle(verdict);
  }
  ASSERT_EQ(dead().size(), 1U);
  EXPECT_EQ(dead()[0].deliveries, kFailuresMax);
  EXPECT_EQ(dead()[0].failures, kFailuresMax - 1);
  expectQuiet(*queue_, 0);
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueLease, Q34_ExtensionKeepsAMessageOverManyLeases) {
  publish(1, 2);
  const auto held = take(2);
  ASSERT_EQ(held.size(), 2U);
  const auto other = open("other");
  const Deadline end = Deadline::in(fixture_->needs.lease * 5);
  while (!end.passed()) {
    const auto extended = queue_->extend(0, tokensOf({held[0]}), Deadline::in(kSoon));
    ASSERT_TRUE(extended.ok()) << extended.error().text;
    std::this_thread::sleep_for(fixture_->needs.lease / 8);
  }
  // The one that nobody extended comes again, the other one does not.
  const auto again = take(*other, 0, 1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].admission, held[1].admission);
  settle(settlementsOf({held[0]}));
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held[1]})), 0U);
  settle(*other, 0, settlementsOf(again));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueLease, Q34_ExtendingWhatIsNotOursChangesNothing) {
  publish(1, 1);
  const auto held = take(1);
  const auto other = open("other");
  const auto again = take(*other, 0, 1);
  ASSERT_EQ(again.size(), 1U);
  ASSERT_TRUE(queue_->extend(0, tokensOf(held), Deadline::in(kSoon)).ok());
  ASSERT_TRUE(queue_->extend(0, std::vector<DeliveryToken>{{9, 9, 9}}, Deadline::in(kSoon)).ok());
  settle(*other, 0, settlementsOf(again));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

}  // namespace sluice::test
