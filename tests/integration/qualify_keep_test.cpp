// Holds and settings as keys of Redis: what a load leaves and finds, and the instant at which all keys expire.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sluice/limits.h"

#include "integration/qualify_fixture.h"
#include "support/forked_child.h"

namespace sluice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class QualifyKeep : public QualifyFixture {
 protected:
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

TEST_F(QualifyKeep, V08_WhatIsTakenBackLeavesNoTrace) {
  load(voucherOf(10));
  const std::vector<QualifyRequest> first = {request(1, 1, 1, kKey)};
  decide(first);
  ASSERT_TRUE(qualifier->takeBack(kVoucher, first, soon()));
  EXPECT_EQ(redis.number({"EXISTS", kHoldsKey}), 0);
  EXPECT_EQ(redis.number({"EXISTS", kIdempotencyKey}), 0);
}

TEST_F(QualifyKeep, V09_ALoadIsRefusedWhereAnythingOfTheVoucherExists) {
  load(voucherOf(10));
  EXPECT_EQ(tryLoad(voucherOf(20)).value(), LoadOutcome::KeysExist);
  EXPECT_EQ(snapshot().allocated, 10);
  for (const std::string& key : {kHoldsKey, kEligibleKey, kIdempotencyKey}) {
    redis.command({"FLUSHALL"});
    redis.command({"SET", key, "left over"});
    EXPECT_EQ(tryLoad(voucherOf(10)).value(), LoadOutcome::KeysExist) << key;
  }
}

TEST_F(QualifyKeep, V09_ALoadIsRefusedWhileTheJournalNamesTheVoucherAndAsksNobodyForPages) {
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

TEST_F(QualifyKeep, V09_ALoadCommitsNothingWhereKeysAppearedMeanwhile) {
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

TEST_F(QualifyKeep, V09_ALoadTellsWhereItsPreparedKeysWereLost) {
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

TEST_F(QualifyKeep, V20_AllKeysOfAVoucherExpireAtTheSameInstant) {
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

TEST_F(QualifyKeep, V20_HoldsOfALoadExpireWithTheVoucherAndOneThatIsOverDoesNotVanishAtOnce) {
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

TEST_F(QualifyKeep, V17_ForeignJournalEntriesAreShownAsCorrupt) {
  redis.command({"XADD", kJournalKey, "*", "o", "1 2 3"});
  redis.command({"XADD", kJournalKey, "*", "other", "1 1 1 1 1 1"});
  redis.command({"XADD", kJournalKey, "*", "o", "1 1 1 17 1 1", "more", "1"});
  const auto entries = qualifier->readJournal({}, 10, soon());
  ASSERT_EQ(entries.value().size(), 3U);
  for (const JournalEntry& entry : entries.value()) {
    ASSERT_FALSE(entry.admission);
    EXPECT_EQ(entry.admission.error().code, ErrorCode::Corrupt);
  }
}

// In a process of its own: loads 2000 orders page by page, telling each page, and is killed in the middle.
TEST_F(QualifyKeep, V09_KilledInTheMiddleAndRepeatedALoadEndsRight) {
  std::vector<Order> orders;
  for (std::int64_t k = 1; k <= 2000; ++k) {
    orders.push_back(liveOrder(k, 1 + k / 2));
  }
  const auto loadPageByPage = [&](const TellingChild::Tell& tell) {
    const auto mine = makeLuaQualifier({.target = redis.target()}, clock, systemRandom(), noLog());
    std::size_t at = 0;
    VoucherLoad load;
    load.voucher = voucherOf(5000, 5);
    load.nextLiveOrders = [&]() -> Result<std::vector<Order>> {
      tell();
      const std::size_t from = std::exchange(at, std::min(at + 20, orders.size()));
      ::usleep(500);
      return std::vector<Order>(orders.begin() + static_cast<std::ptrdiff_t>(from),
                                orders.begin() + static_cast<std::ptrdiff_t>(at));
    };
    (void)mine->load(load, soon());
    ::usleep(60'000'000);
    return 1;
  };
  qualifier.reset();
  for (const int pages : {1, 2, 40, 100}) {  // the last one: all pages are in, the commit is due
    TellingChild child(loadPageByPage);
    ASSERT_TRUE(child.await(pages));
    ASSERT_GE(child.kill(), pages);
    for (const std::string& key : allKeys()) {
      EXPECT_GT(expiryOf(key), 0) << key << " would stay for ever";
    }
    EXPECT_EQ(redis.number({"EXISTS", kVoucherKey}), 0) << "loaded by halves";
  }
  open({});
  load(voucherOf(5000, 5), orders);
  EXPECT_EQ(snapshot().held, 2000);
  EXPECT_EQ(snapshot().stock, 3000);
  expectConserved();
}

}  // namespace
}  // namespace sluice::test
