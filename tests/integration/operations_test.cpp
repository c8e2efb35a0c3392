// What people do with orders, vouchers and dead letters, on a real Redis and a real SQLite file; each ends
// with a clean audit.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "sluice/audit.h"
#include "sluice/order_id.h"

#include "integration/real_parts.h"

namespace sluice {
namespace {

using test::inTime;
using test::RealParts;

constexpr UserId kAnn(1);
constexpr UserId kBob(2);

class Operations : public ::testing::Test {
 protected:
  RealParts real{2};
  Orders orders{real.parts()};
  Vouchers vouchers{real.parts()};
  DeadLetters letters{real.parts()};

  void expectCleanAndAtRest() {
    const auto report = audit(real.parts(), inTime());
    ASSERT_TRUE(report.ok()) << report.error().text;
    for (const Violation& violation : report.value().violations) {
      ADD_FAILURE() << violation.invariant << ": " << violation.text;
    }
    EXPECT_TRUE(report.value().atRest);
  }
  // Redis forgets an admission that it had just made, as after a crash with its last second unsynced.
  void loseHold(VoucherId voucher, UserId user) {
    real.redis().command({"HDEL", real.holdsKey(voucher), user.text()});
    real.redis().command({"HINCRBY", real.voucherKey(voucher), "stock", "1"});
    real.redis().command({"HINCRBY", real.voucherKey(voucher), "held", "-1"});
  }
};

TEST_F(Operations, AnOrderIsFoundAllItsLife) {
  const VoucherId voucher = real.sell(10);
  const OrderId order = real.admit(voucher, kAnn);
  EXPECT_EQ(orders.find(order, voucher, kAnn, inTime()).value().status, "queued");
  EXPECT_EQ(orders.find(order, voucher, kBob, inTime()).error().code, ErrorCode::NotFound);
  real.workAll();
  EXPECT_EQ(orders.find(order, voucher, kAnn, inTime()).value().status, "pending_payment");
  EXPECT_EQ(orders.find(order, voucher, kBob, inTime()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(orders.pay(order, kAnn, inTime()).value().status, "paid");
  EXPECT_EQ(orders.cancel(order, voucher, kAnn, DeadReason::ByUser, inTime()).error().code,
            ErrorCode::Conflict);
  EXPECT_EQ(orders.refund(order, inTime()).value().status, "refunded");
  EXPECT_EQ(real.snapshot(voucher).stock, 10);
  expectCleanAndAtRest();
}

TEST_F(Operations, ACancelledQueuedOrderGivesItsPlaceBackBeforeItIsDelivered) {
  const VoucherId voucher = real.sell(1);
  const OrderId order = real.admit(voucher, kAnn);
  EXPECT_EQ(orders.cancel(order, voucher, kAnn, DeadReason::ByUser, inTime()).value().status, "cancelled");
  const OrderId next = real.admit(voucher, kBob);
  real.workAll();
  EXPECT_EQ(orders.find(order, voucher, kAnn, inTime()).value().row->admittedAt,
            splitOrderId(order).issuedAt);
  EXPECT_EQ(orders.find(next, voucher, kBob, inTime()).value().status, "pending_payment");
  expectCleanAndAtRest();
}

TEST_F(Operations, OfPayAndCancelAndAWorkerAllAtOnceOneWins) {
  const VoucherId voucher = real.sell(60);
  std::atomic<int> paid{0};
  std::atomic<int> cancelled{0};
  for (int round = 0; round < 20; ++round) {
    const UserId user(100 + round);
    const OrderId order = real.admit(voucher, user);
    std::thread worker([&] { real.workAll(); });
    std::thread payer([&] {
      for (int k = 0; k < 20; ++k) {
        if (!orders.pay(order, user, inTime())) continue;
        ++paid;
        return;
      }
    });
    if (round % 2 == 0) std::this_thread::sleep_for(milliseconds(2));
    if (orders.cancel(order, voucher, user, DeadReason::ByUser, inTime()).ok()) ++cancelled;
    worker.join();
    payer.join();
    const std::string_view status = orders.find(order, voucher, user, inTime()).value().status;
    EXPECT_TRUE(status == "paid" || status == "cancelled" || status == "pending_payment") << status;
  }
  real.workAll();
  EXPECT_LE(paid + cancelled, 20);
  EXPECT_EQ(real.snapshot(voucher).held, 20 - cancelled);
  expectCleanAndAtRest();
}

TEST_F(Operations, WhatDiesWhileRedisIsAwayIsReleasedWhenItIsBack) {
  const VoucherId voucher = real.sell(5);
  const OrderId order = real.buy(voucher, kAnn);
  real.redis().kill();
  const auto cancelled = orders.cancel(order, voucher, kAnn, DeadReason::ByUser, inTime());
  ASSERT_TRUE(cancelled.ok()) << cancelled.error().text;
  EXPECT_EQ(orders.find(order, voucher, kAnn, inTime()).value().status, "cancelled");
  EXPECT_FALSE(orders.find(OrderId(4711), voucher, kAnn, inTime()).ok());
  EXPECT_NE(orders.find(OrderId(4711), voucher, kAnn, inTime()).error().code, ErrorCode::NotFound);
  EXPECT_FALSE(vouchers.show(voucher, inTime()).value().snapshot);
  real.redis().start();
  real.recover();
  while (!releaseStep(real.parts(), 100, inTime()).ok()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(real.snapshot(voucher).stock, 5);
  expectCleanAndAtRest();
}

TEST_F(Operations, ARecoveredRedisHasTheHoldsOfAllRecentRowsAgain) {
  const VoucherId voucher = real.sell(5);
  real.buy(voucher, kAnn);
  real.buy(voucher, kBob);
  const OrderId dead = real.buy(voucher, UserId(3));
  ASSERT_TRUE(orders.cancel(dead, voucher, UserId(3), DeadReason::ByUser, inTime()).ok());
  loseHold(voucher, kBob);
  real.redis().restart();
  const RecoveryReport report = real.recover();
  EXPECT_EQ(report.rowsSeen, 3U);
  EXPECT_EQ(report.holdsRestored, 1U);
  EXPECT_EQ(report.holdsReleased, 0U);
  EXPECT_EQ(real.snapshot(voucher).held, 2);
  expectCleanAndAtRest();
}

TEST_F(Operations, AVoucherThatRedisLostIsRebuiltByLoadOnly) {
  const VoucherId voucher = real.sell(5);
  const OrderId bought = real.buy(voucher, kAnn);
  const OrderId cancelled = real.buy(voucher, kBob);
  ASSERT_TRUE(orders.cancel(cancelled, voucher, kBob, DeadReason::ByUser, inTime()).ok());
  const auto exists = vouchers.load(voucher, inTime());
  ASSERT_FALSE(exists.ok());
  EXPECT_EQ(exists.error().code, ErrorCode::Conflict);
  real.redis().command({"DEL", real.voucherKey(voucher), real.holdsKey(voucher), real.answersKey(voucher)});
  EXPECT_EQ(orders.find(OrderId(4711), voucher, kAnn, inTime()).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(vouchers.sync(voucher, inTime()).value(), SyncOutcome::NotLoaded);
  const auto loaded = vouchers.load(voucher, inTime());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text;
  EXPECT_EQ(loaded.value().snapshot->stock, 4);
  EXPECT_EQ(real.ask(voucher, real.newId(), kAnn).order, bought);
  expectCleanAndAtRest();
}

TEST_F(Operations, ALoadWaitsForTheJournalAndForDeadLetters) {
  const VoucherId voucher = real.sell(5);
  const OrderId order = real.admit(voucher, kAnn);
  real.redis().command({"DEL", real.voucherKey(voucher), real.holdsKey(voucher), real.answersKey(voucher)});
  EXPECT_EQ(vouchers.load(voucher, inTime()).error().code, ErrorCode::Conflict);
  real.deadLetterOne();
  const auto refused = vouchers.load(voucher, inTime());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("replay or drop"), std::string::npos) << refused.error().text;
  const auto waiting = letters.list("", 10, inTime());
  ASSERT_TRUE(waiting.ok());
  ASSERT_EQ(waiting.value().size(), 1U);
  ASSERT_TRUE(letters.replay(waiting.value()[0].id, inTime()).ok());
  real.workAll();
  ASSERT_TRUE(vouchers.load(voucher, inTime()).ok());
  EXPECT_EQ(orders.find(order, voucher, kAnn, inTime()).value().status, "pending_payment");
  expectCleanAndAtRest();
}

TEST_F(Operations, ADroppedLetterGivesItsStockBack) {
  const VoucherId voucher = real.sell(5);
  const OrderId order = real.admit(voucher, kAnn);
  real.deadLetterOne();
  const auto waiting = letters.list("", 10, inTime());
  ASSERT_EQ(waiting.value().size(), 1U);
  EXPECT_EQ(letters.show(waiting.value()[0].id, inTime()).value().admission->order, order);
  ASSERT_TRUE(letters.drop(waiting.value()[0].id, inTime()).ok());
  EXPECT_EQ(letters.drop(waiting.value()[0].id, inTime()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(orders.find(order, voucher, kAnn, inTime()).value().row->reason, DeadReason::DeadLetter);
  EXPECT_EQ(real.snapshot(voucher).stock, 5);
  expectCleanAndAtRest();
}

TEST_F(Operations, StockShrinksOnlyAboveWhatIsHeldAndNoQueuedOrderIsRefused) {
  const VoucherId voucher = real.sell(10);
  for (std::int64_t user = 1; user <= 4; ++user) {
    real.admit(voucher, UserId(user));
  }
  VoucherSettings settings = vouchers.show(voucher, inTime()).value().voucher.settings;
  settings.allocated = 3;
  EXPECT_EQ(vouchers.update(voucher, 1, settings, inTime()).error().code, ErrorCode::Conflict);
  settings.allocated = 4;
  ASSERT_TRUE(vouchers.update(voucher, 1, settings, inTime()).ok());
  EXPECT_EQ(real.ask(voucher, real.newId(), UserId(9)).verdict, Verdict::SoldOut);
  real.workAll();
  EXPECT_EQ(vouchers.show(voucher, inTime()).value().voucher.remaining, 0);
  settings.allocated = 6;
  ASSERT_TRUE(vouchers.update(voucher, 2, settings, inTime()).ok());
  real.buy(voucher, UserId(9));
  ASSERT_TRUE(vouchers.close(voucher, inTime()).ok());
  ASSERT_TRUE(vouchers.close(voucher, inTime()).ok());
  EXPECT_EQ(real.ask(voucher, real.newId(), UserId(10)).verdict, Verdict::Ended);
  expectCleanAndAtRest();
}

// Several operators change the stock while it is sold: whatever they win or lose, store and Redis agree in
// the end and nobody who was admitted is refused.
TEST_F(Operations, StockThatOperatorsChangeBesideASaleNeverCostsAnAdmittedOrderItsPlace) {
  const VoucherId voucher = real.sell(300);
  std::atomic<bool> stop{false};
  const auto resize = [&](std::int64_t step) {
    for (std::int64_t k = 0; !stop; ++k) {
      const auto seen = vouchers.show(voucher, inTime());
      VoucherSettings settings = seen.value().voucher.settings;
      settings.allocated = 100 + (k * step) % 300;
      (void)vouchers.update(voucher, seen.value().voucher.version, settings, inTime());
    }
  };
  std::thread first([&] { resize(37); });
  std::thread second([&] { resize(53); });
  std::thread worker([&] {
    while (!stop)
      real.work();
  });
  std::int64_t admitted = 0;
  for (std::int64_t user = 1; user <= 400; ++user) {
    admitted += real.ask(voucher, real.newId(), UserId(user)).fresh ? 1 : 0;
  }
  stop = true;
  first.join();
  second.join();
  worker.join();
  real.workAll();
  ASSERT_TRUE(vouchers.sync(voucher, inTime()).ok());
  const auto seen = vouchers.show(voucher, inTime());
  EXPECT_EQ(seen.value().snapshot->allocated, seen.value().voucher.settings.allocated);
  EXPECT_EQ(seen.value().voucher.settings.allocated - seen.value().voucher.remaining, admitted);
  expectCleanAndAtRest();
}

}  // namespace
}  // namespace sluice
