// Contract of OrderStore, second part: pay, cancel, expire, refund, and giving holds back.
#include "contract/store_contract.h"

namespace sluice::test {
namespace {

using std::chrono::minutes;

std::vector<OrderId> idsOf(const std::vector<Order>& orders) {
  std::vector<OrderId> ids;
  ids.reserve(orders.size());
  for (const Order& order : orders) {
    ids.push_back(order.id);
  }
  return ids;
}

TEST_P(StoreContract, PayingMovesAPendingOrderToPaidOnce) {
  const VoucherId id = sell(2);
  persist(admission(1, 1, id));
  now_ += minutes(1);
  const Change paid = store().pay(OrderId(1), now_, soon()).value();
  EXPECT_TRUE(paid.changed);
  EXPECT_EQ(paid.order.status, OrderStatus::Paid);
  EXPECT_EQ(paid.order.payBy, std::nullopt);
  EXPECT_EQ(paid.order.updatedAt, now_);
  const Change again = store().pay(OrderId(1), now_ + minutes(1), soon()).value();
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(again.order.status, OrderStatus::Paid);
  EXPECT_EQ(again.order.updatedAt, now_);
  EXPECT_EQ(voucher(id).remaining, 1);
}

TEST_P(StoreContract, WhatIsNotThereCannotBePaidOrRefunded) {
  EXPECT_EQ(store().pay(OrderId(1), now_, soon()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store().refund(OrderId(1), now_, soon()).error().code, ErrorCode::NotFound);
}

TEST_P(StoreContract, S15_CancellingGivesThePieceBackOnce) {
  const VoucherId id = sell(5, 3);
  persist(admission(1, 1, id, 3));
  now_ += minutes(1);
  const Change cancelled = cancel(admission(1, 1, id, 3));
  EXPECT_TRUE(cancelled.changed);
  EXPECT_EQ(cancelled.order.status, OrderStatus::Cancelled);
  EXPECT_EQ(cancelled.order.reason, DeadReason::ByUser);
  EXPECT_EQ(cancelled.order.payBy, std::nullopt);
  EXPECT_EQ(cancelled.order.updatedAt, now_);
  EXPECT_EQ(voucher(id).remaining, 5);
  EXPECT_FALSE(cancel(admission(1, 1, id, 3), DeadReason::ByOperator).changed);
  EXPECT_EQ(row(1).reason, DeadReason::ByUser);
  EXPECT_EQ(voucher(id).remaining, 5);
}

TEST_P(StoreContract, AfterACancelTheUserMayOrderAgain) {
  const VoucherId id = sell(5);
  for (int k = 1; k <= 4; ++k) {
    EXPECT_EQ(persist(admission(k, 1, id)), kStored);
    EXPECT_TRUE(cancel(admission(k, 1, id)).changed);
  }
  EXPECT_EQ(totals(id).rows, 4);
}

TEST_P(StoreContract, R3_CancellingWhatIsStillQueuedLeavesADeadRowAndNoGhost) {
  const VoucherId id = sell(5);
  const Change cancelled = cancel(admission(1, 1, id));
  EXPECT_TRUE(cancelled.changed);
  EXPECT_EQ(cancelled.order.status, OrderStatus::Cancelled);
  EXPECT_EQ(cancelled.order.admittedAt, admission(1, 1, id).admittedAt);
  EXPECT_EQ(cancelled.order.storedAt, now_);
  EXPECT_EQ(voucher(id).remaining, 5) << "what was never stored had taken nothing";
  const PersistOutcome alreadyCancelled{PersistKind::Already, OrderStatus::Cancelled, DeadReason::ByUser,
                                        false};
  EXPECT_EQ(persist({admission(1, 1, id), admission(2, 1, id)}), (std::vector{alreadyCancelled, kStored}));
  EXPECT_EQ(row(1).status, OrderStatus::Cancelled);
  EXPECT_EQ(voucher(id).remaining, 4);
}

TEST_P(StoreContract, R5_WhateverTheStatusAnOrderThatHasARowAnswersAlready) {
  const VoucherId id = sell(4);
  const auto order = [&](std::int64_t number) { return admission(number, number, id); };
  persist({order(1), order(2), order(3), order(4), order(5)});
  ASSERT_TRUE(store().pay(OrderId(2), now_, soon()).value().changed);
  ASSERT_TRUE(cancel(order(3)).changed);
  ASSERT_TRUE(store().pay(OrderId(4), now_, soon()).value().changed);
  ASSERT_TRUE(store().refund(OrderId(4), now_, soon()).value().changed);
  const auto already = [](OrderStatus status, DeadReason reason, bool released = false) {
    return PersistOutcome{PersistKind::Already, status, reason, released};
  };
  const std::vector<PersistOutcome> expected = {already(OrderStatus::PendingPayment, DeadReason::None),
                                                already(OrderStatus::Paid, DeadReason::None),
                                                already(OrderStatus::Cancelled, DeadReason::ByUser),
                                                already(OrderStatus::Refunded, DeadReason::ByOperator),
                                                already(OrderStatus::Rejected, DeadReason::NoStock)};
  const std::vector<Admission> all = {order(1), order(2), order(3), order(4), order(5)};
  EXPECT_EQ(persist(all), expected);
  ASSERT_TRUE(store().markReleased(std::vector{OrderId(3)}, now_, soon()));
  EXPECT_EQ(persist(order(3)), already(OrderStatus::Cancelled, DeadReason::ByUser, true));
  EXPECT_EQ(totals(id).rows, 5);
  EXPECT_EQ(voucher(id).remaining, 2);
}

TEST_P(StoreContract, R3_ADroppedDeadLetterLeavesADeadRow) {
  const VoucherId id = sell(5);
  EXPECT_EQ(cancel(admission(1, 1, id), DeadReason::DeadLetter).order.reason, DeadReason::DeadLetter);
  EXPECT_EQ(row(1).reason, DeadReason::DeadLetter);
}

TEST_P(StoreContract, CancelRefusesOtherFactsUnknownVouchersAndWrongReasons) {
  const VoucherId id = sell(5, 2);
  const VoucherId other = sell(5, 2);
  persist(admission(1, 1, id));
  for (const Admission& wrong : {admission(1, 2, id), admission(1, 1, other), admission(1, 1, id, 2)}) {
    EXPECT_EQ(store().cancel({wrong, DeadReason::ByUser}, now_, soon()).error().code, ErrorCode::Conflict);
  }
  const auto unknown = store().cancel({admission(2, 1, VoucherId(77)), DeadReason::ByUser}, now_, soon());
  EXPECT_EQ(unknown.error().code, ErrorCode::NotFound);
  for (const DeadReason reason : {DeadReason::None, DeadReason::NoStock, DeadReason::OverLimit}) {
    EXPECT_EQ(store().cancel({admission(1, 1, id), reason}, now_, soon()).error().code,
              ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(row(1).status, OrderStatus::PendingPayment);
}

TEST_P(StoreContract, PaidIsFinalButForARefund) {
  const VoucherId id = sell(5);
  persist(admission(1, 1, id));
  ASSERT_TRUE(store().pay(OrderId(1), now_, soon()).value().changed);
  const Change cancelled = cancel(admission(1, 1, id));
  EXPECT_FALSE(cancelled.changed);
  EXPECT_EQ(cancelled.order.status, OrderStatus::Paid);
  EXPECT_EQ(store().expire(payBy_ + minutes(60), 100, soon()).value(), 0u);
  EXPECT_EQ(voucher(id).remaining, 4);
  const Change refunded = store().refund(OrderId(1), now_, soon()).value();
  EXPECT_TRUE(refunded.changed);
  EXPECT_EQ(refunded.order.status, OrderStatus::Refunded);
  EXPECT_EQ(refunded.order.reason, DeadReason::ByOperator);
  EXPECT_EQ(voucher(id).remaining, 5);
  EXPECT_FALSE(store().refund(OrderId(1), now_, soon()).value().changed);
  EXPECT_EQ(voucher(id).remaining, 5);
}

TEST_P(StoreContract, OnlyWhatIsPaidIsRefunded) {
  const VoucherId id = sell(1);
  persist({admission(1, 1, id), admission(2, 2, id)});
  for (const std::int64_t order : {1, 2}) {
    const Change change = store().refund(OrderId(order), now_, soon()).value();
    EXPECT_FALSE(change.changed);
    EXPECT_NE(change.order.status, OrderStatus::Refunded);
  }
}

TEST_P(StoreContract, ExpiryCancelsWhatIsUnpaidAfterItsTime) {
  const VoucherId id = sell(10);
  const VoucherId other = sell(10);
  persist({admission(1, 1, id), admission(2, 2, other), admission(3, 3, id), admission(4, 4, id)});
  payBy_ += minutes(10);
  persist(admission(5, 5, id));
  ASSERT_TRUE(store().pay(OrderId(3), now_, soon()).value().changed);
  payBy_ -= minutes(10);
  EXPECT_EQ(store().expire(payBy_ - milliseconds(1), 100, soon()).value(), 0u);
  EXPECT_EQ(store().expire(payBy_, 2, soon()).value(), 2u);
  EXPECT_EQ(store().expire(payBy_, 100, soon()).value(), 1u);
  EXPECT_EQ(store().expire(payBy_, 100, soon()).value(), 0u);
  EXPECT_EQ(row(1).status, OrderStatus::Cancelled);
  EXPECT_EQ(row(1).reason, DeadReason::Unpaid);
  EXPECT_EQ(row(1).updatedAt, payBy_);
  EXPECT_EQ(row(3).status, OrderStatus::Paid);
  EXPECT_EQ(row(5).status, OrderStatus::PendingPayment);
  EXPECT_EQ(voucher(id).remaining, 8);
  EXPECT_EQ(voucher(other).remaining, 10);
}

TEST_P(StoreContract, R2_TheDeadAreListedOldestFirstUntilTheirHoldIsReleased) {
  const VoucherId id = sell(3);
  persist({admission(1, 1, id), admission(2, 2, id), admission(3, 3, id), admission(4, 4, id)});
  now_ += minutes(1);
  ASSERT_TRUE(cancel(admission(3, 3, id)).changed);
  now_ += minutes(1);
  ASSERT_TRUE(cancel(admission(1, 1, id)).changed);
  EXPECT_EQ(idsOf(store().unreleased(100, soon()).value()),
            (std::vector{OrderId(4), OrderId(3), OrderId(1)}));
  EXPECT_EQ(idsOf(store().unreleased(1, soon()).value()), (std::vector{OrderId(4)}));
  EXPECT_EQ(totals(id).unreleasedRows, 3);

  now_ += minutes(1);
  const std::vector<OrderId> done = {OrderId(3), OrderId(4), OrderId(2),
                                     OrderId(999)};  // a live row and an unknown one
  ASSERT_TRUE(store().markReleased(done, now_, soon()));
  EXPECT_EQ(idsOf(store().unreleased(100, soon()).value()), (std::vector{OrderId(1)}));
  EXPECT_EQ(row(3).releasedAt, now_);
  EXPECT_EQ(row(3).updatedAt, now_) << "the mark is a change: a restarted Redis may have missed the release";
  EXPECT_EQ(row(2).releasedAt, std::nullopt);
  EXPECT_TRUE(persist(admission(4, 4, id)).released);
  EXPECT_EQ(totals(id).unreleasedRows, 1);

  ASSERT_TRUE(store().markReleased(done, now_ + minutes(5), soon()));
  EXPECT_EQ(row(3).releasedAt, now_) << "the first mark stands";
  EXPECT_TRUE(store().markReleased({}, now_, soon()));
}

}  // namespace
}  // namespace sluice::test
