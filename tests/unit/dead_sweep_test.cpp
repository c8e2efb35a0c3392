// Dead letters by the many: each condition of the filter, and the sweep that counts, replays or drops.
#include <gtest/gtest.h>

#include "support/sale.h"

namespace sluice::test {
namespace {

constexpr UtcTime kThen = fromMillis(1'000'000);

DeadLetter letterOf(std::int64_t order, std::int64_t user, std::int64_t voucher) {
  DeadLetter letter;
  letter.id = "1";
  letter.admission = Admission{OrderId(order), UserId(user), VoucherId(voucher), 1, kThen};
  letter.reason = "failed 5 times, last with Internal: value out of range";
  letter.deadAt = kThen;
  return letter;
}

DeadLetter undecodable() {
  DeadLetter letter = letterOf(1, 1, 1);
  letter.admission.reset();
  letter.reason = "undecodable: six numbers are wanted";
  return letter;
}

TEST(DeadFilter, WithoutAConditionMeansAll) {
  EXPECT_TRUE(DeadFilter().isEmpty());
  EXPECT_TRUE(DeadFilter().matches(letterOf(1, 2, 3)));
  EXPECT_TRUE(DeadFilter().matches(undecodable()));
}

struct Condition {
  const char* name;
  void (*set)(DeadFilter& filter);
  DeadLetter meant;
  DeadLetter other;
};

class DeadFilterBy : public testing::TestWithParam<Condition> {};

TEST_P(DeadFilterBy, MeansSomeAndNotOthers) {
  DeadFilter filter;
  GetParam().set(filter);
  EXPECT_FALSE(filter.isEmpty());
  EXPECT_TRUE(filter.matches(GetParam().meant));
  EXPECT_FALSE(filter.matches(GetParam().other));
}

INSTANTIATE_TEST_SUITE_P(
    All, DeadFilterBy,
    testing::Values(
        Condition{"Voucher", [](DeadFilter& f) { f.voucher = VoucherId(3); }, letterOf(1, 2, 3),
                  letterOf(1, 2, 4)},
        Condition{"VoucherAndNoAdmission", [](DeadFilter& f) { f.voucher = VoucherId(1); }, letterOf(1, 1, 1),
                  undecodable()},
        Condition{"User", [](DeadFilter& f) { f.user = UserId(2); }, letterOf(1, 2, 3), letterOf(1, 3, 3)},
        Condition{"Order", [](DeadFilter& f) { f.order = OrderId(1); }, letterOf(1, 2, 3), letterOf(2, 2, 3)},
        Condition{"Reason", [](DeadFilter& f) { f.reason = "OUT of"; }, letterOf(1, 2, 3), undecodable()},
        Condition{"Since", [](DeadFilter& f) { f.since = kThen; }, letterOf(1, 2, 3),
                  [] {
                    DeadLetter earlier = letterOf(1, 2, 3);
                    earlier.deadAt -= milliseconds(1);
                    return earlier;
                  }()},
        Condition{"Until", [](DeadFilter& f) { f.until = kThen + milliseconds(1); }, letterOf(1, 2, 3),
                  [] {
                    DeadLetter later = letterOf(1, 2, 3);
                    later.deadAt += milliseconds(1);
                    return later;
                  }()},
        Condition{"Undecodable", [](DeadFilter& f) { f.undecodable = true; }, undecodable(),
                  letterOf(1, 2, 3)},
        Condition{"TwoConditions",
                  [](DeadFilter& f) {
                    f.voucher = VoucherId(3);
                    f.reason = "range";
                  },
                  letterOf(1, 2, 3),
                  [] {
                    DeadLetter elsewhere = letterOf(1, 2, 3);
                    elsewhere.reason = "something else";
                    return elsewhere;
                  }()}),
    [](const auto& condition) { return condition.param.name; });

// Users 1 .. 6 ordered, and all of it was put aside; the seventh letter does not decode.
class DeadSweeps : public testing::Test {
 protected:
  DeadSweeps() {
    for (std::int64_t user = 1; user <= 6; ++user) {
      orders_.push_back(sale_.admit(UserId(user)));
      deadLetterOne(sale_.parts());
    }
    sale_.fakes.queue.injectUndecodable("rubbish");
  }
  std::size_t count() { return letters_.list("", 100, soon()).value().size(); }
  DeadSweep sweep(const DeadFilter& filter, DeadDeed deed, const std::string& after = "",
                  std::size_t max = 100) {
    const auto swept = letters_.sweep(filter, deed, after, max, soon());
    EXPECT_TRUE(swept.ok()) << swept.error().text;
    return swept.value();
  }

