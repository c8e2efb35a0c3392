// Contract of OrderStore, third part: vouchers, who may order, pages and totals.
#include "sluice/limits.h"

#include "contract/store_contract.h"

namespace sluice::test {
namespace {

using std::chrono::minutes;
using testing::IsEmpty;
using testing::SizeIs;

TEST_P(StoreContract, AVoucherIsKeptAsItWasSet) {
  VoucherSettings settings = settingsOf(123456789012, 7);
  settings.state = VoucherState::Paused;
  settings.eligibleOnly = true;
  const Voucher made = store().createVoucher(VoucherId(70), settings, soon()).value();
  EXPECT_EQ(made.id, VoucherId(70));
  EXPECT_EQ(made.version, 1);
  EXPECT_EQ(made.remaining, 123456789012);
  const Voucher found = voucher(VoucherId(70));
  EXPECT_EQ(found.settings.title, settings.title);
  EXPECT_EQ(found.settings.begin, settings.begin);
  EXPECT_EQ(found.settings.end, settings.end);
  EXPECT_EQ(found.settings.limitPerUser, 7);
  EXPECT_EQ(found.settings.allocated, 123456789012);
  EXPECT_EQ(found.settings.state, VoucherState::Paused);
  EXPECT_TRUE(found.settings.eligibleOnly);
  EXPECT_EQ(found.version, 1);
  EXPECT_EQ(found.remaining, 123456789012);
}

TEST_P(StoreContract, ANewVoucherTakesTheNextIdAndNeverAnothersPlace) {
  EXPECT_EQ(sell(1), VoucherId(1));
  ASSERT_TRUE(store().createVoucher(VoucherId(70), settingsOf(1, 1), soon()));
  EXPECT_EQ(sell(1), VoucherId(71));
  EXPECT_EQ(store().createVoucher(VoucherId(70), settingsOf(5, 1), soon()).error().code, ErrorCode::Conflict);
  EXPECT_EQ(voucher(VoucherId(70)).settings.allocated, 1);
  EXPECT_EQ(store().findVoucher(VoucherId(2), soon()).value(), std::nullopt);
}

TEST_P(StoreContract, S10_UnsoundSettingsAreRefusedNotBent) {
  VoucherSettings wrong = settingsOf(-1, 0);
  wrong.title = std::string("cut\0here", 8);
  EXPECT_EQ(store().createVoucher(VoucherId(), wrong, soon()).error().code, ErrorCode::InvalidArgument);
  wrong = settingsOf(1, 1);
  wrong.title = "broken \xC3";
  EXPECT_EQ(store().createVoucher(VoucherId(), wrong, soon()).error().code, ErrorCode::InvalidArgument);
  wrong.title = std::string(limits::kTitleBytesMax + 1, 'x');
  EXPECT_EQ(store().createVoucher(VoucherId(), wrong, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(store().createVoucher(VoucherId(-3), settingsOf(1, 1), soon()).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_THAT(store().listVouchers(VoucherId(), 10, soon()).value(), IsEmpty());
}

TEST_P(StoreContract, S26_TextIsKeptToTheByte) {
  const std::vector<std::string> titles = {"四人晚餐 🍜 \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x8D\xB3",
                                           "'; DROP TABLE orders; --",
                                           "\"quoted\" \\ :name ? $1 %s",
                                           "trailing blank ",
                                           "Trailing Blank ",
                                           std::string(limits::kTitleBytesMax, 'x')};
  for (const std::string& title : titles) {
    VoucherSettings settings = settingsOf(1, 1);
    settings.title = title;
    const VoucherId id = store().createVoucher(VoucherId(), settings, soon()).value().id;
    EXPECT_EQ(voucher(id).settings.title, title);
    ASSERT_TRUE(store().updateVoucher(id, 1, settings, soon()));
    EXPECT_EQ(voucher(id).settings.title, title);
  }
}

TEST_P(StoreContract, AnUpdateNeedsTheVersionItWasMadeFrom) {
  const VoucherId id = sell(10);
  VoucherSettings settings = settingsOf(10, 2);
  settings.state = VoucherState::Closed;
  EXPECT_EQ(store().updateVoucher(id, 1, settings, soon()).value().version, 2);
  EXPECT_EQ(store().updateVoucher(id, 1, settingsOf(99, 9), soon()).error().code, ErrorCode::Conflict);
  EXPECT_EQ(store().updateVoucher(VoucherId(99), 1, settings, soon()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store().updateVoucher(id, 2, settingsOf(-1, 1), soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(voucher(id).version, 2);
  EXPECT_EQ(voucher(id).settings.state, VoucherState::Closed);
  EXPECT_EQ(voucher(id).settings.limitPerUser, 2);
}

TEST_P(StoreContract, RemainingMovesWithTheAllocationAndNeverBelowWhatIsSold) {
  const VoucherId id = sell(10);
  persist({admission(1, 1, id), admission(2, 2, id), admission(3, 3, id)});
  EXPECT_EQ(store().updateVoucher(id, 1, settingsOf(15, 1), soon()).value().remaining, 12);
  EXPECT_EQ(store().updateVoucher(id, 2, settingsOf(2, 1), soon()).error().code, ErrorCode::Conflict);
  EXPECT_EQ(store().updateVoucher(id, 2, settingsOf(3, 1), soon()).value().remaining, 0);
  EXPECT_EQ(persist(admission(4, 4, id)), kNoStock);
}

TEST_P(StoreContract, ALoweredLimitShowsWhoIsAboveIt) {
  const VoucherId id = sell(10, 3);
  persist({admission(1, 1, id, 2), admission(2, 1, id), admission(3, 2, id)});
  ASSERT_TRUE(store().updateVoucher(id, 1, settingsOf(10, 1), soon()));
  EXPECT_EQ(totals(id).usersOverLimit, 1);
  EXPECT_EQ(persist(admission(4, 1, id)), kOverLimit);
  ASSERT_TRUE(cancel(admission(1, 1, id, 2)).changed);
  EXPECT_EQ(totals(id).usersOverLimit, 0);
}

TEST_P(StoreContract, UsersAboveTheLimitAreCountedWhetherByOneOrderOrBySeveral) {
  const VoucherId bySeveral = sell(20, 6);
  const VoucherId byOne = sell(20, 6);
  const VoucherId byNone = sell(20, 6);
  persist({admission(1, 1, bySeveral, 2), admission(2, 1, bySeveral, 2), admission(3, 2, bySeveral, 2),
           admission(4, 3, bySeveral, 1), admission(5, 3, bySeveral, 2), admission(6, 1, byOne, 3),
           admission(7, 2, byOne, 1), admission(8, 3, byOne, 1), admission(9, 3, byOne, 1),
           admission(10, 3, byOne, 1), admission(11, 1, byNone, 1), admission(12, 1, byNone, 1)});
  for (const VoucherId id : {bySeveral, byOne, byNone}) {
    ASSERT_TRUE(store().updateVoucher(id, 1, settingsOf(20, 2), soon()));
  }
  EXPECT_EQ(totals(bySeveral).usersOverLimit, 2);
  EXPECT_EQ(totals(byOne).usersOverLimit, 2);
  EXPECT_EQ(totals(byNone).usersOverLimit, 0);
}

TEST_P(StoreContract, VouchersArePagedById) {
  for (int k = 0; k < 5; ++k) {
    sell(k + 1);
  }
  std::vector<std::int64_t> seen;
  for (VoucherId after;;) {
    const auto page = store().listVouchers(after, 2, soon()).value();
    if (page.empty()) break;
    EXPECT_THAT(page, SizeIs(testing::Le(2u)));
    for (const Voucher& voucher : page) {
      seen.push_back(voucher.id.value());
    }
    after = page.back().id;
  }
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST_P(StoreContract, EligibleUsersAreASet) {
  const VoucherId id = sell(1);
  const VoucherId other = sell(1);
  std::vector<UserId> many;
  for (int k = 2500; k >= 1; --k) {
    many.emplace_back(2 * k);
  }
  many.emplace_back(4);
  ASSERT_TRUE(store().addEligible(id, many, soon()));
  const std::vector<UserId> more = {UserId(4), UserId(3), UserId(9223372036854775807)};
  ASSERT_TRUE(store().addEligible(id, more, soon()));
  ASSERT_TRUE(store().addEligible(id, {}, soon()));
  std::vector<UserId> seen;
  for (UserId after;;) {
    const auto page = store().listEligible(id, after, 1000, soon()).value();
    if (page.empty()) break;
    seen.insert(seen.end(), page.begin(), page.end());
    after = page.back();
  }
  EXPECT_THAT(seen, SizeIs(2502));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), UserId(9223372036854775807));
  EXPECT_THAT(store().listEligible(other, UserId(), 10, soon()).value(), IsEmpty());
  EXPECT_EQ(store().addEligible(VoucherId(99), more, soon()).error().code, ErrorCode::NotFound);
  const std::vector<UserId> wrong = {UserId(0)};
  EXPECT_EQ(store().addEligible(id, wrong, soon()).error().code, ErrorCode::InvalidArgument);
}

// Orders 1..60: user 1 + k % 6 of one voucher, every third paid; and some of another voucher in between.
std::vector<std::int64_t> idsOf(const std::vector<Order>& orders) {
  std::vector<std::int64_t> ids;
  ids.reserve(orders.size());
  for (const Order& order : orders) {
    ids.push_back(order.id.value());
  }
  return ids;
}

TEST_P(StoreContract, OrdersArePagedByIdForVoucherUserAndStatus) {
  const VoucherId id = sell(1000, 100);
  const VoucherId other = sell(1000, 100);
  std::vector<Admission> batch;
  for (int k = 1; k <= 60; ++k) {
    batch.push_back(admission(10 * k, 1 + k % 6, id));
    batch.push_back(admission(10 * k + 5, 1 + k % 6, other));
  }
  persist(batch);
  for (int k = 3; k <= 60; k += 3) {
    ASSERT_TRUE(store().pay(OrderId(10 * k), now_, soon()).value().changed);
  }
  const auto all = [&](UserId user, std::optional<OrderStatus> status) {
    std::vector<std::int64_t> seen;
    for (OrderId after;;) {
      const auto page = idsOf(store().listOrders(id, user, status, after, 7, soon()).value());
      if (page.empty()) return seen;
      seen.insert(seen.end(), page.begin(), page.end());
      after = OrderId(page.back());
    }
  };
  const auto expected = [](auto&& wanted) {
    std::vector<std::int64_t> ids;
    for (int k = 1; k <= 60; ++k) {
      if (wanted(k)) ids.push_back(10 * k);
    }
    return ids;
  };
  EXPECT_EQ(all(UserId(), std::nullopt), expected([](int) { return true; }));
  EXPECT_EQ(all(UserId(3), std::nullopt), expected([](int k) { return k % 6 == 2; }));
  EXPECT_EQ(all(UserId(), OrderStatus::Paid), expected([](int k) { return k % 3 == 0; }));
  EXPECT_EQ(all(UserId(4), OrderStatus::Paid), expected([](int k) { return k % 6 == 3; }));
  EXPECT_THAT(all(UserId(4), OrderStatus::PendingPayment), IsEmpty());
  EXPECT_THAT(all(UserId(77), std::nullopt), IsEmpty());
}

TEST_P(StoreContract, SeveralOrdersAreFoundAtOnce) {
  const VoucherId id = sell(10);
  persist({admission(1, 1, id), admission(2, 2, id), admission(3, 3, id)});
  const std::vector<OrderId> asked = {OrderId(3), OrderId(99), OrderId(1), OrderId(3)};
  auto found = idsOf(store().findOrders(asked, soon()).value());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::int64_t>{1, 3}));
  EXPECT_THAT(store().findOrders({}, soon()).value(), IsEmpty());
  EXPECT_EQ(store().findOrder(OrderId(99), soon()).value(), std::nullopt);
}

TEST_P(StoreContract, RecentOrdersAreThoseChangedShortlyBeforeTheNewestChange) {
  EXPECT_THAT(store().recentOrders(minutes(5), {}, 100, soon()).value(), IsEmpty());
  const VoucherId id = sell(100);
  for (int k = 1; k <= 10; ++k) {
    persist(admission(k, k, id));
    now_ += minutes(1);
  }
  const UtcTime newest = now_ - minutes(1);  // when order 10 was stored
  ASSERT_TRUE(store().pay(OrderId(2), newest, soon()).value().changed);
  const auto recent = [&](ChangePoint after, std::size_t max) {
    return idsOf(store().recentOrders(minutes(3), after, max, soon()).value());
  };
  EXPECT_EQ(recent({}, 100), (std::vector<std::int64_t>{7, 8, 9, 2, 10}));
  EXPECT_EQ(recent({newest - minutes(3), OrderId(7)}, 2), (std::vector<std::int64_t>{8, 9}));
  EXPECT_EQ(recent({newest - minutes(1), OrderId(9)}, 2), (std::vector<std::int64_t>{2, 10}));
  EXPECT_EQ(recent({newest - minutes(1), OrderId(9)}, 1), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(recent({newest, OrderId(2)}, 2), (std::vector<std::int64_t>{10}));
  EXPECT_THAT(recent({newest, OrderId(10)}, 2), IsEmpty());
}

TEST_P(StoreContract, S15_TotalsSumUpEachVoucher) {
  const VoucherId id = sell(5, 3);
  const VoucherId empty = sell(7);
  persist({admission(1, 1, id, 3), admission(2, 2, id, 2), admission(3, 3, id, 1)});
  ASSERT_TRUE(cancel(admission(2, 2, id, 2)).changed);
  const auto page = store().totals(VoucherId(), 10, soon()).value();
  ASSERT_THAT(page, SizeIs(2));
  EXPECT_EQ(page[0].voucher.id, id);
  EXPECT_EQ(page[0].voucher.remaining, 2);
  EXPECT_EQ(page[0].livePieces, 3);
  EXPECT_EQ(page[0].rows, 3);
  EXPECT_EQ(page[0].unreleasedRows, 2);
  EXPECT_EQ(page[0].usersOverLimit, 0);
  EXPECT_EQ(page[1].voucher.id, empty);
  EXPECT_EQ(page[1].rows, 0);
  EXPECT_EQ(page[1].livePieces, 0);
  EXPECT_THAT(store().totals(empty, 10, soon()).value(), IsEmpty());
  EXPECT_THAT(store().totals(VoucherId(), 1, soon()).value(), SizeIs(1));
}

TEST_P(StoreContract, PagesAboveTheLimitAreRefused) {
  const std::size_t max = limits::kPageMax + 1;
  EXPECT_EQ(store().listVouchers(VoucherId(), max, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(store().listEligible(VoucherId(1), UserId(), max, soon()).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(store().listOrders(VoucherId(1), UserId(), std::nullopt, OrderId(), max, soon()).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(store().recentOrders(minutes(1), {}, max, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(store().unreleased(max, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(store().expire(now_, max, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(store().totals(VoucherId(), max, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(store().findOrders(std::vector<OrderId>(max, OrderId(1)), soon()).error().code,
            ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace sluice::test
