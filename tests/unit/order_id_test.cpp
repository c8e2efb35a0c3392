// Order ids: how they are made up, and that they never repeat or run backwards.
#include "sluice/order_id.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "admission/order_id_generator.h"
#include "support/manual_clock.h"

namespace sluice::test {
namespace {

using admission::OrderIdGenerator;

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

ProcessLease leaseFrom(UtcTime since, milliseconds duration, std::int32_t number = 7) {
  return {number, "test", "token", since, since + duration};
}

TEST(OrderIdGenerator, IssuesNothingWithoutALease) {
  OrderIdGenerator ids;
  EXPECT_FALSE(ids.next(ManualClock().now()));
}

TEST(OrderIdGenerator, IdsCarryTimeProcessAndSequence) {
  const ManualClock clock;
  OrderIdGenerator ids;
  ids.grant(leaseFrom(clock.now(), milliseconds(1000)));
  EXPECT_EQ(splitOrderId(*ids.next(clock.now())), (OrderIdParts{clock.now(), 7, 0}));
  EXPECT_EQ(splitOrderId(*ids.next(clock.now())), (OrderIdParts{clock.now(), 7, 1}));
}

TEST(OrderIdGenerator, BeginsAtTheLeaseWhereTheClockIsBehindIt) {
  const ManualClock clock;
  OrderIdGenerator ids;
  ids.grant(leaseFrom(clock.now() + milliseconds(50), milliseconds(1000)));
  EXPECT_EQ(splitOrderId(*ids.next(clock.now())).issuedAt, clock.now() + milliseconds(50));
}

TEST(OrderIdGenerator, IdsRiseWhenTheClockIsSetBack) {
  ManualClock clock;
  OrderIdGenerator ids;
  ids.grant(leaseFrom(clock.now(), milliseconds(1000)));
  clock.advance(milliseconds(100));
  const OrderId before = *ids.next(clock.now());
  clock.setBack(std::chrono::hours(1));
  const OrderId after = *ids.next(clock.now());
  EXPECT_GT(after, before);
  EXPECT_EQ(splitOrderId(after).issuedAt, splitOrderId(before).issuedAt);
}

TEST(OrderIdGenerator, AFullMillisecondRunsOverIntoTheNextButNeverBehindTheLease) {
  const ManualClock clock;
  OrderIdGenerator ids;
  ids.grant(leaseFrom(clock.now(), milliseconds(2)));
  std::vector<OrderId> issued;
  while (const auto id = ids.next(clock.now())) {
    issued.push_back(*id);
  }
  EXPECT_EQ(issued.size(), 2U * 4096U);
  EXPECT_TRUE(std::is_sorted(issued.begin(), issued.end()));
  EXPECT_EQ(splitOrderId(issued.back()).issuedAt, clock.now() + milliseconds(1));
}

TEST(OrderIdGenerator, AnEndedLeaseIssuesNothingUntilItIsExtended) {
  ManualClock clock;
  OrderIdGenerator ids;
  ids.grant(leaseFrom(clock.now(), milliseconds(10)));
  clock.advance(milliseconds(10));
  EXPECT_FALSE(ids.next(clock.now()));
  ids.extend(clock.now() + milliseconds(10));
  EXPECT_TRUE(ids.next(clock.now()));
  ids.revoke();
  EXPECT_FALSE(ids.next(clock.now()));
}

TEST(OrderIdGenerator, TheFloorLiesAboveEveryIdIssued) {
  const ManualClock clock;
  OrderIdGenerator ids;
  ids.grant(leaseFrom(clock.now(), milliseconds(100)));
  for (int k = 0; k < 5000; ++k) {
    const OrderId id = *ids.next(clock.now());
    EXPECT_LT(splitOrderId(id).issuedAt, ids.floor());
  }
}

TEST(OrderIdGenerator, ThreadsNeverGetTheSameId) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 5000;
  OrderIdGenerator ids;
  const UtcTime now = systemClock().now();
  ids.grant(leaseFrom(now, milliseconds(60000)));
  std::vector<std::vector<OrderId>> issued(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<OrderId>& mine : issued) {
    threads.emplace_back([&ids, &mine] {
      for (std::size_t k = 0; k < kEach; ++k) {
        mine.push_back(*ids.next(systemClock().now()));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<OrderId> all;
  for (const std::vector<OrderId>& mine : issued) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), kThreads * kEach);
}

}  // namespace
}  // namespace sluice::test
