// Order ids: how they are made up, and that they never repeat or run backwards.
#include "sluice/order_id.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

TEST(OrderIdParts, SplitUndoesJoin) {
  const OrderIdParts parts{fromMillis(kOrderIdEpochMs + 123456789), 1023, 4095};
  EXPECT_EQ(splitOrderId(joinOrderId(parts)), parts);
}

TEST(OrderIdParts, TheLastInstantStillGivesAPositiveId) {
  const UtcTime last = fromMillis(kOrderIdEpochMs + (std::int64_t{1} << kOrderIdTimeBits) - 1);
  EXPECT_EQ(joinOrderId({last, 1023, 4095}).value(), INT64_MAX);
}

TEST(OrderIdParts, LaterIdsAreGreater) {
  const UtcTime now = fromMillis(kOrderIdEpochMs + 1000);
  EXPECT_LT(joinOrderId({now, 1023, 4095}), joinOrderId({now + milliseconds(1), 0, 0}));
}

}  // namespace
}  // namespace sluice::test
