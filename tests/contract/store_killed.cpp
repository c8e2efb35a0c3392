// Contract of OrderStore: processes that are killed at any instant, and what a database holds over restarts.
#include <random>
#include <thread>

#include "contract/store_contract.h"
#include "support/forked_child.h"
#include "support/manual_clock.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kBatch = 50;

std::vector<std::int64_t> idsOf(const std::vector<Order>& orders) {
  std::vector<std::int64_t> ids;
  ids.reserve(orders.size());
  for (const Order& order : orders) {
    ids.push_back(order.id.value());
  }
  return ids;
}

TEST_P(StoreContract, S24_KilledAtAnyInstantStockSoldEqualsOrdersStored) {
  const VoucherId one = sell(1'000'000, 3);
  const VoucherId two = sell(1'000'000, 3);
  const auto mixed = [&](std::int64_t first) {
    std::vector<Admission> batch;
    for (std::int64_t k = first; k < first + kBatch; ++k) {
      batch.push_back(admission(k, k, k % 3 == 0 ? two : one, static_cast<std::int32_t>(1 + k % 3)));
    }
    return batch;
  };
  // A batch, then the cancel of its first order; each is told once it is committed.
  const auto sellForEver = [&](std::int64_t next, const TellingChild::Tell& tell) {
    const auto mine = world().make();
    if (!mine->start(soon())) return 1;
    for (;; next += kBatch) {
      const std::vector<Admission> batch = mixed(next);
      if (!mine->persist(batch, now_, payBy_, soon())) return 2;
      tell();
      if (!mine->cancel({batch.front(), DeadReason::ByUser}, now_, soon())) return 3;
      tell();
    }
  };
  SeededRandom chance(testSeed());
  std::int64_t before = 0;
  for (int kill = 0; kill < sized(20, 300); ++kill) {
    closeStore();
    TellingChild child([&](const TellingChild::Tell& tell) { return sellForEver(before + 1, tell); });
    ASSERT_TRUE(child.await(1 + static_cast<int>(chance.next() % 4)));
    std::this_thread::sleep_for(std::chrono::microseconds(chance.next() % 6000));
    const int told = child.kill();
    ASSERT_GE(told, 1) << "the child failed by itself";
    reopenStore();
    expectLaws(store());
    const VoucherTotals first = totals(one);
    const VoucherTotals second = totals(two);
    const std::int64_t rows = first.rows + second.rows;
    const std::int64_t dead = first.unreleasedRows + second.unreleasedRows;
    EXPECT_EQ(rows % kBatch, 0) << "half a batch";
    // Every second thing told is a cancel; at most one thing more may have been done than was told.
    const std::int64_t done = (rows - before) / kBatch + dead;
    EXPECT_GE(done, told);
    EXPECT_LE(done, told + 1);
    const auto owing = store().unreleased(1000, soon());
    for (const Order& order : owing.value()) {
      ASSERT_TRUE(store().markReleased(std::vector{order.id}, now_, soon()));
    }
    before = rows;
  }
}

TEST_P(StoreContract, R4_ADeadRowStaysListedOverAnyRestartUntilItsHoldIsReleased) {
  const VoucherId id = sell(1);
  EXPECT_EQ(persist({admission(1, 1, id), admission(2, 2, id)}), (std::vector{kStored, kNoStock}));
  closeStore();
  TellingChild child([&](const TellingChild::Tell& tell) {
    const auto mine = world().make();
    if (!mine->start(soon())) return 1;
    if (!mine->cancel({admission(1, 1, id), DeadReason::ByUser}, now_, soon())) return 2;
    tell();
    std::this_thread::sleep_for(std::chrono::minutes(10));
    return 3;
  });
  ASSERT_TRUE(child.await(1));
  EXPECT_EQ(child.kill(), 1);
  for (int restart = 0; restart < 3; ++restart) {
    reopenStore();
    EXPECT_THAT(idsOf(store().unreleased(10, soon()).value()), testing::UnorderedElementsAre(1, 2));
    const PersistOutcome again = persist(admission(1, 1, id));
    EXPECT_EQ(again.kind, PersistKind::Already);
    EXPECT_FALSE(again.released) << "fulfilment would settle it without a release";
    closeStore();
  }
  reopenStore();
  ASSERT_TRUE(store().markReleased(std::vector{OrderId(1)}, now_, soon()));
  closeStore();
  reopenStore();
  EXPECT_THAT(idsOf(store().unreleased(10, soon()).value()), ElementsAre(2));
  EXPECT_TRUE(persist(admission(1, 1, id)).released);
  ASSERT_TRUE(store().markReleased(std::vector{OrderId(2)}, now_, soon()));
  EXPECT_THAT(store().unreleased(10, soon()).value(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
