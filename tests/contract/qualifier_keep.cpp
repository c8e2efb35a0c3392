// Contract of Qualifier, second part: release, load, sync, restore, and the reads.
#include <algorithm>
#include <atomic>
#include <limits>
#include <set>

#include "sluice/limits.h"

#include "contract/qualifier_contract.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(QualifierContract, V08_AReleaseGivesStockBackOnce) {
  load(voucherOf(1));
  ASSERT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  EXPECT_THAT(release({admission(1, 1)}), ElementsAre(ReleaseOutcome::Released));
  EXPECT_THAT(release({admission(1, 1), admission(2, 1)}),
              ElementsAre(ReleaseOutcome::Absent, ReleaseOutcome::Absent));
  EXPECT_EQ(snapshot().stock, 1);
  EXPECT_EQ(text(decideOne(request(3, 2))), "admitted 3 fresh") << "what came back is sold again";
  expectConserved();
}

TEST_P(QualifierContract, V08_AReleaseTakesOneOfSeveralHoldsWhereverItStands) {
  load(voucherOf(100, 50));
  decide({request(11, 1, 2), request(1, 1, 3), request(111, 1, 4), request(2, 2, 5)});
  EXPECT_THAT(release({admission(1, 1), admission(1, 1)}),
              ElementsAre(ReleaseOutcome::Released, ReleaseOutcome::Absent));
  EXPECT_THAT(holdsOf(1), ElementsAre(Hold{UserId(1), OrderId(11), 2}, Hold{UserId(1), OrderId(111), 4}));
  EXPECT_THAT(release({admission(111, 1)}), ElementsAre(ReleaseOutcome::Released));
  EXPECT_THAT(holdsOf(1), ElementsAre(Hold{UserId(1), OrderId(11), 2}));
  EXPECT_THAT(release({admission(11, 1), admission(2, 2)}),
              ElementsAre(ReleaseOutcome::Released, ReleaseOutcome::Released));
  EXPECT_EQ(snapshot().stock, 100);
  expectConserved();
}

TEST_P(QualifierContract, V08_AReleaseNamesTheUserAndTheVoucher) {
  load(voucherOf(10));
  decide({request(1, 1)});
  Admission elsewhere = admission(1, 1);
  elsewhere.voucher = VoucherId(99);
  EXPECT_THAT(release({elsewhere, admission(1, 2), admission(1, 1)}),
              ElementsAre(ReleaseOutcome::NotLoaded, ReleaseOutcome::Absent, ReleaseOutcome::Released));
}

TEST_P(QualifierContract, V05_V08_WhatIsTakenBackLeavesNeitherHoldNorKey) {
  load(voucherOf(10, 2));
  const std::string_view key = "one-question-asked-twice";
  const std::vector<QualifyRequest> first = {request(1, 1, 1, key), request(2, 2)};
  decide(first);
  ASSERT_EQ(text(decideOne(request(3, 1, 1, key))), "admitted 1");
  ASSERT_TRUE(asked().takeBack(kVoucher, first, soon()));
  EXPECT_EQ(snapshot().stock, 10);
  EXPECT_EQ(text(decideOne(request(4, 1, 1, key))), "admitted 4 fresh") << "the question is new";
  ASSERT_TRUE(asked().takeBack(kVoucher, first, soon()));
  EXPECT_EQ(text(decideOne(request(5, 1, 1, key))), "admitted 4") << "repeated, it spares later answers";
  EXPECT_EQ(snapshot().stock, 9);
  expectConserved();
  EXPECT_TRUE(asked().takeBack(VoucherId(99), first, soon())) << "nothing of it is there";
}

TEST_P(QualifierContract, V08_AReleaseOfManyOrdersGoesInSeveralCalls) {
  load(voucherOf(1000));
  std::vector<Admission> dead;
  for (std::int64_t k = 1; k <= 200; ++k) {
    dead.push_back(admission(k, k));
    if (k % 50 != 0) continue;
    std::vector<QualifyRequest> requests;
    for (std::int64_t user = k - 49; user <= k; ++user) {
      requests.push_back(request(user, user));
    }
    decide(requests);
  }
  EXPECT_EQ(snapshot().held, 200);
  const auto outcomes = release(dead);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), ReleaseOutcome::Released), 200);
  EXPECT_EQ(snapshot().held, 0);
}

