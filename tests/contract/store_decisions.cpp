// Contract of OrderStore, first part: what persist decides.
#include <algorithm>
#include <numeric>
#include <set>

#include "sluice/limits.h"

#include "contract/store_contract.h"

namespace sluice::test {
namespace {

std::vector<PersistOutcome> times(std::size_t count, const PersistOutcome& outcome) {
  return {count, outcome};
}

TEST_P(StoreContract, R1_StoresALiveRowWithEveryFact) {
  const VoucherId id = sell(10, 3);
  EXPECT_EQ(persist(admission(7, 42, id, 3)), kStored);
  const Order stored = row(7);
  EXPECT_EQ(stored.id, OrderId(7));
  EXPECT_EQ(stored.user, UserId(42));
  EXPECT_EQ(stored.voucher, id);
  EXPECT_EQ(stored.quantity, 3);
  EXPECT_EQ(stored.status, OrderStatus::PendingPayment);
  EXPECT_EQ(stored.reason, DeadReason::None);
  EXPECT_EQ(stored.admittedAt, now_ - milliseconds(250));
  EXPECT_EQ(stored.storedAt, now_);
  EXPECT_EQ(stored.updatedAt, now_);
  EXPECT_EQ(stored.payBy, payBy_);
  EXPECT_EQ(stored.releasedAt, std::nullopt);
  EXPECT_EQ(voucher(id).remaining, 7);
}

TEST_P(StoreContract, R1_ARefusalIsARowWithItsReasonAndNoStock) {
  const VoucherId id = sell(1);
  EXPECT_EQ(persist({admission(1, 1, id), admission(2, 2, id)}), (std::vector{kStored, kNoStock}));
  const Order refused = row(2);
  EXPECT_EQ(refused.status, OrderStatus::Rejected);
  EXPECT_EQ(refused.reason, DeadReason::NoStock);
  EXPECT_EQ(refused.payBy, std::nullopt);
  EXPECT_EQ(refused.releasedAt, std::nullopt);
  EXPECT_EQ(voucher(id).remaining, 0);
  EXPECT_EQ(totals(id).rows, 2);
}

TEST_P(StoreContract, S05_TheSameBatchThreeTimesIsDecidedOnce) {
  const VoucherId id = sell(100);
  std::vector<Admission> batch;
  for (int k = 1; k <= 50; ++k) {
    batch.push_back(admission(k, k, id));
  }
  EXPECT_EQ(persist(batch), times(50, kStored));
  now_ += std::chrono::minutes(1);
  EXPECT_EQ(persist(batch), times(50, kAlreadyPending));
  EXPECT_EQ(persist(batch), times(50, kAlreadyPending));
  EXPECT_EQ(row(1).storedAt, now_ - std::chrono::minutes(1)) << "the row was touched again";
  EXPECT_EQ(voucher(id).remaining, 50);
}

TEST_P(StoreContract, S06_ABatchWithKnownNewAndRepeatedOrdersAnswersEachExactly) {
  const VoucherId id = sell(1000);
  std::vector<Admission> known;
  for (int k = 1; k <= 30; ++k) {
    known.push_back(admission(k, k, id));
  }
  persist(known);
  std::vector<Admission> batch;
  std::vector<PersistOutcome> expected;
  for (int k = 1; k <= 100; ++k) {
    batch.push_back(admission(k, k, id));
    expected.push_back(k <= 30 ? kAlreadyPending : kStored);
  }
  for (const int again : {31, 100}) {
    batch.push_back(admission(again, again, id));
    expected.push_back(kAlreadyPending);
  }
  EXPECT_EQ(persist(batch), expected);
  EXPECT_EQ(voucher(id).remaining, 900);
}

TEST_P(StoreContract, S06_OfDuplicatesInABatchTheFirstDecides) {
  const VoucherId id = sell(1);
  EXPECT_EQ(
      persist({admission(1, 1, id), admission(1, 1, id), admission(2, 2, id), admission(2, 2, id)}),
      (std::vector{kStored, kAlreadyPending, kNoStock,
                   PersistOutcome{PersistKind::Already, OrderStatus::Rejected, DeadReason::NoStock, false}}));
}

TEST_P(StoreContract, S07_TheSameIdWithOtherContentIsAConflictAndChangesNothing) {
  const VoucherId id = sell(10, 5);
  const VoucherId other = sell(10, 5);
  persist(admission(1, 1, id, 2));
  for (const Admission& wrong : {admission(1, 2, id, 2), admission(1, 1, other, 2), admission(1, 1, id, 1)}) {
    EXPECT_EQ(persist(wrong).kind, PersistKind::Conflict);
  }
  EXPECT_EQ(persist({admission(5, 5, id, 1), admission(5, 5, id, 2)}).back().kind, PersistKind::Conflict);
  EXPECT_EQ(row(1).user, UserId(1));
  EXPECT_EQ(row(1).quantity, 2);
  EXPECT_EQ(row(1).voucher, id);
  EXPECT_EQ(row(5).quantity, 1);
  EXPECT_EQ(voucher(id).remaining, 7);
  EXPECT_EQ(voucher(other).remaining, 10);
}

TEST_P(StoreContract, AnUnknownVoucherIsReportedAndLeavesTheOthersAlone) {
  const VoucherId id = sell(10);
  const auto outcomes = persist({admission(1, 1, id), admission(2, 2, VoucherId(999)), admission(3, 3, id)});
  EXPECT_EQ(outcomes[0], kStored);
  EXPECT_EQ(outcomes[1].kind, PersistKind::UnknownVoucher);
  EXPECT_EQ(outcomes[2], kStored);
  EXPECT_FALSE(hasRow(2));
  EXPECT_EQ(persist(admission(2, 2, VoucherId(999))).kind, PersistKind::UnknownVoucher);
}

TEST_P(StoreContract, S08_ASecondOrderOverTheLimitIsRejectedNotMistakenForTheFirst) {
  const VoucherId id = sell(10);
  EXPECT_EQ(persist(admission(1, 1, id)), kStored);
  EXPECT_EQ(persist(admission(2, 1, id)), kOverLimit);
  EXPECT_EQ(persist(admission(2, 1, id)),
            (PersistOutcome{PersistKind::Already, OrderStatus::Rejected, DeadReason::OverLimit, false}));
  EXPECT_EQ(voucher(id).remaining, 9);
}

TEST_P(StoreContract, S08_TheLimitCountsPiecesOverLiveOrders) {
  const VoucherId id = sell(100, 5);
  EXPECT_EQ(persist({admission(1, 1, id, 2), admission(2, 1, id, 2), admission(3, 1, id, 2),
                     admission(4, 1, id, 1), admission(5, 1, id, 1)}),
            (std::vector{kStored, kStored, kOverLimit, kStored, kOverLimit}));
  ASSERT_TRUE(cancel(admission(2, 1, id, 2)).changed);
  EXPECT_EQ(persist({admission(6, 1, id, 3), admission(7, 1, id, 2)}), (std::vector{kOverLimit, kStored}));
  EXPECT_EQ(voucher(id).remaining, 95);
  EXPECT_EQ(totals(id).usersOverLimit, 0);
}

TEST_P(StoreContract, PartialFitsAreDecidedInTheOrderGiven) {
  const VoucherId id = sell(5, 10);
  EXPECT_EQ(persist({admission(1, 1, id, 4), admission(2, 2, id, 2), admission(3, 3, id, 1),
                     admission(4, 4, id, 1)}),
            (std::vector{kStored, kNoStock, kStored, kNoStock}));
  EXPECT_EQ(voucher(id).remaining, 0);
}

TEST_P(StoreContract, MixedVouchersInOneBatchAreKeptApart) {
  std::vector<VoucherId> ids;
  ids.reserve(150);
  for (int k = 0; k < 150; ++k) {
    ids.push_back(sell(1, 2));
  }
  std::vector<Admission> batch;
  std::vector<PersistOutcome> expected;
  for (int k = 0; k < 300; ++k) {
    batch.push_back(admission(1 + k, 5, ids[static_cast<std::size_t>(299 - k) / 2]));
    expected.push_back(k % 2 == 0 ? kStored : kNoStock);
  }
  EXPECT_EQ(persist(batch), expected);
  for (const VoucherId id : ids) {
    EXPECT_EQ(voucher(id).remaining, 0);
  }
}

TEST_P(StoreContract, R1_RejectedStaysRejectedAfterSomebodyElseGivesBack) {
  const VoucherId id = sell(1);
  EXPECT_EQ(persist({admission(1, 1, id), admission(2, 2, id)}), (std::vector{kStored, kNoStock}));
  ASSERT_TRUE(cancel(admission(1, 1, id)).changed);
  EXPECT_EQ(voucher(id).remaining, 1);
  EXPECT_EQ(persist(admission(2, 2, id)),
            (PersistOutcome{PersistKind::Already, OrderStatus::Rejected, DeadReason::NoStock, false}));
  EXPECT_EQ(voucher(id).remaining, 1);
  EXPECT_EQ(persist(admission(3, 2, id)), kStored) << "a new order of the same user may have the piece";
}

TEST_P(StoreContract, S04_EveryBatchSizeUpToTheLargestIsTaken) {
  const VoucherId id = sell(100000);
  std::int64_t order = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{63}, limits::kReceiveBatchMax}) {
    std::vector<Admission> batch;
    for (std::size_t k = 0; k < size; ++k) {
      ++order;
      batch.push_back(admission(order, order, id));
    }
    EXPECT_EQ(persist(batch), times(size, kStored));
  }
  EXPECT_EQ(totals(id).rows, order);
}

