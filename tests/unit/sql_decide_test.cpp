// The decision of a batch in memory: which place a new order takes. (What it decides is proved by the
// contract of the stores.)
#include <gtest/gtest.h>

#include "decide.h"

namespace sluice::sql {
namespace {

const VoucherId kVoucher(7);
const UserId kUser(5);

std::vector<std::int32_t> slotsOf(const BatchDecision& decision) {
  std::vector<std::int32_t> slots;
  slots.reserve(decision.rows.size());
  for (const NewRow& row : decision.rows) {
    slots.push_back(row.slot);
  }
  return slots;
}

TEST(Decide, ANewOrderTakesTheSmallestFreePlaceOfItsUser) {
  BatchFacts facts;
  facts.vouchers[kVoucher] = {6, 100};
  facts.holdings[{kVoucher, kUser}] = {2, {2, 4}};
  std::vector<Admission> admissions;
  for (int k = 1; k <= 5; ++k) {
    admissions.push_back({OrderId(k), kUser, kVoucher, 1, UtcTime()});
  }
  const BatchDecision decision = decideBatch(admissions, facts);
  EXPECT_EQ(slotsOf(decision), (std::vector<std::int32_t>{1, 3, 5, 6, 0})) << "the fifth is above the limit";
  EXPECT_EQ(decision.taken.at(kVoucher), 4);
}

TEST(Decide, RowsAppearOnceAndPointIntoTheBatch) {
  BatchFacts facts;
  facts.vouchers[kVoucher] = {1, 1};
  const Admission admission{OrderId(1), kUser, kVoucher, 1, UtcTime()};
  const std::vector<Admission> admissions = {
      admission, admission, {OrderId(2), UserId(6), kVoucher, 1, UtcTime()}};
  const BatchDecision decision = decideBatch(admissions, facts);
  ASSERT_EQ(decision.rows.size(), 2u);
  EXPECT_EQ(decision.rows[0].admission, &admissions[0]);
  EXPECT_EQ(decision.rows[1].admission, &admissions[2]);
  EXPECT_EQ(decision.rows[1].reason, DeadReason::NoStock);
}

}  // namespace
}  // namespace sluice::sql
