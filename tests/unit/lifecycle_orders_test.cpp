// Orders, the outbox and the recovery over the fakes, every branch and every failing call.
#include <gtest/gtest.h>

#include "sluice/operations.h"

#include "lifecycle/recovery.h"
#include "support/sale.h"

namespace sluice {
namespace {

using test::FaultMoment;
using test::Sale;
using test::soon;

constexpr UserId kAnn(1);
constexpr UserId kBob(2);

TEST(FindOrder, QueuedFromTheHoldThenStoredFromTheRow) {
  Sale sale;
  const OrderId order = sale.admit(kAnn);
  Orders orders(sale.parts());
  const auto queued = orders.find(order, sale.voucher, kAnn, soon());
  ASSERT_TRUE(queued.ok()) << queued.error().text;
  EXPECT_EQ(queued.value().status, "queued");
  EXPECT_FALSE(queued.value().row);
  EXPECT_EQ(queued.value().quantity, 1);
  sale.storeWaiting();
  const auto stored = orders.find(order, VoucherId(), kAnn, soon());
  ASSERT_TRUE(stored.ok()) << stored.error().text;
  EXPECT_EQ(stored.value().status, "pending_payment");
  ASSERT_TRUE(stored.value().row);
}

TEST(FindOrder, AnotherUsersOrderReadsAsOneThatDoesNotExist) {
  Sale sale;
  const OrderId stored = sale.buy(kAnn);
  const OrderId queued = sale.admit(UserId(3));
  Orders orders(sale.parts());
  for (const OrderId order : {stored, queued, OrderId(4711)}) {
    const auto found = orders.find(order, sale.voucher, kBob, soon());
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::NotFound);
    EXPECT_EQ(found.error().text, "there is no order " + order.text());
  }
}

TEST(FindOrder, AnOperatorSeesEveryRowAndIsToldHowToFindAQueuedOne) {
  Sale sale;
  const OrderId stored = sale.buy(kAnn);
  const OrderId queued = sale.admit(kBob);
  Orders orders(sale.parts());
  EXPECT_TRUE(orders.find(stored, VoucherId(), UserId(), soon()).ok());
  const auto blind = orders.find(queued, sale.voucher, UserId(), soon());
  ASSERT_FALSE(blind.ok());
  EXPECT_EQ(blind.error().code, ErrorCode::NotFound);
  EXPECT_NE(blind.error().text.find("name its voucher and its user"), std::string::npos);
  EXPECT_TRUE(orders.find(queued, sale.voucher, kBob, soon()).ok());
}

TEST(FindOrder, SeesTheRowOfAnOrderThatWasStoredAndReleasedBetweenTheTwoLooks) {
  Sale sale;
  const OrderId order = sale.admit(kAnn);
  bool once = false;
  sale.fakes.qualifier.faults.onCall([&](std::string_view call) {
    if (call != "holdsOf" || std::exchange(once, true)) return;
    sale.storeWaiting();
    ASSERT_TRUE(Orders(sale.parts()).cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon()).ok());
    ASSERT_EQ(sale.redis().held, 0);
  });
  const auto found = Orders(sale.parts()).find(order, sale.voucher, kAnn, soon());
  ASSERT_TRUE(found.ok()) << found.error().text;
  EXPECT_EQ(found.value().status, "cancelled");
}

TEST(FindOrder, PassesOnEveryFailureAndNeverCallsItNotFound) {
  for (const ErrorCode code : test::kErrorCodes) {
    for (const std::size_t look : {0U, 1U}) {
      Sale sale;
      std::size_t seen = 0;
      sale.fakes.store.faults.onCall([&](std::string_view call) {
        if (call == "findOrder" && seen++ == look) sale.fakes.store.faults.next("findOrder", code);
      });
      const auto found = Orders(sale.parts()).find(OrderId(4711), sale.voucher, kAnn, soon());
      ASSERT_FALSE(found.ok());
      EXPECT_EQ(found.error().code, code);
    }
    for (const char* call : {"holdsOf", "snapshot"}) {
      Sale sale;
      sale.fakes.qualifier.faults.next(call, code);
      const auto found = Orders(sale.parts()).find(OrderId(4711), sale.voucher, kAnn, soon());
      ASSERT_FALSE(found.ok());
      EXPECT_EQ(found.error().code, code);
    }
  }
}