TEST_P(QualifierContract, V09_ALoadTakesTheHoldsOfLiveOrders) {
  load(voucherOf(10, 3), {liveOrder(1, 1), liveOrder(2, 1, 2), liveOrder(3, 2)}, {UserId(5)});
  const VoucherSnapshot seen = snapshot();
  EXPECT_TRUE(seen.loaded);
  EXPECT_EQ(seen.version, 1);
  EXPECT_EQ(seen.allocated, 10);
  EXPECT_EQ(seen.stock, 6);
  EXPECT_EQ(seen.held, 4);
  EXPECT_EQ(seen.holders, 2);
  EXPECT_EQ(seen.state, VoucherState::OnSale);
  EXPECT_THAT(holdsOf(1), ElementsAre(Hold{UserId(1), OrderId(1), 1}, Hold{UserId(1), OrderId(2), 2}));
  EXPECT_THAT(texts(decide({request(9, 1), request(2, 1, 2), request(10, 3)})),
              ElementsAre("already_ordered 2", "admitted 2", "admitted 10 fresh"));
  expectConserved();
}

TEST_P(QualifierContract, V09_ALoadOfManyOrdersComesInPages) {
  std::int64_t next = 1;
  VoucherLoad many;
  many.voucher = voucherOf(100'000, 10);
  many.nextLiveOrders = [&]() -> Result<std::vector<Order>> {
    std::vector<Order> page;
    for (; next <= 3000 && page.size() < 700; ++next) {
      page.push_back(liveOrder(next, 1 + next % 1000));
    }
    return page;
  };
  std::int64_t user = 1;
  many.nextEligible = [&]() -> Result<std::vector<UserId>> {
    std::vector<UserId> page;
    for (; user <= 2500 && page.size() < limits::kPageMax; ++user) {
      page.emplace_back(user);
    }
    return page;
  };
  ASSERT_EQ(asked().load(many, soon()).value(), LoadOutcome::Loaded);
  EXPECT_EQ(snapshot().held, 3000);
  EXPECT_EQ(snapshot().holders, 1000);
  EXPECT_EQ(holdsOf(7).size(), 3U);
  expectConserved();
}

TEST_P(QualifierContract, V09_ALoadThatFailsHalfWayLeavesNothing) {
  VoucherLoad failing;
  failing.voucher = voucherOf(10);
  bool first = true;
  failing.nextLiveOrders = [&]() -> Result<std::vector<Order>> {
    if (!std::exchange(first, false)) return {ErrorCode::Unavailable, "the store is away"};
    return std::vector<Order>{liveOrder(1, 1)};
  };
  EXPECT_EQ(asked().load(failing, soon()).error().code, ErrorCode::Unavailable);
  EXPECT_FALSE(snapshot().loaded);
  load(voucherOf(10));
}

TEST_P(QualifierContract, V09_ALoadRefusesOrdersThatAreNotLiveAndMorePiecesThanThereAre) {
  Order dead = liveOrder(1, 1);
  dead.status = OrderStatus::Cancelled;
  EXPECT_EQ(tryLoad(voucherOf(10), {dead}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(tryLoad(voucherOf(1), {liveOrder(1, 1), liveOrder(2, 2)}).error().code, ErrorCode::Conflict);
  Voucher unsound = voucherOf(10);
  unsound.settings.limitPerUser = 0;
  EXPECT_EQ(tryLoad(unsound).error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(snapshot().loaded);
}

TEST_P(QualifierContract, V10_ASyncMovesTheStockByTheChangeOfWhatIsAllocated) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  decide({request(1, 1), request(2, 2), request(3, 3)});
  const auto sync = [&](std::int64_t version, std::int64_t allocated) {
    voucher.version = version;
    voucher.settings.allocated = allocated;
    return asked().sync(voucher, soon()).value();
  };
  EXPECT_EQ(sync(2, 15), SyncOutcome::Applied);
  EXPECT_EQ(snapshot().stock, 12);
  EXPECT_EQ(sync(2, 20), SyncOutcome::NotNewer);
  EXPECT_EQ(sync(1, 20), SyncOutcome::NotNewer);
  EXPECT_EQ(snapshot().stock, 12);
  EXPECT_EQ(sync(3, 2), SyncOutcome::StockTooLow);
  EXPECT_EQ(snapshot().version, 2);
  EXPECT_EQ(sync(4, 3), SyncOutcome::Applied);
  EXPECT_EQ(snapshot().stock, 0);
  EXPECT_EQ(text(decideOne(request(4, 4))), "sold_out");
  expectConserved();
  voucher.id = VoucherId(99);
  EXPECT_EQ(sync(9, 10), SyncOutcome::NotLoaded);
}

TEST_P(QualifierContract, V10_ASyncBringsEverySetting) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  voucher.version = 2;
  voucher.settings.limitPerUser = 2;
  voucher.settings.eligibleOnly = true;
  voucher.settings.begin -= std::chrono::hours(5);
  voucher.settings.end -= milliseconds(1);
  ASSERT_EQ(asked().sync(voucher, soon()).value(), SyncOutcome::Applied);
  EXPECT_EQ(text(decideOne(request(1, 1))), "not_eligible");
  const std::vector<UserId> users = {UserId(1)};
  ASSERT_TRUE(asked().addEligible(kVoucher, users, soon()));
  EXPECT_EQ(text(decideOne(request(2, 1, 2))), "admitted 2 fresh");
  EXPECT_EQ(text(decideAt(voucher.settings.end, {request(3, 2)}).at(0)), "ended");
  EXPECT_EQ(text(decideAt(voucher.settings.begin, {request(4, 2)}).at(0)), "not_eligible") << "begun";
}

TEST_P(QualifierContract, V16_ARestoreReCreatesOnlyWhatIsMissing) {
  load(voucherOf(10, 3));
  decide({request(1, 1), request(2, 2)});
  Order elsewhere = liveOrder(9, 9);
  elsewhere.voucher = VoucherId(99);
  EXPECT_EQ(restore({liveOrder(1, 1), liveOrder(3, 1, 2), elsewhere, liveOrder(4, 4), liveOrder(4, 4)}), 2U);
  EXPECT_THAT(holdsOf(1), ElementsAre(Hold{UserId(1), OrderId(1), 1}, Hold{UserId(1), OrderId(3), 2}));
  EXPECT_EQ(snapshot().stock, 5);
  EXPECT_EQ(snapshot().held, 5);
  EXPECT_EQ(restore({liveOrder(1, 1), liveOrder(3, 1, 2), liveOrder(4, 4)}), 0U);
  expectConserved();
}

TEST_P(QualifierContract, V16_ARestoreNeverTakesMoreThanIsLeft) {
  load(voucherOf(2, 2));
  decide({request(1, 1)});
  EXPECT_EQ(restore({liveOrder(2, 2, 2), liveOrder(3, 3)}), 1U);
  EXPECT_EQ(snapshot().stock, 0);
  EXPECT_THAT(holdsOf(2), IsEmpty());
  expectConserved();
}

TEST_P(QualifierContract, V17_ScansAllHoldsPageByPage) {
  std::vector<Order> orders;
  for (std::int64_t k = 1; k <= 2000; ++k) {
    orders.push_back(liveOrder(k, 1 + k / 2));
  }
  load(voucherOf(5000, 5), orders);
  std::string cursor = "0";
  std::set<std::int64_t> found;
  int pages = 0;
  do {
    const auto page = asked().scanHolds(kVoucher, cursor, soon());
    ASSERT_TRUE(page) << page.error().text;
    EXPECT_LE(page.value().size(), limits::kPageMax);
    for (const Hold& hold : page.value()) {
      found.insert(hold.order.value());
    }
    ++pages;
  } while (cursor != "0");
  EXPECT_EQ(found.size(), 2000U);
  EXPECT_GT(pages, 2);
  cursor = "wrong";
  EXPECT_EQ(asked().scanHolds(kVoucher, cursor, soon()).error().code, ErrorCode::InvalidArgument);
}

TEST_P(QualifierContract, V17_ReadsAndSettlesTheJournalInOrder) {
  load(voucherOf(10));
  decide({request(1, 1), request(2, 2), request(3, 3)});
  const auto first = asked().readJournal({}, 2, soon());
  ASSERT_EQ(first.value().size(), 2U);
  const auto rest = asked().readJournal(first.value().back().id, 10, soon());
  ASSERT_EQ(rest.value().size(), 1U);
  EXPECT_EQ(rest.value()[0].admission.value().order, OrderId(3));
  EXPECT_THAT(asked().readJournal(rest.value()[0].id, 10, soon()).value(), IsEmpty());
  const std::vector<JournalId> ids = {first.value()[0].id, first.value()[1].id, {1, 1}};
  EXPECT_EQ(asked().settleJournal(ids, soon()).value(), 2U);
  EXPECT_EQ(asked().settleJournal(ids, soon()).value(), 0U);
  EXPECT_EQ(asked().probe(soon()).value().journalDepth, 1);
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(asked().readJournal({kLast, kLast}, 1, soon()).value(), IsEmpty());
}

TEST_P(QualifierContract, V17_AVoucherThatIsNotLoadedReadsAsEmpty) {
  EXPECT_FALSE(snapshot().loaded);
  EXPECT_THAT(holdsOf(1), IsEmpty());
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_P(QualifierContract, V08_OfManyWhoReleaseTheSameOrdersEachHoldCountsOnce) {
  constexpr std::int64_t kOrders = 60;
  load(voucherOf(kOrders));
  std::vector<QualifyRequest> requests;
  std::vector<Admission> dead;
  for (std::int64_t k = 1; k <= kOrders; ++k) {
    requests.push_back(request(k, k));
    dead.push_back(admission(k, k));
  }
  decide(requests);
  std::atomic<std::int64_t> released{0};
  inThreads(4, [&](int) {
    for (const ReleaseOutcome outcome : release(dead)) {
      released += outcome == ReleaseOutcome::Released ? 1 : 0;
    }
  });
  EXPECT_EQ(released, kOrders);
  EXPECT_EQ(snapshot().stock, kOrders);
  expectConserved();
}

TEST_P(QualifierContract, V09_ALoadIsRefusedWhereTheVoucherIsOrTheJournalNamesIt) {
  load(voucherOf(10));
  EXPECT_EQ(tryLoad(voucherOf(20)).value(), LoadOutcome::KeysExist);
  EXPECT_EQ(snapshot().allocated, 10);
  Voucher other = voucherOf(10);
  other.id = VoucherId(18);
  Admission waiting = admission(5, 5);
  waiting.voucher = other.id;
  world().appendJournal(waiting);
  EXPECT_EQ(tryLoad(other).value(), LoadOutcome::NotDrained);
  const auto entries = asked().readJournal({}, 10, soon());
  const std::vector<JournalId> settled = {entries.value().at(0).id};
  ASSERT_EQ(asked().settleJournal(settled, soon()).value(), 1U);
  EXPECT_EQ(tryLoad(other).value(), LoadOutcome::Loaded);
}

TEST_P(QualifierContract, V09_StoppedInTheMiddleAndRepeatedALoadEndsRight) {
  for (int stopAt = 0; stopAt < 4; ++stopAt) {
    VoucherLoad failing;
    failing.voucher = voucherOf(10, 3);
    int pages = 0;
    failing.nextLiveOrders = [&]() -> Result<std::vector<Order>> {
      if (pages++ == stopAt) return {ErrorCode::Unavailable, "the store is away"};
      if (pages <= 2) return std::vector<Order>{liveOrder(pages, pages), liveOrder(10 + pages, pages)};
      return std::vector<Order>();
    };
    failing.nextEligible = [&]() -> Result<std::vector<UserId>> {
      return {ErrorCode::Unavailable, "the store is away"};
    };
    EXPECT_EQ(asked().load(failing, soon()).error().code, ErrorCode::Unavailable) << stopAt;
    EXPECT_FALSE(snapshot().loaded);
    EXPECT_EQ(text(decideOne(request(90, 90))), "not_found");
  }
  load(voucherOf(10, 3), {liveOrder(1, 1), liveOrder(11, 1), liveOrder(2, 2)});
  EXPECT_EQ(snapshot().held, 3);
  EXPECT_EQ(snapshot().holders, 2);
  expectConserved();
}

TEST_P(QualifierContract, V10_ASyncThatIsRepeatedOrLateChangesNothing) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  decide({request(1, 1)});
  voucher.version = 5;
  voucher.settings.allocated = 20;
  EXPECT_EQ(sync(voucher), SyncOutcome::Applied);
  EXPECT_EQ(sync(voucher), SyncOutcome::NotNewer);
  voucher.version = 4;
  voucher.settings.allocated = 99;
  EXPECT_EQ(sync(voucher), SyncOutcome::NotNewer);
  EXPECT_EQ(snapshot().stock, 19);
  EXPECT_EQ(snapshot().allocated, 20);
  EXPECT_EQ(snapshot().version, 5);
  voucher.version = 6;
  voucher.settings.limitPerUser = 0;
  EXPECT_EQ(asked().sync(voucher, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(snapshot().version, 5);
}

TEST_P(QualifierContract, V17_SnapshotHoldsAndJournalTellWhatIsThere) {
  load(voucherOf(10, 3), {liveOrder(1, 1, 2)});
  decide({request(2, 2), request(3, 1)});
  const VoucherSnapshot seen = snapshot();
  EXPECT_TRUE(seen.loaded);
  EXPECT_EQ(seen.stock, 6);
  EXPECT_EQ(seen.held, 4);
  EXPECT_EQ(seen.holders, 2);
  EXPECT_EQ(seen.state, VoucherState::OnSale);
  EXPECT_THAT(holdsOf(1), ElementsAre(Hold{UserId(1), OrderId(1), 2}, Hold{UserId(1), OrderId(3), 1}));
  ASSERT_EQ(journal().size(), 2U);
  EXPECT_EQ(journal()[0].order, OrderId(2));
  EXPECT_EQ(probe().journalDepth, 2);
}

}  // namespace
}  // namespace sluice::test
