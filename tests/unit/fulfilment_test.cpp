// Fulfilment against fakes: every outcome, every error code, and the laws after each step.
#include "fulfilment/fulfilment.h"

#include <gtest/gtest.h>

#include "support/fakes.h"

namespace sluice::test {
namespace {

using fulfilment::Fulfilment;
using fulfilment::FulfilmentCounts;
using fulfilment::FulfilmentOptions;
using fulfilment::PauseKind;

class FulfilmentTest : public ::testing::Test {
 protected:
  // One round; every law must hold after it, whatever failed.
  milliseconds step() {
    const milliseconds rest = fulfilment_->step(milliseconds(0));
    EXPECT_EQ(fakes_.brokenLaws(), "");
    return rest;
  }
  // Rounds over so much manual time.
  void run(milliseconds time = milliseconds(200)) {
    for (milliseconds passed{0}; passed <= time; passed += milliseconds(50)) {
      step();
      step();
      fakes_.clock.advance(milliseconds(50));
    }
  }
  void restartWith(FulfilmentOptions options) {
    fulfilment_ = std::make_unique<Fulfilment>(fakes_.parts(), options, 0, counts_);
  }
  OrderId admit(std::int64_t user, std::int32_t quantity = 1) {
    const OrderId order(1000 + ++lastOrder_);
    EXPECT_EQ(fakes_.ask(voucher_, order, UserId(user), quantity).verdict, Verdict::Admitted);
    return order;
  }
  std::optional<Order> row(OrderId order) { return fakes_.store.findOrder(order, soon()).value(); }
  VoucherSnapshot snapshot() { return fakes_.qualifier.snapshot(voucher_, soon()).value(); }
  QueueStats queueStats() { return fakes_.queue.stats(soon()).value(); }
  std::vector<DeadLetter> deadLetters() { return fakes_.queue.deadLetters("", 100, soon()).value(); }
  // At rest: nothing queued, nothing in hand, nothing dead-lettered, every hold a live row.
  void expectDrained(std::int64_t live) {
    const QueueStats stats = queueStats();
    EXPECT_EQ(stats.ready + stats.inFlight + stats.deadLetters, 0);
    EXPECT_EQ(fulfilment_->inHand(), 0U);
    EXPECT_TRUE(fakes_.qualifier.readJournal({}, 10, soon()).value().empty());
    EXPECT_EQ(snapshot().held, live);
    EXPECT_TRUE(fakes_.store.unreleased(10, soon()).value().empty());
  }
  void takeAway(const std::string& call, ErrorCode code) { fakes_.store.faults.always(call, code); }