TEST(FindOrder, IsUnknownWhileRedisLacksAVoucherWhoseOrdersMayBeQueued) {
  Sale sale;
  sale.fakes.qualifier.flushAll();
  Orders orders(sale.parts());
  EXPECT_EQ(orders.find(OrderId(4711), sale.voucher, kAnn, soon()).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(orders.find(OrderId(4711), VoucherId(99), kAnn, soon()).error().code, ErrorCode::NotFound);
  sale.fakes.store.faults.next("findVoucher", ErrorCode::Stopped);
  EXPECT_EQ(orders.find(OrderId(4711), sale.voucher, kAnn, soon()).error().code, ErrorCode::Stopped);
  sale.fakes.clock.advance(std::chrono::hours(24) + limits::kKeyRetention);  // its keys are gone by right
  EXPECT_EQ(orders.find(OrderId(4711), sale.voucher, kAnn, soon()).error().code, ErrorCode::NotFound);
  sale.fakes.clock.setBack(std::chrono::hours(48) + limits::kKeyRetention);  // before its sale
  EXPECT_EQ(orders.find(OrderId(4711), sale.voucher, kAnn, soon()).error().code, ErrorCode::NotFound);
}

TEST(CancelOrder, GivesTheStockBackInStoreAndRedisAtOnce) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  const auto cancelled = Orders(sale.parts()).cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon());
  ASSERT_TRUE(cancelled.ok()) << cancelled.error().text;
  EXPECT_EQ(cancelled.value().status, "cancelled");
  EXPECT_EQ(cancelled.value().row->reason, DeadReason::ByUser);
  EXPECT_EQ(sale.redis().stock, 10);
  EXPECT_EQ(sale.stored().remaining, 10);
  EXPECT_TRUE(sale.row(order)->releasedAt);
}

TEST(CancelOrder, WhileQueuedWritesTheDeadRowThatALaterDeliveryFinds) {
  Sale sale;
  const OrderId order = sale.admit(kAnn);
  const auto cancelled = Orders(sale.parts()).cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon());
  ASSERT_TRUE(cancelled.ok()) << cancelled.error().text;
  EXPECT_EQ(sale.redis().held, 0);
  EXPECT_EQ(sale.row(order)->admittedAt, sale.fakes.clock.now());
  sale.storeWaiting();
  EXPECT_EQ(sale.row(order)->status, OrderStatus::Cancelled);
  EXPECT_EQ(sale.stored().remaining, 10);
}

TEST(CancelOrder, TwiceAnswersTheSameRow) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  Orders orders(sale.parts());
  ASSERT_TRUE(orders.cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon()).ok());
  const auto again = orders.cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().status, "cancelled");
  EXPECT_EQ(sale.fakes.qualifier.releasesCounted(), 1U);
}

TEST(CancelOrder, IsRefusedForPaidRefundedAndRejectedOnesWithTheWayOut) {
  Sale sale(1);
  const OrderId paid = sale.buy(kAnn);
  Orders orders(sale.parts());
  ASSERT_TRUE(orders.pay(paid, kAnn, soon()).ok());
  const auto refused = orders.cancel(paid, sale.voucher, kAnn, DeadReason::ByUser, soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
  EXPECT_NE(refused.error().text.find("refund"), std::string::npos);
  const Admission tooMany{OrderId(77), kBob, sale.voucher, 1, sale.fakes.clock.now()};
  ASSERT_TRUE(
      sale.fakes.store.persist({&tooMany, 1}, sale.fakes.clock.now(), sale.fakes.clock.now(), soon()).ok());
  const auto rejected = orders.cancel(OrderId(77), sale.voucher, kBob, DeadReason::ByUser, soon());
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().text,
            "order 77 is rejected (no_stock) and cannot be cancelled; it holds nothing");
  ASSERT_TRUE(orders.refund(paid, soon()).ok());
  EXPECT_EQ(orders.cancel(paid, sale.voucher, kAnn, DeadReason::ByUser, soon()).error().code,
            ErrorCode::Conflict);
}

