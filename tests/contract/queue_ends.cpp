// Full, idle, ending, and what an operator sees of it: what every queue promises.
#include <array>
#include <atomic>
#include <thread>

#include "contract/queue_contract.h"

namespace sluice::test {

TEST_P(QueueContract, Q48_FiguresEqualTheTruth) {
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
  (void)take(queue_->traits().retriesFirst ? 1 : 7);
  EXPECT_EQ(stats().redelivered, 1U);
  const auto truth = fixture_->raw();
  if (!truth) return;  // nobody but the queue knows; what was put in is compared above
  now = stats();
  EXPECT_EQ(now.inFlight, truth->inFlight);
  EXPECT_EQ(now.deadLetters, truth->deadLetters);
  EXPECT_GE(now.oldestAge, truth->oldestAge);
  EXPECT_LE(now.oldestAge, truth->oldestAge + kSoon / 4);
}

TEST_P(QueueContract, Q43_ConfirmsReachTheirMessages) {
  if (!fixture_->showConfirms()) SLUICE_SKIP_UNCLAIMED("confirms");
}

TEST_P(QueueContract, Q44_AFullQueueTakesNothingAndGoesOnByItself) {
  begin({.capacity = 10});
  publish(1, 8);
  EXPECT_EQ(publish(*queue_, admissionsOf(9, 3)).error().code, ErrorCode::Overloaded);
  EXPECT_EQ(fixture_->rawDepth(), 8) << "all or nothing";
  publish(9, 2);
  EXPECT_EQ(publish(*queue_, admissionsOf(11, 1)).error().code, ErrorCode::Overloaded);
  const auto held = take(10);
  EXPECT_EQ(ordersOf(held), numbers(1, 10)) << "nothing was dropped to make room";
  EXPECT_EQ(publish(*queue_, admissionsOf(11, 1)).error().code, ErrorCode::Overloaded)
      << "what is out counts";
  settle(settlementsOf({held.at(0), held.at(1)}));
  publish(11, 2);
  EXPECT_EQ(ordersOf(take(2)), numbers(11, 2));
}

TEST_P(QueueContract, Q47_WhileNobodyReceivesPublishingGoesOn) {
  begin({.lease = kShortLease});
  (void)queue_->receive(0, 1, Deadline::in(milliseconds(10)));
  const Deadline pause = Deadline::in(kShortLease * 2);
  std::int64_t published = 0;
  while (!pause.passed()) {
    publish(published + 1, 10);
    published += 10;
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(stats().inFlight, 0) << "nothing was handed out in the pause";
  EXPECT_EQ(stats().ready, published);
  const auto taken = take(static_cast<std::size_t>(published));
  EXPECT_EQ(ordersOf(taken), numbers(1, published));
  for (const Delivery& delivery : taken)
    ASSERT_EQ(delivery.deliveries, 1U);
}

TEST_P(QueueContract, Q49_WhatAnOperatorGotWrongIsRefusedAtTheStart) {
  for (const WrongOpening& wrong : fixture_->wrongOpenings()) {
    const auto begin = std::chrono::steady_clock::now();
    const Status refused = wrong.open();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon / 2) << wrong.what << ": asked again and again";
    ASSERT_FALSE(refused.ok()) << wrong.what;
    EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << wrong.what << ": " << refused.error().text;
    const std::string text = refused.error().text;
    EXPECT_NE(text.find(wrong.names), std::string::npos) << wrong.what << ": " << text;
    if (wrong.secret.empty()) continue;
    EXPECT_EQ((text + fixture_->log.texts()).find(wrong.secret), std::string::npos) << wrong.what;
  }
  EXPECT_LE(fixture_->log.calls(), fixture_->wrongOpenings().size() * 2);
}

TEST_P(QueueContract, Q45_CloseEndsEveryWaitAndIsForEver) {
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
  EXPECT_EQ(queue_->publish(messagesOf(admissionsOf(1, 1)), deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->drain(deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->stats(deadline).error().code, ErrorCode::Stopped);
  EXPECT_EQ(queue_->deadLetters("", 1, deadline).error().code, ErrorCode::Stopped);
}

TEST_P(QueueContract, NothingWorksBeforeStart) {
  const auto inert = fixture_->make("inert", 1);
  EXPECT_EQ(inert->receive(0, 1, Deadline::in(milliseconds(10))).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(inert->stats(Deadline::in(milliseconds(10))).error().code, ErrorCode::Unavailable);
}

TEST_P(QueueContract, Q46_DrainStopsDeliveryAndHandsBack) {
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

}  // namespace sluice::test
