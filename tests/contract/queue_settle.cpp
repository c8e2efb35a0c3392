// Settling and the two counters: what every queue promises.
#include <algorithm>
#include <thread>

#include "contract/queue_contract.h"

namespace sluice::test {

TEST_P(QueueContract, Q18_SettledMessagesAreForgotten) {
  publish(1, 50);
  settle(settlementsOf(take(50)));
  EXPECT_EQ(fixture_->rawDepth(), 0);
  const QueueStats after = stats();
  EXPECT_EQ(after.ready, 0);
  EXPECT_EQ(after.inFlight, 0);
  EXPECT_EQ(after.oldestAge, milliseconds(0));
  expectQuiet(*queue_, 1);
  if (!queue_->traits().durable) return;
  queue_.reset();
  queue_ = open("first");
  expectQuiet(*queue_, 0);
  EXPECT_EQ(stats().ready, 0);
}

TEST_P(QueueContract, Q19_ASubsetInAnyOrderFromSeveralSlots) {
  publish(1, 200);
  std::array<std::vector<Delivery>, 2> held = {take(*queue_, 0, 100), take(*queue_, 1, 100)};
  std::vector<std::int64_t> kept;
  std::vector<std::thread> threads;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    std::rotate(held[slot].begin(), held[slot].begin() + 37, held[slot].end());
    for (std::size_t k = 1; k < held[slot].size(); k += 2) {
      kept.push_back(held[slot][k].admission.order.value());
    }
    threads.emplace_back([&, slot] {
      for (std::size_t k = 0; k < held[slot].size(); k += 2) {
        settle(*queue_, slot, settlementsOf({held[slot][k]}));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(fixture_->rawDepth(), 100);
  for (std::size_t slot = 0; slot < 2; ++slot) {
    std::vector<Settlement> again = settlementsOf(held[slot], SettleKind::RetryLater);
    EXPECT_EQ(countSettled(*queue_, slot, again), 50U);
  }
  auto returned = ordersOf(take(100));
  std::sort(returned.begin(), returned.end());
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(returned, kept);
}

TEST_P(QueueContract, Q20_StaleTokensAreHarmless) {
  publish(1, 3);
  const auto held = take(3);
  ASSERT_EQ(held.size(), 3U);
  settle(settlementsOf({held[0]}));
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held[0]})), 0U) << "settled twice";
  settle(settlementsOf({held[1]}, SettleKind::RetryLater));
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held[1]})), 0U) << "done after retry";
  const auto again = take(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held[1]})), 0U) << "the token of the first delivery";
  std::vector<Settlement> unknown(3);
  unknown[1].token = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
  unknown[2].token = {1, 1, 1};
  EXPECT_EQ(countSettled(*queue_, 0, unknown), 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held[2], held[2]})), 1U)
      << "the same token twice in one call";
  EXPECT_EQ(fixture_->rawDepth(), 1);
  settle(settlementsOf(again));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueContract, EverySettlementGetsItsOwnOutcome) {
  publish(1, 6);
  const auto held = take(6);
  ASSERT_EQ(held.size(), 6U);
  settle(settlementsOf({held[1]}));
  auto mixed = settlementsOf(held);
  mixed[0].kind = SettleKind::RetryLater;
  mixed[2].kind = SettleKind::DeadLetter;
  mixed[2].reason = "mixed";
  mixed[4].kind = SettleKind::RetryLater;
  const auto outcomes = queue_->settle(0, mixed, Deadline::in(kSoon));
  ASSERT_TRUE(outcomes.ok()) << outcomes.error().text;
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(outcomes.value().at(k), k == 1 ? SettleOutcome::Stale : SettleOutcome::Settled) << k;
  }
  auto back = ordersOf(take(2));
  std::sort(back.begin(), back.end());
  EXPECT_EQ(back, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(dead().size(), 1U);
  EXPECT_TRUE(queue_->settle(0, {}, Deadline::in(kSoon)).value().empty());
}

TEST_P(QueueContract, Q23_RetryAtOnceRaisesBothCountersUnlessTheStoreWasAway) {
  publish(1, 1);
  auto first = settlementsOf(take(1), SettleKind::RetryLater);
  settle(first);
  const auto second = take(1);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].deliveries, 2U);
  EXPECT_EQ(second[0].failures, 1U);
  auto away = settlementsOf(second, SettleKind::RetryLater);
  away[0].countsAsFailure = false;
  settle(away);
  const auto third = take(1);
  ASSERT_EQ(third.size(), 1U);
  EXPECT_EQ(third[0].deliveries, 3U);
  EXPECT_EQ(third[0].failures, 1U);
  EXPECT_EQ(third[0].admission, admissionOf(1));
  settle(settlementsOf(third));
  EXPECT_EQ(fixture_->rawDepth(), 0);
  EXPECT_EQ(stats().redelivered, 2U);
}

TEST_P(QueueContract, FromTheThirdDeliveryOnAMessageComesAlone) {
  publish(1, 4);
  for (int round = 1; round < static_cast<int>(limits::kIsolateFromDelivery); ++round) {
    settle(settlementsOf(take(4), SettleKind::RetryLater));
  }
  publish(100, 20);
  std::size_t suspects = 0;
  std::size_t others = 0;
  while (suspects < 4 || others < 20) {
    const auto batch = queue_->receive(0, 10, Deadline::in(kSoon));
    ASSERT_TRUE(batch.ok());
    ASSERT_FALSE(batch.value().empty());
    const bool suspect = batch.value()[0].deliveries >= limits::kIsolateFromDelivery;
    if (suspect) {
      EXPECT_EQ(batch.value().size(), 1U);
    }
    (suspect ? suspects : others) += batch.value().size();
  }
  EXPECT_EQ(suspects, 4U);
  EXPECT_EQ(others, 20U);
}

TEST_P(QueueContract, PoisonDoesNotStopTheOthers) {
  publish(1, 3);
  settle(settlementsOf(take(3), SettleKind::RetryLater));
  settle(settlementsOf(take(3), SettleKind::RetryLater));
  publish(100, 10);
  // Three messages that fail at once for ever, and the others still get through.
  std::size_t others = 0;
  for (int round = 0; round < 50 && others < 10; ++round) {
    const auto batch = queue_->receive(0, 1, Deadline::in(kSoon));
    ASSERT_TRUE(batch.ok());
    ASSERT_EQ(batch.value().size(), 1U);
    const bool poison = batch.value()[0].admission.order.value() < 100;
    settle(settlementsOf(batch.value(), poison ? SettleKind::RetryLater : SettleKind::Done));
    others += poison ? 0 : 1;
  }
  EXPECT_EQ(others, 10U);
}

}  // namespace sluice::test