TEST(CancelOrder, OfAnotherUserIsNotFoundAndChangesNothing) {
  Sale sale;
  const OrderId stored = sale.buy(kAnn);
  const OrderId queued = sale.admit(UserId(3));
  Orders orders(sale.parts());
  for (const OrderId order : {stored, queued}) {
    const auto refused = orders.cancel(order, sale.voucher, kBob, DeadReason::ByUser, soon());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::NotFound);
  }
  EXPECT_EQ(sale.redis().held, 2);
  EXPECT_EQ(sale.row(stored)->status, OrderStatus::PendingPayment);
  EXPECT_FALSE(sale.row(queued));
}

TEST(CancelOrder, WithRedisAwayLeavesTheReleaseToTheOutbox) {
  for (const ErrorCode code : test::kErrorCodes) {
    Sale sale;
    const OrderId order = sale.buy(kAnn);
    sale.fakes.qualifier.faults.next("release", code);
    const auto cancelled =
        Orders(sale.parts()).cancel(order, sale.voucher, UserId(), DeadReason::ByOperator, soon());
    ASSERT_TRUE(cancelled.ok()) << cancelled.error().text;
    EXPECT_FALSE(sale.row(order)->releasedAt);
    const auto marked = releaseStep(sale.parts(), 100, soon());
    ASSERT_TRUE(marked.ok());
    EXPECT_EQ(marked.value(), 1U);
    EXPECT_EQ(sale.redis().stock, 10);
    EXPECT_TRUE(sale.row(order)->releasedAt);
  }
}

TEST(CancelOrder, MayBeRepeatedAfterALostAnswer) {
  for (const bool stored : {true, false}) {
    Sale sale;
    const OrderId order = stored ? sale.buy(kAnn) : sale.admit(kAnn);
    sale.fakes.store.faults.next("cancel", ErrorCode::OutcomeUnknown, FaultMoment::After);
    Orders orders(sale.parts());
    const auto unknown = orders.cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon());
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::OutcomeUnknown);
    const auto again = orders.cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again.value().status, "cancelled");
    EXPECT_EQ(sale.redis().stock, 10);
  }
}

TEST(PayOrder, OnlyItsOwnUserOnceAndForAll) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  Orders orders(sale.parts());
  EXPECT_EQ(orders.pay(order, kBob, soon()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(orders.pay(order, UserId(), soon()).error().code, ErrorCode::InvalidArgument);
  for (int k = 0; k < 2; ++k) {
    const auto paid = orders.pay(order, kAnn, soon());
    ASSERT_TRUE(paid.ok()) << paid.error().text;
    EXPECT_EQ(paid.value().status, "paid");
  }
}

TEST(PayOrder, IsRefusedWhileQueuedAndWhenDead) {
  Sale sale;
  const OrderId order = sale.admit(kAnn);
  Orders orders(sale.parts());
  const auto early = orders.pay(order, kAnn, soon());
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, ErrorCode::NotFound);
  EXPECT_NE(early.error().text.find("pending_payment"), std::string::npos);
  sale.storeWaiting();
  ASSERT_TRUE(orders.cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon()).ok());
  const auto late = orders.pay(order, kAnn, soon());
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::Conflict);
  for (const ErrorCode code : test::kErrorCodes) {
    sale.fakes.store.faults.next("pay", code);
    EXPECT_EQ(orders.pay(order, kAnn, soon()).error().code, code);
    sale.fakes.store.faults.next("findOrder", code);
    EXPECT_EQ(orders.pay(order, kAnn, soon()).error().code, code);
  }
}

TEST(RefundOrder, TakesAPaidOneBackAndReleasesIt) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  Orders orders(sale.parts());
  const auto unpaid = orders.refund(order, soon());
  ASSERT_FALSE(unpaid.ok());
  EXPECT_EQ(unpaid.error().text,
            "order " + order.text() + " is pending_payment and cannot be refunded; cancel it");
  ASSERT_TRUE(orders.pay(order, kAnn, soon()).ok());
  for (int k = 0; k < 2; ++k) {
    const auto refunded = orders.refund(order, soon());
    ASSERT_TRUE(refunded.ok()) << refunded.error().text;
    EXPECT_EQ(refunded.value().status, "refunded");
  }
  EXPECT_EQ(sale.redis().stock, 10);
  EXPECT_EQ(orders.refund(OrderId(4711), soon()).error().code, ErrorCode::NotFound);
  const OrderId cancelled = sale.buy(kBob);
  ASSERT_TRUE(orders.cancel(cancelled, sale.voucher, kBob, DeadReason::ByUser, soon()).ok());
  EXPECT_EQ(orders.refund(cancelled, soon()).error().code, ErrorCode::Conflict);
}

