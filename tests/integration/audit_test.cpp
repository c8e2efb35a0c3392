// The audit on a real Redis and a real SQLite file: each damage is found by its own invariant, and a running
// sale raises no alarm.
#include "sluice/audit.h"

#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "integration/real_parts.h"

namespace sluice {
namespace {

using test::inTime;
using test::RealParts;

constexpr UserId kAnn(1);
constexpr UserId kBob(2);

std::string textOf(const AuditReport& report) {
  std::string all;
  for (const Violation& violation : report.violations) {
    all += violation.invariant + ": " + violation.text + "\n";
  }
  return all;
}

// A sale with one stored order of Ann's and one of Bob's, one piece each, of ten.
class AuditReal : public ::testing::Test {
 protected:
  RealParts real{2};
  VoucherId voucher = real.sell(10, 2);
  OrderId anns = real.buy(voucher, kAnn);
  OrderId bobs = real.buy(voucher, kBob);

  AuditReport report() {
    auto made = audit(real.parts(), inTime());
    EXPECT_TRUE(made.ok()) << made.error().text;
    return made ? std::move(made).take() : AuditReport();
  }
  void expectBroken(const std::set<std::string>& invariants) {
    const AuditReport seen = report();
    std::set<std::string> broken;
    for (const Violation& violation : seen.violations) {
      EXPECT_EQ(violation.voucher, voucher);
      broken.insert(violation.invariant);
    }
    EXPECT_EQ(broken, invariants) << textOf(seen);
  }
  void redis(const std::vector<std::string>& command) { (void)real.redis().command(command); }
};

TEST_F(AuditReal, OfASoundSaleIsCleanAndAtRest) {
  const AuditReport seen = report();
  EXPECT_EQ(textOf(seen), "");
  EXPECT_TRUE(seen.atRest);
  ASSERT_EQ(seen.vouchers.size(), 1U);
  EXPECT_EQ(seen.vouchers[0].held, 2);
  EXPECT_EQ(seen.vouchers[0].remaining, 8);
  EXPECT_EQ(seen.vouchers[0].rows, 2);
}

TEST_F(AuditReal, WaitingOrdersAreNoViolation) {
  real.admit(voucher, UserId(3));
  real.deadLetterOne();
  real.admit(voucher, UserId(4));
  redis({"XADD", real.journalKey(), "*", "o", "rubbish"});
  const AuditReport seen = report();
  EXPECT_EQ(textOf(seen), "");
  EXPECT_FALSE(seen.atRest);
  EXPECT_EQ(seen.vouchers[0].waiting, 2);
  EXPECT_EQ(seen.vouchers[0].deadLettered, 1);
}

TEST_F(AuditReal, FindsAnOverwrittenStock) {
  redis({"HSET", real.voucherKey(voucher), "stock", "1000"});
  expectBroken({"CONSERVE_REDIS"});
}

TEST_F(AuditReal, FindsANegativeStock) {
  redis({"HSET", real.voucherKey(voucher), "stock", "-1", "held", "11"});
  expectBroken({"NEVER_NEGATIVE", "CONSERVE_REDIS"});
}

TEST_F(AuditReal, FindsCountersThatAgreeWithEachOtherButNotWithTheHolds) {
  redis({"HINCRBY", real.voucherKey(voucher), "stock", "-3"});
  redis({"HINCRBY", real.voucherKey(voucher), "held", "3"});
  expectBroken({"CONSERVE_REDIS"});
}

TEST_F(AuditReal, FindsAStockThatTheStoreNeverGave) {
  redis({"HINCRBY", real.voucherKey(voucher), "stock", "5"});
  redis({"HINCRBY", real.voucherKey(voucher), "allocated", "5"});
  expectBroken({"CONSERVE_REDIS"});
}

TEST_F(AuditReal, FindsAHoldThatSomebodyDeleted) {
  redis({"HDEL", real.holdsKey(voucher), kAnn.text()});
  expectBroken({"CONSERVE_REDIS", "NO_PHANTOM"});
}

TEST_F(AuditReal, FindsAnOrderUnderTwoUsers) {
  redis({"HSET", real.holdsKey(voucher), "77", anns.text() + ":1"});
  expectBroken({"CONSERVE_REDIS", "NO_PHANTOM"});
}

TEST_F(AuditReal, FindsAVoucherKeyOfAWrongType) {
  redis({"SET", real.voucherKey(voucher), "10"});
  expectBroken({"CONSERVE_REDIS"});
}

TEST_F(AuditReal, FindsAHoldThatCannotBeRead) {
  redis({"HSET", real.holdsKey(voucher), "77", "not a hold"});
  expectBroken({"CONSERVE_REDIS"});
}

TEST_F(AuditReal, FindsAnAdmissionWhoseJournalEntryWasTrimmed) {
  const OrderId lost = real.admit(voucher, UserId(3));
  redis({"XTRIM", real.journalKey(), "MAXLEN", "0"});
  const AuditReport seen = report();
  ASSERT_EQ(seen.lost.size(), 1U);
  EXPECT_EQ(seen.lost[0].order, lost);
  EXPECT_EQ(seen.lost[0].user, UserId(3));
  expectBroken({"NO_LOST_ADMISSION"});
}

TEST_F(AuditReal, FindsADeadLetterThatWasDeletedByHand) {
  real.admit(voucher, UserId(3));
  real.deadLetterOne();
  redis({"DEL", "sluice:{0}:dead"});
  expectBroken({"NO_LOST_ADMISSION"});
}

TEST_F(AuditReal, FindsARowThatWasDeleted) {
  real.sql("DELETE FROM orders WHERE id = " + anns.text());
  expectBroken({"NO_LOST_ADMISSION", "CONSERVE_STORE"});
}

TEST_F(AuditReal, FindsCountedAdmissionsThatAFlushedRedisTookAlong) {
  real.admit(voucher, UserId(3));
  real.admit(voucher, UserId(4));
  real.sql("INSERT INTO admission_counts VALUES (" + voucher.text() + ", 'server', 4)");
  EXPECT_EQ(textOf(report()), "");
  redis({"FLUSHALL"});
  const AuditReport seen = report();
  EXPECT_EQ(seen.vouchers[0].unaccounted, 2);
  expectBroken({"NO_LOST_ADMISSION"});
}

TEST_F(AuditReal, FindsARemainderThatDoesNotAddUp) {
  real.sql("UPDATE vouchers SET remaining = remaining + 1");
  expectBroken({"CONSERVE_STORE"});
}

TEST_F(AuditReal, FindsANegativeRemainder) {
  real.sql("UPDATE vouchers SET remaining = -1");
  expectBroken({"CONSERVE_STORE", "NEVER_NEGATIVE"});
}

TEST_F(AuditReal, FindsMoreSoldThanThereWas) {
  real.sql("UPDATE vouchers SET allocated = 1, remaining = 0");
  expectBroken({"NO_OVERSELL", "CONSERVE_STORE", "CONSERVE_REDIS"});
}

TEST_F(AuditReal, FindsARowThatNobodyAdmitted) {
  real.sql(
      "INSERT INTO orders SELECT id + 1, 99, voucher_id, 1, 1, status, reason, admitted_at, stored_at, "
      "updated_at, pay_by, NULL"
      " FROM orders WHERE id = " +
      anns.text());
  real.sql("UPDATE vouchers SET remaining = remaining - 1");
  expectBroken({"NO_PHANTOM"});
}

TEST_F(AuditReal, FindsARowThatWasGivenToAnotherUser) {
  real.sql("UPDATE orders SET user_id = 99 WHERE id = " + anns.text());
  expectBroken({"NO_PHANTOM"});
}

TEST_F(AuditReal, FindsAUserAboveTheLimit) {
  real.sql("UPDATE orders SET quantity = 3 WHERE id = " + anns.text());
  real.sql("UPDATE vouchers SET remaining = remaining - 2");
  redis({"HSET", real.holdsKey(voucher), kAnn.text(), anns.text() + ":3"});
  redis({"HINCRBY", real.voucherKey(voucher), "stock", "-2"});
  redis({"HINCRBY", real.voucherKey(voucher), "held", "2"});
  expectBroken({"ONE_PER_USER"});
}

TEST_F(AuditReal, FindsAReleaseThatWasMarkedAndNeverMade) {
  real.sql(
      "UPDATE orders SET status = 4, reason = 3, slot = NULL, pay_by = NULL, released_at = 1 WHERE id = " +
      anns.text());
  real.sql("UPDATE vouchers SET remaining = remaining + 1");
  expectBroken({"RELEASE_ONCE"});
}

TEST_F(AuditReal, FindsALiveRowMarkedAsReleased) {
  real.sql("UPDATE orders SET released_at = 1 WHERE id = " + anns.text());
  expectBroken({"RELEASE_ONCE"});
}

TEST_F(AuditReal, FindsTheOneDamagedVoucherAmongSoundOnes) {
  const VoucherId sound = real.sell(3);
  real.buy(sound, kAnn);
  redis({"HSET", real.voucherKey(voucher), "stock", "1000"});
  expectBroken({"CONSERVE_REDIS"});
}

// --- beside a running sale ---

TEST_F(AuditReal, BesideARunningSaleRaisesNoFalseAlarm) {
  const VoucherId busy = real.sell(200);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  const auto forever = [&](auto work) {
    threads.emplace_back([&stop, work] {
      for (std::int64_t k = 0; !stop; ++k) {
        work(k);
      }
    });
  };
  for (int k = 0; k < 2; ++k) {
    forever([&](std::int64_t n) { (void)real.ask(busy, real.newId(), UserId(1 + n % 997)); });
  }
  forever([&](std::int64_t) { real.work(1); });
  forever([&](std::int64_t n) {
    Orders orders(real.parts());
    const UserId user(1 + (n * 7) % 997);
    const auto holds = real.parts().qualifier.holdsOf(busy, user, inTime());
    for (const Hold& hold : holds.value()) {
      if (n % 3 == 0) (void)orders.pay(hold.order, user, inTime());
      (void)orders.cancel(hold.order, busy, user, DeadReason::ByUser, inTime());
    }
  });
  const Deadline end = Deadline::in(milliseconds(4000));
  for (int audits = 0; audits < 8 || !end.passed(); ++audits) {
    EXPECT_EQ(textOf(report()), "");
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  real.workAll();
  ASSERT_TRUE(releaseStep(real.parts(), 1000, inTime()).ok());
  const AuditReport seen = report();
  EXPECT_EQ(textOf(seen), "");
  EXPECT_TRUE(seen.atRest);
  EXPECT_GT(seen.vouchers[1].rows, 200);
}

}  // namespace
}  // namespace sluice
