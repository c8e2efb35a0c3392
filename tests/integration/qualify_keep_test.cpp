// What keeps holds and settings right: release, load, sync, restore, the reads, and the instant at which
// all keys expire.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/limits.h"

#include "integration/qualify_fixture.h"

namespace sluice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class QualifyKeep : public QualifyFixture {
 protected:
  std::vector<ReleaseOutcome> release(const std::vector<Admission>& orders) {
    const auto outcomes = qualifier->release(orders, soon());
    EXPECT_TRUE(outcomes) << outcomes.error().text;
    return outcomes ? outcomes.value() : std::vector<ReleaseOutcome>();
  }
  std::size_t restore(const std::vector<Order>& rows) {
    const auto restored = qualifier->restore(rows, soon());
    EXPECT_TRUE(restored) << restored.error().text;
    return restored ? restored.value() : 0;
  }
  // Milliseconds since 1970, -1 without expiry, -2 without key.
  std::int64_t expiryOf(const std::string& key) { return redis.number({"PEXPIRETIME", key}); }
  std::vector<std::string> allKeys() {
    const RedisReply reply = redis.command({"KEYS", "*"});
    std::vector<std::string> keys;
    for (std::size_t k = 0; k < reply.value().size(); ++k) {
      keys.emplace_back(reply.value()[k].text());
    }
    return keys;
  }
};

TEST_F(QualifyKeep, StartTriesTheScriptsAndLeavesNoTrace) { EXPECT_THAT(allKeys(), IsEmpty()); }

TEST_F(QualifyKeep, AReleaseGivesStockBackOnce) {
  load(voucherOf(1));
  ASSERT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  EXPECT_THAT(release({admission(1, 1)}), ElementsAre(ReleaseOutcome::Released));
  EXPECT_THAT(release({admission(1, 1), admission(2, 1)}),
              ElementsAre(ReleaseOutcome::Absent, ReleaseOutcome::Absent));
  EXPECT_EQ(snapshot().stock, 1);
  EXPECT_EQ(redis.number({"EXISTS", kHoldsKey}), 0);
  EXPECT_EQ(text(decideOne(request(3, 2))), "admitted 3 fresh") << "what came back is sold again";
  expectConserved();
}