TEST_P(StoreContract, S04_WrongBatchesAreRefusedWhole) {
  const VoucherId id = sell(1000);
  const std::vector<Admission> tooMany(limits::kReceiveBatchMax + 1, admission(1, 1, id));
  const std::vector<std::vector<Admission>> wrongs = {{},
                                                      tooMany,
                                                      {admission(1, 1, id), admission(0, 1, id)},
                                                      {admission(1, 1, id), admission(2, -5, id)},
                                                      {admission(1, 1, id), admission(2, 2, VoucherId())},
                                                      {admission(1, 1, id), admission(2, 2, id, 0)},
                                                      {admission(1, 1, id), admission(2, 2, id, 1001)}};
  for (const auto& wrong : wrongs) {
    const auto answer = store().persist(wrong, now_, payBy_, soon());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::InvalidArgument) << answer.error().text;
  }
  EXPECT_FALSE(hasRow(1));
}

TEST_P(StoreContract, S11_ThreeDifferentBatchesInARowAreStoredExactlyAsSent) {
  const VoucherId id = sell(10000, 3);
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<Admission> admissions;
    for (int k = 1; k <= 40 - 10 * batch; ++k) {
      admissions.push_back(admission(1000 * batch + k, 7000 * (batch + 1) + k, id, 1 + (k + batch) % 3));
    }
    persist(admissions);
    for (const Admission& sent : admissions) {
      const Order stored = row(sent.order.value());
      EXPECT_EQ(stored.user, sent.user);
      EXPECT_EQ(stored.quantity, sent.quantity);
    }
  }
  EXPECT_EQ(totals(id).rows, 40 + 30 + 20);
}

TEST_P(StoreContract, S25_LargestIdsAndOddTimesAreKeptExactly) {
  const VoucherId id =
      store().createVoucher(VoucherId(9223372036854775807), settingsOf(10, 1), soon()).value().id;
  const std::vector<std::int64_t> numbers = {9223372036854775807, 9007199254740993, 4611686018427387905};
  const std::vector<UtcTime> times = {fromMillis(-1), fromMillis(4102444800999), fromMillis(0)};
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    Admission extreme = admission(numbers[k], numbers[k], id);
    extreme.admittedAt = times[k];
    EXPECT_EQ(persist(extreme), kStored);
    const Order stored = row(numbers[k]);
    EXPECT_EQ(stored.id.value(), numbers[k]);
    EXPECT_EQ(stored.user.value(), numbers[k]);
    EXPECT_EQ(stored.voucher, id);
    EXPECT_EQ(stored.admittedAt, times[k]);
  }
}

}  // namespace
}  // namespace sluice::test