  Fakes fakes_;
  VoucherId voucher_ = fakes_.sell(100).id;
  FulfilmentCounts counts_;
  std::unique_ptr<Fulfilment> fulfilment_ =
      std::make_unique<Fulfilment>(fakes_.parts(), FulfilmentOptions{}, 0, counts_);
  std::int64_t lastOrder_ = 0;
};

TEST_F(FulfilmentTest, StoresABatchAndSettlesIt) {
  const OrderId first = admit(1);
  const OrderId second = admit(2);
  step();
  EXPECT_EQ(row(first)->status, OrderStatus::PendingPayment);
  EXPECT_EQ(*row(second)->payBy, fakes_.clock.now() + std::chrono::minutes(15));
  EXPECT_EQ(counts_.stored, 2U);
  EXPECT_EQ(counts_.storeBatchSizes.snapshot().count, 1U);
  expectDrained(2);
}

TEST_F(FulfilmentTest, ADeliveryOfAStoredOrderIsSettledWithoutAnything) {
  const OrderId order = admit(1);
  fakes_.queue.faults.next("settle", ErrorCode::Unsupported);
  step();
  fakes_.queue.abandon();
  step();
  EXPECT_EQ(counts_.stored, 1U);
  EXPECT_EQ(counts_.already, 1U);
  EXPECT_TRUE(isLive(row(order)->status));
  expectDrained(1);
}

TEST_F(FulfilmentTest, ARejectedOrderGivesItsStockBackBeforeItIsSettled) {
  const OrderId order = admit(1);
  VoucherSettings settings = fakes_.store.findVoucher(voucher_, soon()).value()->settings;
  settings.allocated = 0;
  ASSERT_TRUE(fakes_.store.updateVoucher(voucher_, 1, settings, soon()));
  step();
  EXPECT_EQ(row(order)->status, OrderStatus::Rejected);
  EXPECT_EQ(row(order)->reason, DeadReason::NoStock);
  EXPECT_TRUE(row(order)->releasedAt);
  EXPECT_EQ(counts_.rejected, 1U);
  EXPECT_EQ(counts_.released, 1U);
  expectDrained(0);
}

TEST_F(FulfilmentTest, AnOrderCancelledBeforeItsDeliveryIsReleasedOnceAndNotResurrected) {
  const OrderId order = admit(1);
  const Admission admission{order, UserId(1), voucher_, 1, fakes_.clock.now()};
  ASSERT_TRUE(fakes_.store.cancel({admission, DeadReason::ByUser}, fakes_.clock.now(), soon()));
  step();
  EXPECT_EQ(row(order)->status, OrderStatus::Cancelled);
  EXPECT_EQ(fakes_.qualifier.releasesCounted(), 1U);
  expectDrained(0);
}

TEST_F(FulfilmentTest, AReleasedDeadRowIsOnlySettled) {
  const OrderId order = admit(1);
  const Admission admission{order, UserId(1), voucher_, 1, fakes_.clock.now()};
  ASSERT_TRUE(fakes_.store.cancel({admission, DeadReason::ByUser}, fakes_.clock.now(), soon()));
  ASSERT_TRUE(releaseStep(fakes_.parts(), 10, soon()));
  const std::size_t releases = fakes_.qualifier.faults.calls("release");
  step();
  EXPECT_EQ(fakes_.qualifier.faults.calls("release"), releases);
  expectDrained(0);
}

TEST_F(FulfilmentTest, WhileRedisCannotReleaseTheMessageStaysInHand) {
  const OrderId order = admit(1);
  const Admission admission{order, UserId(1), voucher_, 1, fakes_.clock.now()};
  ASSERT_TRUE(fakes_.store.cancel({admission, DeadReason::ByUser}, fakes_.clock.now(), soon()));
  fakes_.qualifier.faults.always("release", ErrorCode::Unavailable);
  run(milliseconds(20000));
  EXPECT_EQ(fulfilment_->inHand(), 1U);
  EXPECT_FALSE(row(order)->releasedAt);
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::Away);
  EXPECT_GE(fakes_.queue.faults.calls("extend"), 10U) << "its lease is renewed while it waits";
  fakes_.qualifier.faults.heal();
  run(milliseconds(2000));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  EXPECT_EQ(counts_.already, 1U);
  expectDrained(0);
}

TEST_F(FulfilmentTest, AReleaseWhoseMarkFailsCountsTheStockOnce) {
  const OrderId order = admit(1);
  const Admission admission{order, UserId(1), voucher_, 1, fakes_.clock.now()};
  ASSERT_TRUE(fakes_.store.cancel({admission, DeadReason::ByUser}, fakes_.clock.now(), soon()));
  fakes_.store.faults.next("markReleased", ErrorCode::Unavailable, FaultMoment::Before, 3);
  fakes_.qualifier.faults.next("release", ErrorCode::OutcomeUnknown, FaultMoment::After);
  run(milliseconds(5000));
  EXPECT_TRUE(row(order)->releasedAt);
  EXPECT_EQ(fakes_.qualifier.releasesCounted(), 1U);
  expectDrained(0);
}

TEST_F(FulfilmentTest, DamagedKeysPostponeTheirOwnOrdersOnly) {
  const OrderId dead = admit(1);
  const OrderId live = admit(2);
  const Admission admission{dead, UserId(1), voucher_, 1, fakes_.clock.now()};
  ASSERT_TRUE(fakes_.store.cancel({admission, DeadReason::ByUser}, fakes_.clock.now(), soon()));
  fakes_.qualifier.faults.next("release", ErrorCode::Corrupt);
  step();
  EXPECT_EQ(row(live)->status, OrderStatus::PendingPayment);
  EXPECT_EQ(queueStats().ready, 1);
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  run(milliseconds(61000));
  expectDrained(1);
}

// --- the store is away ---

class FulfilmentPauses : public FulfilmentTest, public ::testing::WithParamInterface<ErrorCode> {};

TEST_P(FulfilmentPauses, ForAnErrorOfTheServerAndGoesOnByItself) {
  const OrderId order = admit(1);
  takeAway("persist", GetParam());
  run(milliseconds(60000));
  EXPECT_NE(fulfilment_->pause().kind, PauseKind::None);
  EXPECT_NE(fulfilment_->pause().why, "");
  EXPECT_TRUE(deadLetters().empty());
  EXPECT_EQ(queueStats().redelivered, 0U) << "a pause spends no delivery";
  EXPECT_LE(fakes_.store.faults.calls("persist"), 1000U) << "it backs off";
  fakes_.store.faults.heal();
  run(milliseconds(5000));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  EXPECT_EQ(row(order)->status, OrderStatus::PendingPayment);
  EXPECT_EQ(counts_.retried, 0U);
  expectDrained(1);
}

INSTANTIATE_TEST_SUITE_P(Codes, FulfilmentPauses,
                         ::testing::Values(ErrorCode::Unavailable, ErrorCode::Overloaded,
                                           ErrorCode::Misconfigured, ErrorCode::OutcomeUnknown,
                                           ErrorCode::Stopped),
                         [](const auto& code) { return std::string(errorName(code.param)); });

TEST_F(FulfilmentTest, AWrongConfigurationAlarms) {
  admit(1);
  takeAway("persist", ErrorCode::Misconfigured);
  step();
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::Alarm);
}

