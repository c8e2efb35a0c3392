// Contract of OrderStore: what is kept exactly, what is refused, and nothing in between.
#include <cstdlib>
#include <ctime>

#include "sluice/limits.h"

#include "contract/store_contract.h"
#include "support/forked_child.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr milliseconds kLease = std::chrono::seconds(10);

TEST_P(StoreContract, S10_WhatDoesNotFitIsRefusedAndNothingIsBent) {
  const VoucherId id = sell(10);
  const auto expectRefused = [&](const char* what, const auto& change) {
    VoucherSettings settings = settingsOf(10, 1);
    change(settings);
    EXPECT_EQ(store().createVoucher(VoucherId(), settings, soon()).error().code, ErrorCode::InvalidArgument)
        << what;
    EXPECT_EQ(store().updateVoucher(id, 1, settings, soon()).error().code, ErrorCode::InvalidArgument)
        << what;
  };
  expectRefused("long title", [](auto& s) { s.title = std::string(limits::kTitleBytesMax + 1, 'x'); });
  expectRefused("no title", [](auto& s) { s.title.clear(); });
  expectRefused("end before begin", [](auto& s) { s.end = s.begin - milliseconds(1); });
  expectRefused("begin before 1970", [](auto& s) { s.begin = fromMillis(-1); });
  expectRefused("end after 9999", [](auto& s) { s.end = fromMillis(253402300800000); });
  expectRefused("end beyond all numbers", [](auto& s) { s.end = UtcTime::max(); });
  expectRefused("stock below zero", [](auto& s) { s.allocated = -1; });
  expectRefused("too much stock", [](auto& s) { s.allocated = limits::kAllocatedMax + 1; });
  expectRefused("no limit", [](auto& s) { s.limitPerUser = 0; });
  expectRefused("too high a limit", [](auto& s) { s.limitPerUser = limits::kLimitPerUserMax + 1; });
  for (const Admission& wrong : {admission(1, 1, id, limits::kQuantityMax + 1), admission(1, 1, id, -1),
                                 admission(-1, 1, id), admission(1, 0, id)}) {
    EXPECT_EQ(store().persist({&wrong, 1}, now_, payBy_, soon()).error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(store().cancel({wrong, DeadReason::ByUser}, now_, soon()).error().code,
              ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(store().listVouchers(VoucherId(), 10, soon()).value().size(), 1u);
  EXPECT_EQ(voucher(id).version, 1);
  EXPECT_EQ(totals(id).rows, 0);
}

TEST_P(StoreContract, S25_TheLargestStockLimitAndOrderAreCountedExactly) {
  const VoucherId id = sell(limits::kAllocatedMax, limits::kLimitPerUserMax);
  EXPECT_EQ(voucher(id).remaining, limits::kAllocatedMax);
  constexpr std::int64_t kUser = 9223372036854775807;
  for (int k = 1; k <= 10; ++k) {
    EXPECT_EQ(persist(admission(9223372036854775807 - k, kUser, id, limits::kQuantityMax)), kStored);
  }
  EXPECT_EQ(persist(admission(1, kUser, id, 1)), kOverLimit);
  EXPECT_EQ(voucher(id).remaining, limits::kAllocatedMax - 10 * std::int64_t{limits::kQuantityMax});
  EXPECT_EQ(totals(id).livePieces, 10 * std::int64_t{limits::kQuantityMax});
  const auto last =
      store().listOrders(id, UserId(kUser), std::nullopt, OrderId(9223372036854775807 - 2), 10, soon());
  ASSERT_EQ(last.value().size(), 1u);
  EXPECT_EQ(last.value().front().id, OrderId(9223372036854775806));
}

TEST_P(StoreContract, S26_NamesThatDifferInCaseOrABlankAreDifferentAndWhatIsNoTextIsRefused) {
  for (const std::string& name : {std::string("abc"), std::string("ABC"), std::string("abc "),
                                  std::string("':name ? $1 \\ -- 碗 \xF0\x9F\x8D\x9C")}) {
    const auto lease = store().leaseProcess(name, kLease, now_, soon());
    ASSERT_TRUE(lease) << lease.error().text;
    EXPECT_EQ(store().listProcesses(soon()).value().back().name, name);
  }
  for (const std::string& wrong : {std::string("a\0b", 3), std::string("cut \xC3"), std::string("\xFF"),
                                   std::string("\xED\xA0\x80"), std::string("a\nb"), std::string()}) {
    EXPECT_EQ(store().leaseProcess(wrong, kLease, now_, soon()).error().code, ErrorCode::InvalidArgument);
    VoucherSettings settings = settingsOf(1, 1);
    settings.title = wrong;
    EXPECT_EQ(store().createVoucher(VoucherId(), settings, soon()).error().code, ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(store().listProcesses(soon()).value().size(), 4u);
  EXPECT_THAT(store().listVouchers(VoucherId(), 10, soon()).value(), IsEmpty());
}

// Instants that programs get wrong: before 1970, the hour that New York skips and the one it has twice, after
// 2038, and each with odd milliseconds.
constexpr std::int64_t kInstants[] = {
    -123456789001,  -1, 0, 1772953199999, 1772953200001, 1793511000123, 2147483647999, 2147483648001,
    253402300799999};

TEST_P(StoreContract, S27_TimesAreKeptToTheMillisecondWhateverTheZone) {
  const VoucherId id = sell(100, 100);
  const std::vector<std::string> zones = {"America/New_York", "Asia/Kathmandu", "XYZ+13:37:11", ""};
  const auto orderOf = [](std::size_t zone, std::size_t instant) {
    return static_cast<std::int64_t>(1 + zone * std::size(kInstants) + instant);
  };
  // Leaves a row for each instant, and checks that it reads it back as it was.
  const auto write = [&](std::size_t zone) {
    ::setenv("TZ", zones[zone].c_str(), 1);
    ::tzset();
    const auto mine = world().make();
    if (!mine->start(soon())) return 1;
    for (std::size_t k = 0; k < std::size(kInstants); ++k) {
      const UtcTime at = fromMillis(kInstants[k]);
      Admission wanted = admission(orderOf(zone, k), 1 + static_cast<std::int64_t>(zone), id);
      wanted.admittedAt = at;
      if (!mine->persist({&wanted, 1}, at, at + milliseconds(1), soon())) return 2;
      const auto found = mine->findOrder(wanted.order, soon());
      if (!found || found.value()->admittedAt != at || found.value()->storedAt != at) return 3;
    }
    return 0;
  };
  closeStore();
  for (std::size_t zone = 0; zone < zones.size(); ++zone) {
    EXPECT_THAT(inProcesses(1, [&](int) { return write(zone); }), ElementsAre(0)) << zones[zone];
  }
  reopenStore();
  for (std::size_t zone = 0; zone < zones.size(); ++zone) {
    for (std::size_t k = 0; k < std::size(kInstants); ++k) {
      const Order kept = row(orderOf(zone, k));
      const UtcTime at = fromMillis(kInstants[k]);
      EXPECT_EQ(toMillis(kept.admittedAt), toMillis(at)) << zones[zone];
      EXPECT_EQ(toMillis(kept.storedAt), toMillis(at)) << zones[zone];
      EXPECT_EQ(toMillis(kept.updatedAt), toMillis(at)) << zones[zone];
      EXPECT_EQ(kept.payBy, at + milliseconds(1)) << zones[zone];
    }
  }
}

TEST_P(StoreContract, S15_CountsAndChangesAreTheTruthAlsoWhereNothingChanges) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(10);
  persist(batchOf(1, 6, id));
  ASSERT_TRUE(store().pay(OrderId(1), now_, soon()).value().changed);
  EXPECT_FALSE(store().pay(OrderId(1), now_, soon()).value().changed)
      << "the same again, at the same instant";
  ASSERT_TRUE(store().updateVoucher(id, 1, voucher(id).settings, soon())) << "the same settings";
  EXPECT_EQ(voucher(id).version, 2);
  EXPECT_EQ(store().expire(payBy_, 2, soon()).value(), 2u);
  EXPECT_EQ(powers().number("SELECT COUNT(*) FROM orders WHERE status = 4"), 2);
  EXPECT_EQ(store().expire(payBy_, 100, soon()).value(), 3u);
  EXPECT_EQ(store().expire(payBy_, 100, soon()).value(), 0u);
  EXPECT_EQ(powers().number("SELECT COUNT(*) FROM orders WHERE status = 4 AND reason = 4"), 5);
  ASSERT_TRUE(store().markReleased(std::vector{OrderId(2), OrderId(2), OrderId(77)}, now_, soon()));
  ASSERT_TRUE(store().markReleased(std::vector{OrderId(2)}, now_, soon())) << "the same again";
  const VoucherTotals sums = totals(id);
  EXPECT_EQ(sums.rows, powers().number("SELECT COUNT(*) FROM orders"));
  EXPECT_EQ(sums.unreleasedRows, powers().number("SELECT COUNT(*) FROM orders WHERE status >= 3 AND "
                                                 "released_at IS NULL"));
  EXPECT_EQ(sums.unreleasedRows, 4);
  EXPECT_EQ(sums.livePieces, 1);
  EXPECT_EQ(powers().number("SELECT remaining FROM vouchers"), 9);
}

}  // namespace
}  // namespace sluice::test
