// What queue_rabbitmq does beyond the contract: workers that pause, and the broker's own time-out.
#include <thread>

#include "rabbitmq_fixture.h"

namespace sluice::test {

namespace {

class RabbitOwn : public QueueContract {
 protected:
  rabbitmq::Settings& settings() { return static_cast<RabbitFixture&>(*fixture_).settings; }
  void reopen() {
    queue_.reset();
    queue_ = open("first");
  }
};

INSTANTIATE_TEST_SUITE_P(Own, RabbitOwn, testing::Values(kRabbitmq), queueCaseName);

TEST_P(RabbitOwn, WhatAPausedWorkerWasNotHandedGoesToOthersHoweverOften) {
  settings().idle = scaled(milliseconds(500));
  reopen();
  publish(1, 20);
  // More pauses than make a suspect.
  for (std::uint32_t pause = 1; pause <= limits::kIsolateFromDelivery + 1; ++pause) {
    const auto held = take(*queue_, 0, 5);
    const auto raw = [this] { return fixture_->raw().value_or(RawFigures()).inFlight; };
    EXPECT_GT(raw(), 5) << "more was brought here";
    waitUntil([&] { return raw() == 5; });
    EXPECT_EQ(stats().ready, 15);
    settle(settlementsOf(held, SettleKind::Done));
    publish(100 * static_cast<std::int64_t>(pause), 5);
  }
  const auto other = open("second");
  for (const Delivery& delivery : take(*other, 0, 20))
    EXPECT_LT(delivery.deliveries, limits::kIsolateFromDelivery) << "none was handed out so often";
}

TEST_P(RabbitOwn, TheBrokersOwnTimeOutNeverHitsAWorkerThatHoldsForLong) {
  // Read when a channel is opened; looked at by its clock.
  broker().evaluate("application:set_env(rabbit, consumer_timeout, 10000).");
  broker().evaluate("application:set_env(rabbit, channel_tick_interval, 500).");
  begin({.lease = milliseconds(4000)});
  publish(1, 20);
  const auto held = take(5);
  std::this_thread::sleep_for(milliseconds(14000));
  EXPECT_EQ(stats().reconnects, 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held)), 0U) << "it is for others now";
  const auto other = open("second");
  EXPECT_EQ(sorted(ordersOf(take(*other, 0, 20))), numbers(1, 20));
  other->close();
  broker().evaluate("application:set_env(rabbit, consumer_timeout, 1800000).");
  broker().evaluate("application:set_env(rabbit, channel_tick_interval, 60000).");
}

TEST_P(RabbitOwn, AMessageOfAnotherHandIsDeliveredWithoutAJournalEntry) {
  ASSERT_TRUE(fixture_->inject(encodeAdmission(admissionOf(1))));
  const auto taken = take(1);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_FALSE(taken[0].journal.valid());
  EXPECT_EQ(taken[0].deliveries, 1U);
}

}  // namespace

}  // namespace sluice::test