TEST_F(FulfilmentTest, AStoreThatReturnsIsUsedWithinTwoSeconds) {
  const OrderId order = admit(1);
  takeAway("persist", ErrorCode::Unavailable);
  run(milliseconds(120000));
  fakes_.store.faults.heal();
  run(milliseconds(1950));
  EXPECT_TRUE(row(order));
}

TEST_F(FulfilmentTest, ACommitWhoseAnswerWasLostIsAskedForAgain) {
  const OrderId order = admit(1);
  fakes_.store.faults.next("persist", ErrorCode::OutcomeUnknown, FaultMoment::After, 2);
  step();
  EXPECT_EQ(row(order)->status, OrderStatus::PendingPayment);
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  expectDrained(1);
}

// --- wrong messages ---

TEST_F(FulfilmentTest, OneBadOrderDoesNotTakeItsNeighboursAlong) {
  std::vector<OrderId> good;
  for (std::int64_t user = 1; user <= 9; ++user) {
    good.push_back(admit(user));
  }
  const OrderId bad = admit(10);
  fakes_.store.poison(bad);
  step();
  for (const OrderId order : good) {
    EXPECT_TRUE(row(order)) << order.text();
  }
  EXPECT_FALSE(row(bad));
  EXPECT_EQ(counts_.retried, 1U);
  run(std::chrono::minutes(5));
  ASSERT_EQ(deadLetters().size(), 1U);
  const DeadLetter letter = deadLetters()[0];
  EXPECT_EQ(letter.admission->order, bad);
  EXPECT_NE(letter.reason.find("internal"), std::string::npos) << letter.reason;
  EXPECT_EQ(letter.failures + 1, FulfilmentOptions{}.failuresMax);
  EXPECT_EQ(counts_.deadLettered, 1U);
  EXPECT_EQ(snapshot().held, 10) << "the hold of a dead letter stays until an operator decides";
}

class FulfilmentFails : public FulfilmentTest, public ::testing::WithParamInterface<ErrorCode> {};

TEST_P(FulfilmentFails, AMessageForAnErrorOfItsOwn) {
  admit(1);
  fakes_.store.faults.next("persist", GetParam());
  step();
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  EXPECT_EQ(counts_.retried, 1U);
  run(milliseconds(5000));
  expectDrained(1);
}

INSTANTIATE_TEST_SUITE_P(Codes, FulfilmentFails,
                         ::testing::Values(ErrorCode::Internal, ErrorCode::Corrupt,
                                           ErrorCode::InvalidArgument, ErrorCode::NotFound,
                                           ErrorCode::Conflict, ErrorCode::Unsupported),
                         [](const auto& code) { return std::string(errorName(code.param)); });

