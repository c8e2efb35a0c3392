// Publishing, receiving, waiting: what every queue promises.
#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <thread>

#include "contract/queue_contract.h"

namespace sluice::test {

TEST_P(QueueContract, Q01_EveryFieldArrives) {
  publish(1, 100);
  const auto taken = take(100);
  std::set<std::int64_t> seen;
  for (const Delivery& delivery : taken) {
    EXPECT_EQ(delivery.admission, admissionOf(delivery.admission.order.value()));
    EXPECT_EQ(delivery.deliveries, 1U);
    EXPECT_EQ(delivery.failures, 0U);
    seen.insert(delivery.admission.order.value());
  }
  EXPECT_EQ(seen.size(), 100U);
}

TEST_P(QueueContract, Q01_ExtremeValuesArrive) {
  const Admission extreme{.order = OrderId(INT64_MAX),
                          .user = UserId(INT64_MAX),
                          .voucher = VoucherId(INT64_MAX),
                          .quantity = limits::kQuantityMax,
                          .admittedAt = fromMillis(253402300799999)};
  ASSERT_TRUE(publish(*queue_, {extreme}).ok());
  const auto taken = take(1);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].admission, extreme);
}

TEST_P(QueueContract, Q09_WaitOnEmptyQueueEndsAtTheDeadlineManyTimes) {
  const auto cpuBefore = std::clock();
  for (int round = 0; round < 10; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    expectQuiet(*queue_, 0, milliseconds(120));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(115));
  }
  // Waiting is not spinning: far below the 1.2 s of wall time.
  EXPECT_LT(std::clock() - cpuBefore, CLOCKS_PER_SEC / 5);
  EXPECT_TRUE(queue_->receive(0, 1, Deadline::in(milliseconds(0))).ok());
}