// --- the outbox ---

// Cancels behind everybody's back, so that nothing is released.
void cancelOnly(Sale& sale, OrderId order) {
  const Order row = *sale.row(order);
  const CancelRequest request{{row.id, row.user, row.voucher, row.quantity, row.admittedAt},
                              DeadReason::ByUser};
  ASSERT_TRUE(sale.fakes.store.cancel(request, sale.fakes.clock.now(), soon()).ok());
}

TEST(ReleaseStep, EmptiesTheOutboxInPagesAndOnlyOnce) {
  Sale sale(3000);
  for (std::int64_t user = 1; user <= 2500; ++user) {
    sale.admit(UserId(user));
  }
  sale.storeWaiting();
  ASSERT_TRUE(sale.fakes.store.expire(sale.fakes.clock.now() + std::chrono::hours(1), 5000, soon()).ok());
  EXPECT_EQ(releaseStep(sale.parts(), 10, soon()).value(), 10U);
  EXPECT_EQ(sale.redis().stock, 510);
  EXPECT_EQ(releaseStep(sale.parts(), 100000, soon()).value(), 2490U);
  EXPECT_EQ(sale.redis().stock, 3000);
  EXPECT_EQ(releaseStep(sale.parts(), 100000, soon()).value(), 0U);
  EXPECT_EQ(sale.fakes.qualifier.releasesCounted(), 2500U);
}

TEST(ReleaseStep, AMarkThatFailsIsMadeNextTimeWithoutASecondRelease) {
  for (const FaultMoment moment : {FaultMoment::Before, FaultMoment::After}) {
    Sale sale;
    cancelOnly(sale, sale.buy(kAnn));
    sale.fakes.store.faults.next("markReleased", ErrorCode::OutcomeUnknown, moment);
    EXPECT_EQ(releaseStep(sale.parts(), 100, soon()).error().code, ErrorCode::OutcomeUnknown);
    EXPECT_TRUE(releaseStep(sale.parts(), 100, soon()).ok());
    EXPECT_EQ(sale.redis().stock, 10);
    EXPECT_EQ(sale.fakes.qualifier.releasesCounted(), 1U);
    EXPECT_TRUE(sale.fakes.store.unreleased(10, soon()).value().empty());
  }
}

TEST(ReleaseStep, AnswersEveryFailureWhereNothingWasMarked) {
  for (const ErrorCode code : test::kErrorCodes) {
    Sale sale;
    cancelOnly(sale, sale.buy(kAnn));
    sale.fakes.store.faults.next("unreleased", code);
    EXPECT_EQ(releaseStep(sale.parts(), 100, soon()).error().code, code);
    sale.fakes.qualifier.faults.next("release", code);
    EXPECT_EQ(releaseStep(sale.parts(), 100, soon()).error().code, code);
    EXPECT_EQ(releaseStep(sale.parts(), 100, soon()).value(), 1U);
  }
}

TEST(ReleaseStep, OneDamagedVoucherDoesNotKeepTheOthersFromTheirStock) {
  Sale sale;
  const OrderId first = sale.buy(kAnn);
  const VoucherId damaged = sale.voucher;
  sale.voucher = sale.fakes.sell(5).id;
  const OrderId second = sale.buy(kBob);
  cancelOnly(sale, first);
  cancelOnly(sale, second);
  sale.fakes.qualifier.faults.next("release",
                                   ErrorCode::Corrupt);  // the voucher with the lower id comes first
  EXPECT_EQ(releaseStep(sale.parts(), 100, soon()).value(), 1U);
  EXPECT_EQ(sale.redis().stock, 5);
  EXPECT_FALSE(sale.row(first)->releasedAt);
  EXPECT_EQ(sale.fakes.qualifier.snapshot(damaged, soon()).value().held, 1);
}