  Sale sale_{1000};
  DeadLetters letters_{sale_.parts()};
  std::vector<OrderId> orders_;
};

TEST_F(DeadSweeps, CountsAndTouchesNothing) {
  DeadFilter filter;
  filter.voucher = sale_.voucher;
  const DeadSweep swept = sweep(filter, DeadDeed::Count);
  EXPECT_EQ(swept.matched, 6U);
  EXPECT_EQ(swept.done, 6U);
  EXPECT_FALSE(swept.more);
  EXPECT_EQ(count(), 7U);
}

TEST_F(DeadSweeps, ReplaysWhatIsMeantAndSaysWhatFailed) {
  const DeadSweep swept = sweep({}, DeadDeed::Replay);
  EXPECT_EQ(swept.matched, 7U);
  EXPECT_EQ(swept.done, 6U);
  EXPECT_EQ(swept.failed, 1U);
  EXPECT_NE(swept.firstFailure.find("only dropped"), std::string::npos) << swept.firstFailure;
  EXPECT_EQ(count(), 1U);
  sale_.storeWaiting();
  for (const OrderId order : orders_) {
    EXPECT_EQ(sale_.row(order)->status, OrderStatus::PendingPayment);
  }
}

TEST_F(DeadSweeps, DropsOneUsersLetterAndGivesItsStockBack) {
  DeadFilter filter;
  filter.user = UserId(3);
  const DeadSweep swept = sweep(filter, DeadDeed::Drop);
  EXPECT_EQ(swept.done, 1U);
  EXPECT_EQ(sale_.row(orders_[2])->reason, DeadReason::DeadLetter);
  EXPECT_EQ(sale_.redis().held, 5);
  EXPECT_EQ(count(), 6U);
}

TEST_F(DeadSweeps, IsBoundedAndGoesOnWhereItStopped) {
  DeadFilter filter;
  filter.voucher = sale_.voucher;
  DeadSweep swept = sweep(filter, DeadDeed::Replay, "", 4);
  EXPECT_EQ(swept.done, 4U);
  ASSERT_TRUE(swept.more);
  swept = sweep(filter, DeadDeed::Replay, swept.next, 4);
  EXPECT_EQ(swept.done, 2U);
  EXPECT_FALSE(swept.more);
}

TEST_F(DeadSweeps, StopsWhereTheNextWouldFailTooAndGoesOnThere) {
  int calls = 0;
  sale_.fakes.queue.faults.onCall([this, &calls](std::string_view name) {
    if (name == "replayDeadLetter" && ++calls == 3)
      sale_.fakes.queue.faults.next("replayDeadLetter", ErrorCode::Overloaded);
  });
  DeadFilter filter;
  filter.voucher = sale_.voucher;
  DeadSweep swept = sweep(filter, DeadDeed::Replay);
  ASSERT_TRUE(swept.stopped);
  EXPECT_EQ(swept.stopped->code, ErrorCode::Overloaded);
  EXPECT_EQ(swept.done + swept.failed, swept.matched);
  EXPECT_LT(swept.done, 6U);
  const std::size_t before = swept.done;
  ASSERT_TRUE(swept.more);
  swept = sweep(filter, DeadDeed::Replay, swept.next);
  EXPECT_EQ(before + swept.done, 6U);
  EXPECT_EQ(count(), 1U);
}

TEST_F(DeadSweeps, AnswersTheErrorWhereNothingCouldBeDone) {
  sale_.fakes.queue.faults.next("deadLetters", ErrorCode::Unavailable);
  EXPECT_EQ(letters_.sweep({}, DeadDeed::Drop, "", 100, soon()).error().code, ErrorCode::Unavailable);
  sale_.fakes.store.faults.always("findOrder", ErrorCode::Unavailable);
  EXPECT_EQ(letters_.sweep({}, DeadDeed::Drop, "", 100, soon()).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(count(), 7U);
}

TEST_F(DeadSweeps, WhatIsPutAsideMeanwhileDoesNotComeRound) {
  // More than are looked at in one reply of the queue.
  constexpr std::size_t kOrders = limits::kDeadScanPage + 50;
  for (std::size_t user = 7; user <= kOrders; ++user) {
    (void)sale_.admit(UserId(static_cast<std::int64_t>(user)));
    deadLetterOne(sale_.parts());
  }
  // Each one that is replayed fails at once, and is put aside again.
  bool busy = false;
  sale_.fakes.queue.faults.onCall([this, &busy](std::string_view name) {
    if (busy || name != "replayDeadLetter") return;
    busy = true;
    sale_.fakes.clock.advance(milliseconds(5));
    const auto batch = sale_.fakes.queue.receive(0, 1, Deadline::in(milliseconds(0)));
    if (batch && !batch.value().empty()) {
      const Settlement again{batch.value()[0].token, SettleKind::DeadLetter, milliseconds(0), true, "again"};
      EXPECT_TRUE(sale_.fakes.queue.settle(0, {&again, 1}, soon()).ok());
    }
    busy = false;
  });
  DeadFilter filter;
  filter.voucher = sale_.voucher;
  const DeadSweep swept = sweep(filter, DeadDeed::Replay, "", limits::kPageMax);
  EXPECT_EQ(swept.matched, kOrders) << "each once";
}

TEST_F(DeadSweeps, FindsPageByPageWhatIsMeant) {
  DeadFilter filter;
  filter.voucher = sale_.voucher;
  const auto first = letters_.find(filter, "", 4, soon());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first.value().letters.size(), 4U);
  ASSERT_FALSE(first.value().next.empty());
  const auto second = letters_.find(filter, first.value().next, 4, soon());
  EXPECT_EQ(second.value().letters.size(), 2U);
  EXPECT_TRUE(second.value().next.empty());
}

TEST_F(DeadSweeps, LooksAtABoundedNumberInOneCall) {
  for (std::size_t k = 0; k < limits::kDeadScanMax; ++k) {
    sale_.fakes.queue.injectUndecodable("more rubbish");
  }
  DeadFilter filter;
  filter.user = UserId(77);
  const auto page = letters_.find(filter, "", 10, soon());
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page.value().letters.empty());
  ASSERT_FALSE(page.value().next.empty()) << "there are more, and it says so";
  EXPECT_TRUE(letters_.find(filter, page.value().next, 10, soon()).value().next.empty());
}

}  // namespace
}  // namespace sluice::test
