// Publishing, receiving, waiting, ending: what every queue promises.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "contract/queue_contract.h"

namespace sluice::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueContract);

namespace {

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

}  // namespace

TEST_P(QueueContract, EveryFieldArrives) {
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

TEST_P(QueueContract, ExtremeValuesArrive) {
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

TEST_P(QueueContract, WaitOnEmptyQueueEndsAtTheDeadlineManyTimes) {
  const auto cpuBefore = std::clock();
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    expectQuiet(*queue_, 0, milliseconds(120));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(115));
  }
  // Waiting is not spinning: far below the 0.6 s of wall time.
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

TEST_P(QueueContract, NeverMoreThanMaxAndAPartialBatchAtOnce) {
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

TEST_P(QueueContract, OneConsumerSeesTheOrderOfPublishing) {
  for (std::int64_t first = 1; first <= 1000; first += 100) {
    publish(first, 100);
  }
  EXPECT_EQ(ordersOf(take(1000)), numbers(1, 1000));
}

TEST_P(QueueContract, CompetingConsumersGetEachMessageOnce) {
  constexpr std::int64_t kMessages = 2000;
  constexpr std::size_t kSlots = 8;
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
  for (std::int64_t publisher = 0; publisher < 5; ++publisher) {
    threads.emplace_back([this, publisher] {
      for (std::int64_t k = 0; k < kMessages / 5; k += 10) {
        publish(100 + publisher * (kMessages / 5) + k, 10);
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

TEST_P(QueueContract, OneHugePublishComesWhole) {
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

TEST_P(QueueContract, WhatIsOutDoesNotComeAgainByItself) {
  publish(1, 20);
  const auto first = take(*queue_, 0, 5);
  const auto rest = take(*queue_, 1, 15);
  expectQuiet(*queue_, 0);
  settle(*queue_, 0, settlementsOf(first));
  settle(*queue_, 1, settlementsOf(rest));
  expectQuiet(*queue_, 0);
}

TEST_P(QueueContract, FiguresEqualTheTruth) {
  publish(1, 10);
  const auto held = take(4);
  QueueStats now = stats();
  EXPECT_EQ(now.ready, 6);
  EXPECT_EQ(now.inFlight, 4);
  EXPECT_EQ(now.deadLetters, 0);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_GE(stats().oldestAge, milliseconds(15));
  ASSERT_EQ(held.size(), 4U);
  settle(settlementsOf({held[0]}, SettleKind::DeadLetter));
  settle(settlementsOf({held[1]}, SettleKind::RetryLater));
  settle(settlementsOf({held[2]}));
  now = stats();
  EXPECT_EQ(now.ready, 7);
  EXPECT_EQ(now.inFlight, 1);
  EXPECT_EQ(now.deadLetters, 1);
  EXPECT_EQ(now.deadLettered, 1U);
  EXPECT_EQ(now.dataLost, 0U);
  EXPECT_EQ(fixture_->rawDepth(), 8);
}

TEST_P(QueueContract, CloseEndsEveryWaitAndIsForEver) {
  std::array<std::thread, 2> waiting;
  std::array<std::atomic<bool>, 2> stopped{};
  for (std::size_t slot = 0; slot < 2; ++slot) {
    waiting[slot] = std::thread([&, slot] {
      const auto batch = queue_->receive(slot, 10, Deadline::in(kSoon));
      stopped[slot] = !batch && batch.error().code == ErrorCode::Stopped;
    });
  }
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = std::chrono::steady_clock::now();
  queue_->close();
  for (std::thread& thread : waiting) {
    thread.join();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  EXPECT_TRUE(stopped[0] && stopped[1]);
  queue_->close();
  const Deadline deadline = Deadline::in(kSoon);
  EXPECT_EQ(queue_->start(deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->receive(0, 1, deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->settle(0, {}, deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->publish(admissionsOf(1, 1), deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->drain(deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->stats(deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->deadLetters("", 1, deadline).error().code, ErrorCode::Stopped);
}

TEST_P(QueueContract, NothingWorksBeforeStart) {
  const auto inert = fixture_->make("inert", 1);
  EXPECT_EQ(inert->receive(0, 1, Deadline::in(milliseconds(10))).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(inert->stats(Deadline::in(milliseconds(10))).error().code, ErrorCode::Unavailable);
}

TEST_P(QueueContract, DrainStopsDeliveryAndHandsBack) {
  publish(1, 30);
  const auto held = take(10);
  std::thread waiting([this] {
    const Deadline deadline = Deadline::in(kSoon);
    std::vector<Delivery> last;
    // Whatever a receive brings before the drain began is handed back as well.
    while (!deadline.passed()) {
      const auto batch = queue_->receive(1, 5, Deadline::in(milliseconds(50)));
      if (batch && batch.value().empty()) return;
    }
    ADD_FAILURE() << "deliveries did not end";
  });
  const auto drained = queue_->drain(Deadline::in(kSoon));
  waiting.join();
  ASSERT_TRUE(drained.ok()) << drained.error().text;
  EXPECT_GE(drained.value(), 10U);
  EXPECT_EQ(stats().ready, 30);
  EXPECT_EQ(stats().inFlight, 0);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held)), 0U) << "handed back, so not ours any more";
  expectQuiet(*queue_, 0, milliseconds(50));
  EXPECT_EQ(queue_->drain(Deadline::in(kSoon)).value(), 0U);
  EXPECT_EQ(fixture_->rawDepth(), 30);
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