TEST(ReleaseStep, MarksWhatRedisDoesNotHaveAnyMore) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  cancelOnly(sale, order);
  sale.fakes.qualifier.flushAll();
  EXPECT_EQ(releaseStep(sale.parts(), 100, soon()).value(), 1U);
  EXPECT_TRUE(sale.row(order)->releasedAt);
}

// --- recovery ---

constexpr milliseconds kWindow = std::chrono::minutes(5);

TEST(RecoverHolds, BringsBackLostHoldsAndReleasesDeadOnesAgain) {
  Sale sale(3000);
  for (std::int64_t user = 1; user <= 1500; ++user) {
    sale.admit(UserId(user));
  }
  const OrderId dead = sale.buy(UserId(2000));
  cancelOnly(sale, dead);
  ASSERT_TRUE(sale.fakes.store.markReleased({&dead, 1}, sale.fakes.clock.now(), soon()).ok());
  sale.fakes.qualifier.forgetHold(sale.voucher, UserId(7));
  sale.fakes.qualifier.forgetHold(sale.voucher, UserId(1499));
  const auto report = recoverHolds(sale.parts(), kWindow, soon());
  ASSERT_TRUE(report.ok()) << report.error().text;
  EXPECT_EQ(report.value().rowsSeen, 1501U);
  EXPECT_EQ(report.value().holdsRestored, 2U);
  EXPECT_EQ(report.value().holdsReleased, 1U);
  EXPECT_EQ(sale.redis().held, 1500);
  EXPECT_EQ(sale.fakes.brokenLaws(), "");
  const auto again = recoverHolds(sale.parts(), kWindow, soon());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().holdsRestored + again.value().holdsReleased, 0U);
}

TEST(RecoverHolds, ReleasesWhatDiedBetweenReadingItsRowAndRestoringItsHold) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  sale.fakes.qualifier.forgetHold(sale.voucher, kAnn);
  sale.fakes.qualifier.faults.onCall([&](std::string_view call) {
    if (call != "restore") return;
    ASSERT_TRUE(Orders(sale.parts()).cancel(order, sale.voucher, kAnn, DeadReason::ByUser, soon()).ok());
  });
  const auto report = recoverHolds(sale.parts(), kWindow, soon());
  ASSERT_TRUE(report.ok()) << report.error().text;
  EXPECT_TRUE(sale.row(order)->releasedAt);
  EXPECT_EQ(sale.holdsOf(kAnn), 0U);
  EXPECT_EQ(sale.redis().stock, 10);
}

TEST(RecoverHolds, SkipsADamagedVoucherAndAnswersEveryOtherFailure) {
  for (const ErrorCode code : test::kErrorCodes) {
    for (const char* call : {"snapshot", "release", "restore"}) {
      Sale sale;
      cancelOnly(sale, sale.buy(kAnn));
      sale.buy(kBob);
      sale.fakes.qualifier.faults.next(call, code);
      const auto report = recoverHolds(sale.parts(), kWindow, soon());
      if (code == ErrorCode::Corrupt) {
        EXPECT_TRUE(report.ok());
      } else {
        ASSERT_FALSE(report.ok());
        EXPECT_EQ(report.error().code, code);
      }
    }
    for (const char* call : {"recentOrders", "findOrders"}) {
      if (code == ErrorCode::Corrupt) continue;  // not among a store's errors
      Sale sale;
      sale.buy(kAnn);
      sale.fakes.qualifier.forgetHold(sale.voucher, kAnn);
      sale.fakes.store.faults.next(call, code);
      const auto report = recoverHolds(sale.parts(), kWindow, soon());
      ASSERT_FALSE(report.ok());
      EXPECT_EQ(report.error().code, code);
    }
  }
}

TEST(RecoverHolds, LeavesAVoucherThatIsNotInRedisToItsLoad) {
  Sale sale;
  sale.buy(kAnn);
  sale.fakes.qualifier.flushAll();
  const auto report = recoverHolds(sale.parts(), kWindow, soon());
  ASSERT_TRUE(report.ok()) << report.error().text;
  EXPECT_EQ(report.value().rowsSeen, 1U);
  EXPECT_EQ(sale.fakes.qualifier.faults.calls("restore"), 0U);
}