// A hundred that always fail: each pause is drawn anew between nothing and a bound that doubles up to the cap.
TEST_F(FulfilmentTest, PausesBetweenRetriesAreDrawnBelowABoundThatDoublesUpToTheCap) {
  constexpr std::uint64_t kOrders = 90;
  FulfilmentOptions options;
  options.retryBase = std::chrono::seconds(10);
  options.retryMax = std::chrono::seconds(20);
  restartWith(options);
  for (std::uint64_t user = 1; user <= kOrders; ++user) {
    fakes_.store.poison(admit(static_cast<std::int64_t>(user)));
  }
  const auto redelivered = [&](milliseconds later) {
    fakes_.clock.advance(later);
    for (std::uint64_t k = 0; k < 2 * kOrders; ++k) {
      step();
    }
    return queueStats().redelivered;
  };
  EXPECT_EQ(redelivered(milliseconds(0)), 0U);
  const std::uint64_t half = redelivered(milliseconds(5'000));
  EXPECT_GT(half, kOrders / 5) << "some come early";
  EXPECT_LT(half, kOrders * 4 / 5) << "some come late";
  EXPECT_GE(redelivered(milliseconds(5'000)), kOrders) << "by then each came once more";
  redelivered(milliseconds(20'000));
  const std::uint64_t before = redelivered(milliseconds(20'000));
  EXPECT_GE(before, 3 * kOrders) << "none waits longer than the cap";
}

TEST_F(FulfilmentTest, FullDeadLettersAlarmAndBlockAndItGoesOnOnceThereIsRoom) {
  FulfilmentOptions options;
  options.failuresMax = 1;
  restartWith(options);
  const OrderId bad = admit(1);
  fakes_.store.poison(bad);
  const OrderId good = admit(2);
  fakes_.queue.faults.always("settle", ErrorCode::Overloaded);
  run(milliseconds(60'000));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::Alarm);
  EXPECT_EQ(fulfilment_->inHand(), 2U) << "kept, and nothing else is taken";
  EXPECT_TRUE(row(good));
  EXPECT_GE(fakes_.queue.faults.calls("extend"), 10U) << "their leases are renewed";
  fakes_.queue.faults.heal();
  run(milliseconds(6'000));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  EXPECT_EQ(deadLetters().size(), 1U);
  EXPECT_EQ(queueStats().inFlight, 0);
}

TEST_F(FulfilmentTest, AMessageThatKillsItsHandlersIsDeadLetteredUnhandled) {
  const OrderId order = admit(1);
  for (std::uint32_t death = 0; death < FulfilmentOptions{}.deliveriesMax; ++death) {
    ASSERT_EQ(fakes_.queue.receive(0, 10, soon()).value().size(), 1U);
    fakes_.queue.abandon();
  }
  step();
  ASSERT_EQ(deadLetters().size(), 1U);
  EXPECT_FALSE(row(order));
  EXPECT_EQ(fakes_.store.faults.calls("persist"), 0U);
}

TEST_F(FulfilmentTest, AMessageThatContradictsItsRowIsDeadLettered) {
  const OrderId order = admit(1);
  const Admission other{order, UserId(77), voucher_, 1, fakes_.clock.now()};
  ASSERT_TRUE(fakes_.store.persist({&other, 1}, fakes_.clock.now(), fakes_.clock.now(), soon()));
  step();
  ASSERT_EQ(deadLetters().size(), 1U);
  EXPECT_NE(deadLetters()[0].reason.find(order.text()), std::string::npos);
  EXPECT_EQ(deadLetters()[0].reason.find("77"), std::string::npos) << "no user ids in reasons";
}

TEST_F(FulfilmentTest, AnUnknownVoucherPausesAndAlarmsAndIsNeverRejected) {
  const OrderId known = admit(1);
  const Admission stray{OrderId(5), UserId(1), VoucherId(99), 1, fakes_.clock.now()};
  fakes_.qualifier.appendJournal(stray);
  run(milliseconds(30000));
  EXPECT_TRUE(row(known)) << "its neighbours are stored";
  EXPECT_FALSE(row(OrderId(5)));
  EXPECT_TRUE(deadLetters().empty());
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::Alarm);
  EXPECT_NE(fulfilment_->pause().why.find("99"), std::string::npos);
  VoucherSettings settings = fakes_.store.findVoucher(voucher_, soon()).value()->settings;
  ASSERT_TRUE(fakes_.store.createVoucher(VoucherId(99), settings, soon()));
  run(milliseconds(6000));
  EXPECT_TRUE(row(OrderId(5)));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
}

TEST_F(FulfilmentTest, NothingButRejectionsForLongPausesAndAlarms) {
  for (std::int64_t k = 1; k <= 1100; ++k) {
    fakes_.qualifier.appendJournal({OrderId(10000 + k), UserId(k), voucher_, 1000, fakes_.clock.now()});
  }
  step();
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  step();
  EXPECT_EQ(counts_.rejected, 1000U);
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::Alarm);
  step();
  EXPECT_EQ(counts_.rejected, 1000U) << "it rests";
  run(milliseconds(10000));
  EXPECT_EQ(counts_.rejected, 1100U) << "and goes on";
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
}

// --- the queue is away ---

TEST_F(FulfilmentTest, AnUnsettledBatchIsSettledAgain) {
  admit(1);
  fakes_.queue.faults.next("settle", ErrorCode::OutcomeUnknown, FaultMoment::After);
  fakes_.queue.faults.next("settle", ErrorCode::Unavailable, FaultMoment::Before, 3);
  run(milliseconds(5000));
  EXPECT_EQ(counts_.stored, 1U);
  EXPECT_EQ(counts_.already, 0U);
  expectDrained(1);
}

TEST_F(FulfilmentTest, AQueueThatIsAwayPausesAndReturns) {
  admit(1);
  fakes_.queue.faults.always("receive", ErrorCode::Unavailable);
  run(milliseconds(10000));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::Away);
  fakes_.queue.faults.heal();
  run(milliseconds(2000));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
  expectDrained(1);
}

// --- isolation and pace ---

TEST_F(FulfilmentTest, WhatWasDeliveredOftenIsStoredAlone) {
  admit(1);
  for (std::uint32_t k = 1; k < limits::kIsolateFromDelivery; ++k) {
    ASSERT_EQ(fakes_.queue.receive(0, 10, soon()).value().size(), 1U);
    fakes_.queue.abandon();
  }
  admit(2);
  admit(3);
  run();
  const HistogramSnapshot sizes = counts_.storeBatchSizes.snapshot();
  EXPECT_EQ(sizes.count, 2U);
  EXPECT_EQ(sizes.sum, 3U);
  expectDrained(3);
}

TEST_F(FulfilmentTest, WithAPaceEachOrderRestsBeforeItIsStored) {
  FulfilmentOptions options;
  options.orderPace = milliseconds(300);
  restartWith(options);
  const OrderId first = admit(1);
  const OrderId second = admit(2);
  EXPECT_GT(step(), milliseconds(0));
  EXPECT_FALSE(row(first));
  fakes_.clock.advance(milliseconds(300));
  step();
  EXPECT_TRUE(row(first));
  EXPECT_FALSE(row(second));
  step();
  fakes_.clock.advance(milliseconds(300));
  step();
  EXPECT_TRUE(row(second));
  expectDrained(2);
}

// --- everything at random ---

class FulfilmentSimulation : public FulfilmentTest, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(FulfilmentSimulation, EveryAdmissionEndsInExactlyOneRow) {
  SeededRandom random(GetParam());
  const std::vector<std::string> storeCalls = {"persist", "markReleased"};
  const std::vector<std::string> queueCalls = {"receive", "settle", "extend"};
  const std::vector<ErrorCode> codes = {ErrorCode::Unavailable, ErrorCode::OutcomeUnknown};
  const auto moment = [&] { return random.next() % 2 == 0 ? FaultMoment::Before : FaultMoment::After; };
  std::vector<OrderId> admitted;
  for (int round = 0; round < 400; ++round) {
    if (admitted.size() < 100 && random.next() % 3 == 0)
      admitted.push_back(admit(static_cast<std::int64_t>(admitted.size()) + 1));
    const ErrorCode code = codes[random.next() % codes.size()];
    // Of receive only failures before the work: after it the messages are with us, and come again when a
    // lease runs out.
    if (random.next() % 5 == 0)
      fakes_.store.faults.next(storeCalls[random.next() % 2], code,
                               code == ErrorCode::Unavailable ? FaultMoment::Before : moment());
    if (random.next() % 5 == 0)
      fakes_.queue.faults.next(queueCalls[random.next() % 3], ErrorCode::Unavailable);
    if (random.next() % 7 == 0)
      fakes_.qualifier.faults.next("release", code,
                                   code == ErrorCode::Unavailable ? FaultMoment::Before : moment());
    if (random.next() % 40 == 0) fakes_.queue.abandon();
    if (!admitted.empty() && random.next() % 6 == 0) {
      const std::size_t user = random.next() % admitted.size();
      const Admission admission{admitted[user], UserId(static_cast<std::int64_t>(user) + 1), voucher_, 1,
                                fakes_.clock.now()};
      (void)fakes_.store.cancel({admission, DeadReason::ByUser}, fakes_.clock.now(), soon());
    }
    step();
    fakes_.clock.advance(milliseconds(static_cast<std::int64_t>(random.next() % 100)));
  }
  fakes_.store.faults.heal();
  fakes_.queue.faults.heal();
  fakes_.qualifier.faults.heal();
  fakes_.queue.abandon();
  run(milliseconds(5000));
  ASSERT_TRUE(releaseStep(fakes_.parts(), 1000, soon()));
  std::int64_t live = 0;
  for (const OrderId order : admitted) {
    const auto stored = row(order);
    ASSERT_TRUE(stored) << order.text();
    live += isLive(stored->status) ? 1 : 0;
    EXPECT_NE(isLive(stored->status), stored->releasedAt.has_value());
  }
  EXPECT_EQ(fakes_.qualifier.releasesCounted(), admitted.size() - static_cast<std::size_t>(live));
  expectDrained(live);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FulfilmentSimulation, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace sluice::test