TEST_P(QueueContract, WaitingReceiveWakesUpOnPublish) {
  std::thread publisher([this] {
    std::this_thread::sleep_for(milliseconds(60));
    publish(1, 1);
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto batch = queue_->receive(0, 10, Deadline::in(kSoon));
  const auto took = std::chrono::steady_clock::now() - begin;
  publisher.join();
  ASSERT_TRUE(batch.ok()) << batch.error().text;
  EXPECT_EQ(ordersOf(batch.value()), numbers(1, 1));
  EXPECT_LT(took, kSoon / 2);
}

TEST_P(QueueContract, Q11_NeverMoreThanMaxAndAPartialBatchAtOnce) {
  publish(1, 10);
  const auto three = queue_->receive(0, 3, Deadline::in(kSoon));
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(three.value().size(), 3U);
  const auto begin = std::chrono::steady_clock::now();
  const auto rest = queue_->receive(0, limits::kReceiveBatchMax, Deadline::in(kSoon));
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest.value().size(), 7U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon / 2);
  for (const std::size_t wrong : {std::size_t{0}, limits::kReceiveBatchMax + 1}) {
    const auto refused = queue_->receive(0, wrong, Deadline::in(kSoon));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  }
}

TEST_P(QueueContract, Q13_OneConsumerSeesTheOrderOfPublishing) {
  for (std::int64_t first = 1; first <= 1000; first += 100) {
    publish(first, 100);
  }
  EXPECT_EQ(ordersOf(take(1000)), numbers(1, 1000));
}

TEST_P(QueueContract, Q14_EachSlotSeesFirstDeliveriesInOrder) {
  publish(1, 400);
  std::array<std::vector<std::int64_t>, 2> seen;
  for (std::size_t turn = 0; seen[0].size() + seen[1].size() < 400; ++turn) {
    const std::size_t slot = turn % 2;
    const auto batch = queue_->receive(slot, 1 + turn % 7, Deadline::in(kSoon));
    ASSERT_TRUE(batch.ok() && !batch.value().empty());
    for (const std::int64_t order : ordersOf(batch.value()))
      seen[slot].push_back(order);
  }
  for (const auto& orders : seen)
    EXPECT_TRUE(std::is_sorted(orders.begin(), orders.end()));
  EXPECT_FALSE(seen[0].empty() || seen[1].empty());
}

TEST_P(QueueContract, Q15_WhatWasSentBackLosesItsPlaceAndTheOthersKeepTheirs) {
  publish(1, 5);
  for (std::int64_t order = 1; order <= 3; ++order) {
    const auto kind = order == 3 ? SettleKind::RetryLater : SettleKind::Done;
    settle(settlementsOf(take(1), kind));
  }
  std::vector<std::int64_t> others;
  std::size_t again = 0;
  for (const Delivery& delivery : take(3)) {
    if (delivery.admission.order.value() == 3) {
      ++again;
      EXPECT_EQ(delivery.deliveries, 2U);
    } else {
      others.push_back(delivery.admission.order.value());
    }
  }
  EXPECT_EQ(again, 1U);
  EXPECT_EQ(others, numbers(4, 2));
}

TEST_P(QueueContract, Q05_QueuesOfOtherNamesDoNotMix) {
  // Whoever names queues may think of all this.
  const std::vector<std::string> names = {"u",      "t:{0}", "{}", "a b", "\xE7\xA7\x92\xE6\x9D\x80",
                                          "x\r\ny", "*"};
  std::vector<std::unique_ptr<OrderQueue>> others;
  publish(1, 3);
  for (std::size_t k = 0; k < names.size(); ++k) {
    others.push_back(fixture_->makeNamed(names[k]));
    ASSERT_TRUE(others[k]->start(Deadline::in(kSoon)).ok()) << names[k];
    ASSERT_TRUE(publish(*others[k], admissionsOf(100 * (static_cast<std::int64_t>(k) + 1), 3)).ok());
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto taken = take(*others[k], 0, 3);
    EXPECT_EQ(ordersOf(taken), numbers(100 * (static_cast<std::int64_t>(k) + 1), 3)) << names[k];
    settle(*others[k], 0, settlementsOf({taken.at(0)}, SettleKind::DeadLetter));
    settle(*others[k], 0, settlementsOf({taken.at(1)}, SettleKind::RetryLater));
  }
  EXPECT_TRUE(dead().empty());
  EXPECT_EQ(ordersOf(take(3)), numbers(1, 3));
  expectQuiet(*queue_, 1);
}

TEST_P(QueueContract, Q08_PublishedBeforeAnyConsumerWasEverThere) {
  publish(1, 10);
  if (!queue_->traits().durable) SLUICE_SKIP_UNCLAIMED("durable");
  // Whoever published is gone, and nobody has ever received.
  queue_.reset();
  const auto late = open("late");
  EXPECT_EQ(ordersOf(take(*late, 0, 10)), numbers(1, 10));
}

TEST_P(QueueContract, Q08_WhatCameBeforeTheQueueWasEverOpenedIsDelivered) {
  if (!queue_->traits().durable) SLUICE_SKIP_UNCLAIMED("durable");
  queue_.reset();
  fixture_ = GetParam().make(needs());
  if (!fixture_->inject(encodeAdmission(admissionOf(1)))) return;  // then there is nothing to put it into
  queue_ = open("first");
  EXPECT_EQ(ordersOf(take(1)), numbers(1, 1));
}

TEST_P(QueueContract, Q12_CompetingConsumersGetEachMessageOnce) {
  constexpr std::int64_t kMessages = 5000;
  constexpr std::int64_t kPublishers = 50;
  constexpr std::size_t kSlots = 51;
  queue_->close();
  queue_ = open("many", kSlots);
  std::atomic<std::int64_t> settled{0};
  std::array<std::vector<std::int64_t>, kSlots> seen;
  std::vector<std::thread> threads;
  // Slot 0 takes one batch and stalls: it must not stop the others.
  publish(1, 10);
  const auto stalled = take(10);
  for (std::size_t slot = 1; slot < kSlots; ++slot) {
    threads.emplace_back([&, slot] {
      const Deadline deadline = Deadline::in(kSoon);
      while (settled.load() < kMessages && !deadline.passed()) {
        const auto batch = queue_->receive(slot, 50, Deadline::in(milliseconds(100)));
        if (!batch || batch.value().empty()) continue;
        const auto orders = ordersOf(batch.value());
        seen[slot].insert(seen[slot].end(), orders.begin(), orders.end());
        settle(*queue_, slot, settlementsOf(batch.value()));
        settled += static_cast<std::int64_t>(orders.size());
      }
    });
  }
  for (std::int64_t publisher = 0; publisher < kPublishers; ++publisher) {
    threads.emplace_back([this, publisher] {
      for (std::int64_t k = 0; k < kMessages / kPublishers; k += 10) {
        publish(100 + publisher * (kMessages / kPublishers) + k, 10);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::vector<std::int64_t> all;
  for (const auto& orders : seen) {
    all.insert(all.end(), orders.begin(), orders.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, numbers(100, kMessages));
  settle(settlementsOf(stalled));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueContract, Q17_OneHugePublishComesWhole) {
  constexpr std::int64_t kHuge = 100000;
  publish(1, kHuge);
  EXPECT_EQ(stats().ready, kHuge);
  std::vector<bool> seen(kHuge, false);
  std::int64_t count = 0;
  while (count < kHuge) {
    const auto batch = queue_->receive(0, limits::kReceiveBatchMax, Deadline::in(kSoon));
    ASSERT_TRUE(batch.ok()) << batch.error().text;
    ASSERT_FALSE(batch.value().empty());
    for (const std::int64_t order : ordersOf(batch.value())) {
      ASSERT_FALSE(seen.at(static_cast<std::size_t>(order - 1)));
      seen[static_cast<std::size_t>(order - 1)] = true;
    }
    settle(settlementsOf(batch.value()));
    count += static_cast<std::int64_t>(batch.value().size());
  }
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueContract, Q16_WhatIsOutDoesNotComeAgainByItself) {
  publish(1, 20);
  const auto first = take(*queue_, 0, 5);
  EXPECT_EQ(stats().inFlight, 5) << "no more than was asked for";
  EXPECT_EQ(stats().ready, 15);
  const auto rest = take(*queue_, 1, 15);
  expectQuiet(*queue_, 0);
  settle(*queue_, 0, settlementsOf(first));
  settle(*queue_, 1, settlementsOf(rest));
  expectQuiet(*queue_, 0);
}

TEST_P(QueueContract, UnclaimedTraitsAnswerUnsupported) {
  const QueueTraits& traits = queue_->traits();
  const auto reserved = queue_->reserve(3);
  EXPECT_EQ(reserved.ok(), traits.reserves);
  if (reserved) {
    EXPECT_EQ(reserved.value(), 3U);
    queue_->unreserve(3);
  } else {
    EXPECT_EQ(reserved.error().code, ErrorCode::Unsupported);
  }
  const Status extended = queue_->extend(0, {}, Deadline::in(kSoon));
  EXPECT_EQ(extended.ok(), traits.leaseExtend);
  if (!extended) {
    EXPECT_EQ(extended.error().code, ErrorCode::Unsupported);
  }
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = milliseconds(1);
  const auto delayed = queue_->settle(0, later, Deadline::in(kSoon));
  EXPECT_EQ(delayed.ok(), traits.delayedRetry);
  if (!delayed) {
    EXPECT_EQ(delayed.error().code, ErrorCode::Unsupported);
  }
}

}  // namespace sluice::test