// A sale of `orders` stored orders, a millisecond apart.
void fill(Sale& sale, std::int64_t orders) {
  for (std::int64_t user = 1; user <= orders; ++user) {
    sale.buy(UserId(user));
    sale.fakes.clock.advance(milliseconds(1));
  }
}

TEST(Recovery, GoesOnWhereItStoppedSoThatItEndsWithAnyNumberOfRows) {
  Sale sale(4000);
  fill(sale, 3500);
  for (const std::int64_t user : {7, 1700, 3499}) {
    sale.fakes.qualifier.forgetHold(sale.voucher, UserId(user));
  }
  lifecycle::Recovery recovery(sale.parts());
  int attempts = 0;
  // Each attempt gets one page further.
  for (Status done(ErrorCode::Unavailable, "not begun"); !done; ++attempts) {
    ASSERT_LT(attempts, 10);
    sale.fakes.store.faults.heal();
    sale.fakes.store.faults.next("recentOrders", ErrorCode::Unavailable, FaultMoment::Before, 1, 1);
    done = recovery.goOn("server", kWindow, soon());
  }
  EXPECT_EQ(attempts, 5);
  EXPECT_EQ(recovery.report().rowsSeen, 3500U);
  EXPECT_EQ(recovery.report().holdsRestored, 3U);
  EXPECT_EQ(sale.redis().held, 3500);
}

TEST(Recovery, PassesNoRowOverWhileRowsGoOnChanging) {
  Sale sale(4000);
  fill(sale, 2500);
  sale.fakes.qualifier.forgetHold(sale.voucher, UserId(1500));
  sale.fakes.store.faults.next("recentOrders", ErrorCode::Unavailable, FaultMoment::Before, 1, 1);
  lifecycle::Recovery recovery(sale.parts());
  EXPECT_FALSE(recovery.goOn("server", kWindow, soon()));
  sale.fakes.clock.advance(kWindow * 2);
  sale.buy(UserId(3000));
  EXPECT_TRUE(recovery.goOn("server", kWindow, soon()));
  EXPECT_EQ(sale.holdsOf(UserId(1500)), 1U);
}

TEST(Recovery, BeginsAnewWithAnotherServer) {
  Sale sale;
  fill(sale, 5);
  lifecycle::Recovery recovery(sale.parts());
  EXPECT_TRUE(recovery.goOn("one", kWindow, soon()));
  sale.fakes.qualifier.forgetHold(sale.voucher, UserId(3));
  EXPECT_TRUE(recovery.goOn("another", kWindow, soon()));
  EXPECT_EQ(recovery.report().rowsSeen, 5U);
  EXPECT_EQ(recovery.report().holdsRestored, 1U);
}

TEST(Recovery, ComesBackToAVoucherWhoseKeysWereDamaged) {
  Sale sale;
  fill(sale, 5);
  sale.fakes.qualifier.forgetHold(sale.voucher, UserId(3));
  lifecycle::Recovery recovery(sale.parts());
  sale.fakes.qualifier.faults.always("restore", ErrorCode::Corrupt);
  EXPECT_TRUE(recovery.goOn("server", kWindow, soon())) << "the other sales do not wait for it";
  EXPECT_TRUE(recovery.leftOut());
  EXPECT_FALSE(recovery.lookAgain(soon()));
  EXPECT_TRUE(recovery.leftOut());
  sale.fakes.qualifier.faults.heal();
  sale.fakes.store.faults.next("recentOrders", ErrorCode::Unavailable);
  EXPECT_FALSE(recovery.lookAgain(soon()));
  EXPECT_TRUE(recovery.leftOut());
  EXPECT_TRUE(recovery.lookAgain(soon()));
  EXPECT_FALSE(recovery.leftOut());
  EXPECT_EQ(sale.holdsOf(UserId(3)), 1U);
}

TEST(RecoverHolds, EndsAtItsDeadline) {
  Sale sale;
  sale.buy(kAnn);
  const auto report = recoverHolds(sale.parts(), kWindow, Deadline::in(milliseconds(0)));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace sluice