TEST_F(QualifyKeep, AReleaseTakesOneOfSeveralHoldsWhereverItStands) {
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

TEST_F(QualifyKeep, AReleaseNamesTheUserAndTheVoucher) {
  load(voucherOf(10));
  decide({request(1, 1)});
  Admission elsewhere = admission(1, 1);
  elsewhere.voucher = VoucherId(99);
  EXPECT_THAT(release({elsewhere, admission(1, 2), admission(1, 1)}),
              ElementsAre(ReleaseOutcome::NotLoaded, ReleaseOutcome::Absent, ReleaseOutcome::Released));
}

TEST_F(QualifyKeep, WhatIsTakenBackLeavesNeitherHoldNorKey) {
  load(voucherOf(10, 2));
  const std::string_view key = "one-question-asked-twice";
  const std::vector<QualifyRequest> first = {request(1, 1, 1, key), request(2, 2)};
  decide(first);
  ASSERT_EQ(text(decideOne(request(3, 1, 1, key))), "admitted 1");
  ASSERT_TRUE(qualifier->takeBack(kVoucher, first, soon()));
  EXPECT_EQ(snapshot().stock, 10);
  EXPECT_EQ(redis.number({"EXISTS", kIdempotencyKey}), 0);
  EXPECT_EQ(text(decideOne(request(4, 1, 1, key))), "admitted 4 fresh") << "the question is new";
  ASSERT_TRUE(qualifier->takeBack(kVoucher, first, soon()));
  EXPECT_EQ(text(decideOne(request(5, 1, 1, key))), "admitted 4") << "repeated, it spares later answers";
  EXPECT_EQ(snapshot().stock, 9);
  expectConserved();
  EXPECT_TRUE(qualifier->takeBack(VoucherId(99), first, soon())) << "nothing of it is there";
}

TEST_F(QualifyKeep, AReleaseOfManyOrdersGoesInSeveralCalls) {
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

TEST_F(QualifyKeep, ALoadTakesTheHoldsOfLiveOrders) {
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
  EXPECT_THAT(allKeys(), UnorderedElementsAre(kVoucherKey, kHoldsKey, kEligibleKey));
  EXPECT_THAT(texts(decide({request(9, 1), request(2, 1, 2), request(10, 3)})),
              ElementsAre("already_ordered 2", "admitted 2", "admitted 10 fresh"));
  expectConserved();
}

TEST_F(QualifyKeep, ALoadOfManyOrdersComesInPages) {
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
  ASSERT_EQ(qualifier->load(many, soon()).value(), LoadOutcome::Loaded);
  EXPECT_EQ(snapshot().held, 3000);
  EXPECT_EQ(snapshot().holders, 1000);
  EXPECT_EQ(redis.number({"SCARD", kEligibleKey}), 2500);
  EXPECT_EQ(holdsOf(7).size(), 3U);
  expectConserved();
}

TEST_F(QualifyKeep, ALoadIsRefusedWhereAnythingOfTheVoucherExists) {
  load(voucherOf(10));
  EXPECT_EQ(tryLoad(voucherOf(20)).value(), LoadOutcome::KeysExist);
  EXPECT_EQ(snapshot().allocated, 10);
  for (const std::string& key : {kHoldsKey, kEligibleKey, kIdempotencyKey}) {
    redis.command({"FLUSHALL"});
    redis.command({"SET", key, "left over"});
    EXPECT_EQ(tryLoad(voucherOf(10)).value(), LoadOutcome::KeysExist) << key;
  }
}

TEST_F(QualifyKeep, ALoadIsRefusedWhileTheJournalNamesTheVoucherAndAsksNobodyForPages) {
  for (std::int64_t k = 1; k <= 1200; ++k) {
    redis.command({"XADD", kJournalKey, "*", "o", "1 " + std::to_string(k) + " 1 5 1 1000"});
  }
  load(voucherOf(10));
  redis.command({"DEL", kVoucherKey});
  redis.command({"XADD", kJournalKey, "*", "o", encodeAdmission(admission(5000, 1))});
  VoucherLoad refused;
  refused.voucher = voucherOf(10);
  refused.nextLiveOrders = []() -> Result<std::vector<Order>> {
    ADD_FAILURE() << "asked for orders although the journal is not drained";
    return std::vector<Order>();
  };
  EXPECT_EQ(qualifier->load(refused, soon()).value(), LoadOutcome::NotDrained);
  EXPECT_FALSE(snapshot().loaded);
}

TEST_F(QualifyKeep, ALoadThatFailsHalfWayLeavesNothing) {
  VoucherLoad failing;
  failing.voucher = voucherOf(10);
  bool first = true;
  failing.nextLiveOrders = [&]() -> Result<std::vector<Order>> {
    if (!std::exchange(first, false)) return {ErrorCode::Unavailable, "the store is away"};
    return std::vector<Order>{liveOrder(1, 1)};
  };
  EXPECT_EQ(qualifier->load(failing, soon()).error().code, ErrorCode::Unavailable);
  EXPECT_THAT(allKeys(), IsEmpty());
  load(voucherOf(10));
}

TEST_F(QualifyKeep, ALoadCommitsNothingWhereKeysAppearedMeanwhile) {
  VoucherLoad raced;
  raced.voucher = voucherOf(10);
  bool first = true;
  raced.nextLiveOrders = [&]() -> Result<std::vector<Order>> {
    if (!std::exchange(first, false)) return std::vector<Order>();
    load(voucherOf(77));
    return std::vector<Order>{liveOrder(1, 1)};
  };
  EXPECT_EQ(qualifier->load(raced, soon()).value(), LoadOutcome::KeysExist);
  EXPECT_EQ(snapshot().allocated, 77);
  EXPECT_EQ(snapshot().held, 0);
  EXPECT_THAT(allKeys(), ElementsAre(kVoucherKey));
}

TEST_F(QualifyKeep, ALoadTellsWhereItsPreparedKeysWereLost) {
  VoucherLoad slow;
  slow.voucher = voucherOf(10);
  int calls = 0;
  slow.nextLiveOrders = [&]() -> Result<std::vector<Order>> {
    if (++calls == 1) return std::vector<Order>{liveOrder(1, 1)};
    redis.command({"FLUSHALL"});  // what the expiry of the prepared keys would do
    return std::vector<Order>();
  };
  EXPECT_EQ(qualifier->load(slow, soon()).error().code, ErrorCode::Unavailable);
  EXPECT_THAT(allKeys(), IsEmpty());
}

TEST_F(QualifyKeep, ALoadRefusesOrdersThatAreNotLiveAndMorePiecesThanThereAre) {
  Order dead = liveOrder(1, 1);
  dead.status = OrderStatus::Cancelled;
  EXPECT_EQ(tryLoad(voucherOf(10), {dead}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(tryLoad(voucherOf(1), {liveOrder(1, 1), liveOrder(2, 2)}).error().code, ErrorCode::Conflict);
  Voucher unsound = voucherOf(10);
  unsound.settings.limitPerUser = 0;
  EXPECT_EQ(tryLoad(unsound).error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(allKeys(), IsEmpty());
}

TEST_F(QualifyKeep, ASyncMovesTheStockByTheChangeOfWhatIsAllocated) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  decide({request(1, 1), request(2, 2), request(3, 3)});
  const auto sync = [&](std::int64_t version, std::int64_t allocated) {
    voucher.version = version;
    voucher.settings.allocated = allocated;
    return qualifier->sync(voucher, soon()).value();
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

TEST_F(QualifyKeep, ASyncBringsEverySetting) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  voucher.version = 2;
  voucher.settings.limitPerUser = 2;
  voucher.settings.eligibleOnly = true;
  voucher.settings.begin -= std::chrono::hours(5);
  voucher.settings.end -= milliseconds(1);
  ASSERT_EQ(qualifier->sync(voucher, soon()).value(), SyncOutcome::Applied);
  EXPECT_EQ(text(decideOne(request(1, 1))), "not_eligible");
  const std::vector<UserId> users = {UserId(1)};
  ASSERT_TRUE(qualifier->addEligible(kVoucher, users, soon()));
  EXPECT_EQ(text(decideOne(request(2, 1, 2))), "admitted 2 fresh");
  EXPECT_EQ(text(decideAt(voucher.settings.end, {request(3, 2)}).at(0)), "ended");
  EXPECT_EQ(text(decideAt(voucher.settings.begin, {request(4, 2)}).at(0)), "not_eligible") << "begun";
}

TEST_F(QualifyKeep, ARestoreReCreatesOnlyWhatIsMissing) {
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

TEST_F(QualifyKeep, ARestoreNeverTakesMoreThanIsLeft) {
  load(voucherOf(2, 2));
  decide({request(1, 1)});
  EXPECT_EQ(restore({liveOrder(2, 2, 2), liveOrder(3, 3)}), 1U);
  EXPECT_EQ(snapshot().stock, 0);
  EXPECT_THAT(holdsOf(2), IsEmpty());
  expectConserved();
}

TEST_F(QualifyKeep, AllKeysOfAVoucherExpireAtTheSameInstant) {
  Voucher voucher = voucherOf(10, 5);
  voucher.settings.eligibleOnly = true;
  load(voucher);
  const std::vector<UserId> users = {UserId(1)};
  ASSERT_TRUE(qualifier->addEligible(kVoucher, users, soon()));
  decide({request(1, 1, 1, "0123456789abcdef"), request(2, 1)});
  const auto expectAll = [&](UtcTime end) {
    const std::int64_t expected = toMillis(end + limits::kKeyRetention);
    for (const std::string& key : {kVoucherKey, kHoldsKey, kEligibleKey, kIdempotencyKey}) {
      EXPECT_EQ(expiryOf(key), expected) << key;
    }
    EXPECT_EQ(expiryOf(kJournalKey), -1);
  };
  expectAll(voucher.settings.end);
  voucher.version = 2;
  voucher.settings.end += std::chrono::hours(48);
  ASSERT_TRUE(qualifier->sync(voucher, soon()));
  expectAll(voucher.settings.end);
  ASSERT_EQ(release({admission(1, 1)}),
            std::vector{ReleaseOutcome::Released});  // rewrites the only field of the holds
  expectAll(voucher.settings.end);
  ASSERT_EQ(release({admission(2, 1)}), std::vector{ReleaseOutcome::Released});
  EXPECT_EQ(restore({liveOrder(3, 1)}), 1U);  // creates the holds anew
  expectAll(voucher.settings.end);
}

TEST_F(QualifyKeep, HoldsOfALoadExpireWithTheVoucherAndOneThatIsOverDoesNotVanishAtOnce) {
  Voucher voucher = voucherOf(10);
  load(voucher, {liveOrder(1, 1)}, {UserId(1)});
  EXPECT_EQ(expiryOf(kHoldsKey), expiryOf(kVoucherKey));
  EXPECT_EQ(expiryOf(kEligibleKey), expiryOf(kVoucherKey));
  redis.command({"FLUSHALL"});
  voucher.settings.begin = fromMillis(1);
  voucher.settings.end = fromMillis(2);
  load(voucher, {liveOrder(1, 1)});
  EXPECT_GT(expiryOf(kVoucherKey), toMillis(systemClock().now()));
  EXPECT_EQ(expiryOf(kHoldsKey), expiryOf(kVoucherKey));
  EXPECT_EQ(text(decideOne(request(2, 2))), "ended");
}

TEST_F(QualifyKeep, ScansAllHoldsPageByPage) {
  std::vector<Order> orders;
  for (std::int64_t k = 1; k <= 2000; ++k) {
    orders.push_back(liveOrder(k, 1 + k / 2));
  }
  load(voucherOf(5000, 5), orders);
  std::string cursor = "0";
  std::set<std::int64_t> found;
  int pages = 0;
  do {
    const auto page = qualifier->scanHolds(kVoucher, cursor, soon());
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
  EXPECT_EQ(qualifier->scanHolds(kVoucher, cursor, soon()).error().code, ErrorCode::InvalidArgument);
}

TEST_F(QualifyKeep, ReadsAndSettlesTheJournalInOrder) {
  load(voucherOf(10));
  decide({request(1, 1), request(2, 2), request(3, 3)});
  const auto first = qualifier->readJournal("", 2, soon());
  ASSERT_EQ(first.value().size(), 2U);
  const auto rest = qualifier->readJournal(first.value().back().id, 10, soon());
  ASSERT_EQ(rest.value().size(), 1U);
  EXPECT_EQ(rest.value()[0].admission.value().order, OrderId(3));
  EXPECT_THAT(qualifier->readJournal(rest.value()[0].id, 10, soon()).value(), IsEmpty());
  const std::vector<std::string> ids = {first.value()[0].id, first.value()[1].id, "1-1"};
  EXPECT_EQ(qualifier->settleJournal(ids, soon()).value(), 2U);
  EXPECT_EQ(qualifier->settleJournal(ids, soon()).value(), 0U);
  EXPECT_EQ(qualifier->probe(soon()).value().journalDepth, 1);
  EXPECT_EQ(qualifier->readJournal("no id", 1, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(qualifier->readJournal("18446744073709551615-18446744073709551615", 1, soon()).value(),
              IsEmpty());
}

TEST_F(QualifyKeep, ForeignJournalEntriesAreShownAsCorrupt) {
  redis.command({"XADD", kJournalKey, "*", "o", "1 2 3"});
  redis.command({"XADD", kJournalKey, "*", "other", "1 1 1 1 1 1"});
  redis.command({"XADD", kJournalKey, "*", "o", "1 1 1 17 1 1", "more", "1"});
  const auto entries = qualifier->readJournal("", 10, soon());
  ASSERT_EQ(entries.value().size(), 3U);
  for (const JournalEntry& entry : entries.value()) {
    ASSERT_FALSE(entry.admission);
    EXPECT_EQ(entry.admission.error().code, ErrorCode::Corrupt);
  }
}

TEST_F(QualifyKeep, AVoucherThatIsNotLoadedReadsAsEmpty) {
  EXPECT_FALSE(snapshot().loaded);
  EXPECT_THAT(holdsOf(1), IsEmpty());
  EXPECT_THAT(journal(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
