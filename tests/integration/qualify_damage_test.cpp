// Somebody else wrote to the keys, or memory is full: the sale stops where it must, and nothing is done by
// halves.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/qualify_fixture.h"

namespace sluice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QualifyDamage : public QualifyFixture {
 protected:
  QualifyDamage() : QualifyFixture({"--enable-debug-command", "local"}) {}

  // Equal before and after says that nothing was written at all.
  std::string digest() { return redis.text({"DEBUG", "DIGEST"}); }
  void fillMemory() { redis.command({"CONFIG", "SET", "maxmemory", "1"}); }
  void freeMemory() { redis.command({"CONFIG", "SET", "maxmemory", "0"}); }
};

struct Damage {
  std::string name;
  std::vector<std::vector<std::string>> commands;
  bool onlyThatUser = false;
};

class QualifyTampered : public QualifyDamage, public ::testing::WithParamInterface<Damage> {};

TEST_P(QualifyTampered, V11_V12_FreezesTheSaleAndWritesNothing) {
  load(voucherOf(10, 2));
  decide({request(1, 1, 1, kKey)});
  for (const auto& command : GetParam().commands) {
    redis.command(command);
  }
  const std::string before = digest();
  EXPECT_EQ(text(decideOne(request(2, 1, 1, kKey))), "frozen");
  if (GetParam().onlyThatUser) {
    EXPECT_EQ(text(decideOne(request(3, 2))), "admitted 3 fresh");
  } else {
    EXPECT_THAT(texts(decide({request(3, 2), request(4, 3)})), ElementsAre("frozen", "frozen"));
    EXPECT_EQ(digest(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, QualifyTampered,
    ::testing::Values(
        Damage{"StockRaised", {{"HINCRBY", kVoucherKey, "stock", "1"}}},
        Damage{"StockLowered", {{"HINCRBY", kVoucherKey, "stock", "-1"}}},
        Damage{"HeldOverwritten", {{"HSET", kVoucherKey, "held", "0"}}},
        Damage{"AllocatedOverwritten", {{"HSET", kVoucherKey, "allocated", "1000"}}},
        Damage{"StockNegative", {{"HSET", kVoucherKey, "stock", "-1", "held", "11"}}},
        Damage{"StockIsNoNumber", {{"HSET", kVoucherKey, "stock", "many"}}},
        Damage{"StockIsAFraction", {{"HSET", kVoucherKey, "stock", "9.0"}}},
        Damage{"StockIsTooLong", {{"HSET", kVoucherKey, "stock", "99999999999999999999"}}},
        Damage{"StockIsGone", {{"HDEL", kVoucherKey, "stock"}}},
        Damage{"LimitIsGone", {{"HDEL", kVoucherKey, "limit"}}},
        Damage{"EndIsNoNumber", {{"HSET", kVoucherKey, "end", "tomorrow"}}},
        Damage{"VoucherOfAnotherType", {{"SET", kVoucherKey, "10"}}},
        Damage{"HoldsDeleted", {{"DEL", kHoldsKey}}},
        Damage{"HoldsOfAnotherType", {{"DEL", kHoldsKey}, {"SADD", kHoldsKey, "1"}}},
        Damage{"HoldsWithoutAnyHeld", {{"HSET", kVoucherKey, "stock", "10", "held", "0"}}},
        Damage{"KeysOfAnotherType", {{"SET", kIdempotencyKey, "1"}}},
        Damage{"JournalOfAnotherType", {{"SET", kJournalKey, "1"}}},
        Damage{"JournalAtItsLastId",
               {{"DEL", kIdempotencyKey},
                {"XADD", kJournalKey, "18446744073709551615-18446744073709551615", "o", "x"}}},
        Damage{"JournalNearItsLastId",
               {{"DEL", kIdempotencyKey},
                {"XADD", kJournalKey, "18446744073709551615-18446744073709551613", "o", "x"},
                {"XADD", kJournalKey, "18446744073709551615-18446744073709551614", "o", "x"}}},
        Damage{"OneHoldUnreadable", {{"HSET", kHoldsKey, "1", "many"}, {"DEL", kIdempotencyKey}}, true},
        Damage{"OneKeyUnreadable",
               {{"HSET", kIdempotencyKey, "1:" + std::string(kKey), "x"}, {"HSET", kHoldsKey, "1", "9:1"}},
               true}),
    [](const auto& tested) { return tested.param.name; });

TEST_F(QualifyDamage, V12_AnEligibleListOfAnotherTypeFreezesAVoucherThatNeedsIt) {
  Voucher voucher = voucherOf(10);
  voucher.settings.eligibleOnly = true;
  load(voucher);
  redis.command({"SET", kEligibleKey, "1"});
  EXPECT_EQ(text(decideOne(request(1, 1))), "frozen");
  const std::vector<UserId> users = {UserId(1)};
  EXPECT_EQ(qualifier->addEligible(kVoucher, users, soon()).error().code, ErrorCode::Corrupt);
}

TEST_F(QualifyDamage, V11_ARepairedCounterSellsAgain) {
  load(voucherOf(10));
  decide({request(1, 1)});
  redis.command({"HSET", kVoucherKey, "stock", "5"});
  EXPECT_EQ(text(decideOne(request(2, 2))), "frozen");
  EXPECT_FALSE(snapshot().conserved());
  redis.command({"HSET", kVoucherKey, "stock", "9"});
  EXPECT_EQ(text(decideOne(request(3, 2))), "admitted 3 fresh");
}

TEST_F(QualifyDamage, V11_ABrokenSumStopsNoReleaseAndStaysVisible) {
  load(voucherOf(10));
  decide({request(1, 1), request(2, 2)});
  redis.command({"HINCRBY", kVoucherKey, "stock", "5"});
  const std::vector<Admission> dead = {admission(1, 1)};
  EXPECT_THAT(qualifier->release(dead, soon()).value(), ElementsAre(ReleaseOutcome::Released));
  EXPECT_EQ(snapshot().stock, 14);
  EXPECT_EQ(snapshot().held, 1);
  EXPECT_EQ(text(decideOne(request(3, 3))), "frozen");
  const std::vector<Order> live = {liveOrder(9, 9)};
  EXPECT_EQ(qualifier->restore(live, soon()).error().code, ErrorCode::Corrupt);
}

TEST_F(QualifyDamage, V12_ADamagedVoucherIsCorruptButDoesNotHoldUpTheOthers) {
  load(voucherOf(10));
  Voucher other = voucherOf(10);
  other.id = VoucherId(18);
  load(other);
  decide({request(1, 1)});
  decide({request(2, 2)}, other.id);
  redis.command({"HSET", kVoucherKey, "stock", "many"});
  std::vector<Admission> dead = {admission(1, 1), admission(2, 2)};
  dead[1].voucher = other.id;
  const auto released = qualifier->release(dead, soon());
  EXPECT_EQ(released.error().code, ErrorCode::Corrupt);
  EXPECT_THAT(released.error().text, HasSubstr("voucher 17"));
  EXPECT_EQ(qualifier->snapshot(other.id, soon()).value().held, 0);
  EXPECT_EQ(qualifier->snapshot(kVoucher, soon()).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(qualifier->sync(voucherOf(20), soon()).error().code, ErrorCode::Corrupt);
  redis.command({"HSET", kHoldsKey, "1", "1:1:1"});
  EXPECT_EQ(qualifier->holdsOf(kVoucher, UserId(1), soon()).error().code, ErrorCode::Corrupt);
}

TEST_F(QualifyDamage, V13_WithFullMemoryNothingIsAdmittedAndNothingIsWritten) {
  for (const bool journal : {true, false}) {
    redis.command({"FLUSHALL"});
    open({.journal = journal});
    load(voucherOf(2));
    decide({request(1, 1)});
    fillMemory();
    const std::string before = digest();
    const Status refused = tryDecide(request(2, 2));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
    EXPECT_EQ(digest(), before);
    EXPECT_EQ(text(decideOne(request(3, 1))), "already_ordered 1") << "answers that write nothing are given";
    EXPECT_EQ(tryLoad(voucherOf(5)).value(), LoadOutcome::KeysExist);
    freeMemory();
    EXPECT_EQ(text(decideOne(request(4, 2))), "admitted 4 fresh");
  }
}

TEST_F(QualifyDamage, V13_WithFullMemoryHoldsComeBackAndASaleCanBeClosed) {
  Voucher voucher = voucherOf(10, 3);
  load(voucher);
  decide({request(1, 1), request(2, 1), request(3, 2)});
  fillMemory();
  const std::vector<Admission> dead = {admission(1, 1), admission(3, 2), admission(4, 4)};
  EXPECT_THAT(qualifier->release(dead, soon()).value(),
              ElementsAre(ReleaseOutcome::Released, ReleaseOutcome::Released, ReleaseOutcome::Absent));
  EXPECT_THAT(holdsOf(1), ElementsAre(Hold{UserId(1), OrderId(2), 1}));
  EXPECT_EQ(snapshot().held, 1);
  expectConserved();
  voucher.version = 2;
  voucher.settings.state = VoucherState::Closed;
  EXPECT_EQ(qualifier->sync(voucher, soon()).value(), SyncOutcome::Applied);
  EXPECT_EQ(text(decideOne(request(5, 5))), "ended");
}

TEST_F(QualifyDamage, V13_WithFullMemoryAQualifierStartsForReadsAndReleases) {
  load(voucherOf(10));
  decide({request(1, 1)});
  fillMemory();
  open({});
  const std::vector<Admission> dead = {admission(1, 1)};
  EXPECT_THAT(qualifier->release(dead, soon()).value(), ElementsAre(ReleaseOutcome::Released));
}

TEST_F(QualifyDamage, V13_V23_V25_WithFullMemoryThereIsALeaderAndTheJournalIsEmptied) {
  load(voucherOf(10));
  decide({request(1, 1)});
  redis.command({"XADD", kJournalKey, "*", "o", "garbage"});
  fillMemory();
  EXPECT_TRUE(lead("one").taken);
  EXPECT_FALSE(lead("one").taken);
  const auto page = qualifier->awaitJournal({}, 10, soon());
  ASSERT_TRUE(page) << page.error().text;
  EXPECT_EQ(qualifier->setAside(page.value(), soon()).value(), 1U);
  EXPECT_EQ(redis.number({"XLEN", "sluice:{0}:dead"}), 1);
  const JournalId entry = page.value().at(0).id;
  EXPECT_EQ(qualifier->settleJournal({&entry, 1}, soon()).value(), 1U);
  EXPECT_EQ(redis.number({"XLEN", kJournalKey}), 0);
}

TEST_F(QualifyDamage, V12_V23_V25_KeysOfTheForwarderOfAWrongTypeAreNamedAndLeftAlone) {
  const std::string lease = "sluice:{0}:forwarder";
  const std::string dead = "sluice:{0}:dead";
  redis.command({"HSET", lease, "somebody", "else"});
  redis.command({"SET", dead, "somebody else's"});
  redis.command({"XADD", kJournalKey, "*", "o", "garbage"});
  const auto page = qualifier->readJournal({}, 10, soon());
  const std::string before = digest();
  EXPECT_EQ(qualifier->lead("one", milliseconds(1000), soon()).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(qualifier->resign("one", soon()).error().code, ErrorCode::Corrupt);
  redis.command({"RENAME", lease, "sluice:{0}:forwarder:last"});
  EXPECT_EQ(qualifier->lead("one", milliseconds(1000), soon()).error().code, ErrorCode::Corrupt);
  redis.command({"RENAME", "sluice:{0}:forwarder:last", lease});
  EXPECT_EQ(qualifier->setAside(page.value(), soon()).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(digest(), before);
}

TEST_F(QualifyDamage, V25_EntriesOfOtherFieldsAreKeptWholeAndBeyondTheCapTheyStay) {
  redis.command({"XADD", kJournalKey, "*", "a", "1", "b", "two"});
  const auto page = qualifier->readJournal({}, 10, soon());
  EXPECT_EQ(qualifier->setAside(page.value(), soon()).value(), 1U);
  const RedisReply letters = redis.command({"XRANGE", "sluice:{0}:dead", "-", "+"});
  EXPECT_EQ(letters.value()[0][1][1].text(), "1:a,1:1,1:b,3:two,");
  EXPECT_THAT(std::string(letters.value()[0][1][3].text()), HasSubstr("undecodable: "));
  // As many as there may be, and one more.
  redis.command({"EVAL", "for k = 2, 10000 do redis.call('XADD', KEYS[1], '*', 'bytes', '') end", "1",
                 "sluice:{0}:dead"});
  redis.command({"XADD", kJournalKey, "*", "o", "one more"});
  const auto more = qualifier->readJournal({}, 10, soon());
  EXPECT_EQ(qualifier->setAside(more.value(), soon()).value(), 0U);
  EXPECT_EQ(redis.number({"XLEN", kJournalKey}), 1);
}

TEST_F(QualifyDamage, V14_AFlushedScriptCacheIsNoFault) {
  load(voucherOf(10));
  redis.command({"SCRIPT", "FLUSH"});
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  redis.command({"SCRIPT", "FLUSH"});
  const std::vector<Admission> dead = {admission(1, 1)};
  EXPECT_THAT(qualifier->release(dead, soon()).value(), ElementsAre(ReleaseOutcome::Released));
}

// --- every key of a voucher with every wrong type ---

struct WrongKey {
  std::string key;
  std::string right;  // its type
};

const std::vector<WrongKey>& wrongKeys() {
  static const std::vector<WrongKey> keys = {{kVoucherKey, "hash"},
                                             {kHoldsKey, "hash"},
                                             {kEligibleKey, "set"},
                                             {kIdempotencyKey, "hash"},
                                             {kJournalKey, "stream"}};
  return keys;
}

const std::map<std::string, std::vector<std::string>>& makersOfTypes() {
  static const std::map<std::string, std::vector<std::string>> makers = {
      {"string", {"SET", "KEY", "1"}},     {"list", {"RPUSH", "KEY", "1"}},
      {"set", {"SADD", "KEY", "1"}},       {"zset", {"ZADD", "KEY", "1", "1"}},
      {"hash", {"HSET", "KEY", "1", "1"}}, {"stream", {"XADD", "KEY", "*", "x", "1"}}};
  return makers;
}

class QualifyWrongTypes : public QualifyDamage {
 protected:
  // A sale of a listed user's with one hold and one idempotency key, but for one key of a wrong type.
  void damage(const std::string& key, const std::vector<std::string>& maker) {
    redis.command({"FLUSHALL"});
    Voucher voucher = voucherOf(10, 3);
    voucher.settings.eligibleOnly = true;
    load(voucher, {}, {UserId(1), UserId(2)});
    decide({request(1, 1, 1, kKey)});
    redis.command({"DEL", key});
    std::vector<std::string> command = maker;
    std::replace(command.begin(), command.end(), std::string("KEY"), key);
    redis.command(command);
  }
  // Ok, or a code by name: nothing that a wrong type brings about may look like anything else.
  template <typename Answer>
  static std::string codeOf(const Answer& answer) {
    return answer ? "ok" : std::string(errorName(answer.error().code));
  }
};

TEST_F(QualifyWrongTypes, V12_FreezeTheSaleAndWriteNothing) {
  for (const WrongKey& wrong : wrongKeys()) {
    for (const auto& [type, maker] : makersOfTypes()) {
      if (type == wrong.right) continue;
      SCOPED_TRACE(wrong.key + " is a " + type);
      damage(wrong.key, maker);
      const std::string before = digest();
      EXPECT_THAT(texts(decide({request(2, 2), request(3, 1, 1, kKey), request(4, 1)})),
                  ElementsAre("frozen", "frozen", "frozen"));
      EXPECT_EQ(digest(), before);
    }
  }
}

TEST_F(QualifyWrongTypes, V12_StopEveryOtherCallThatNeedsTheKeyWithoutAWrite) {
  const std::vector<Order> live = {liveOrder(9, 2)};
  const std::vector<UserId> users = {UserId(3)};
  Voucher newer = voucherOf(20, 3);
  newer.version = 2;
  for (const std::string& key : {kVoucherKey, kHoldsKey}) {
    for (const auto& [type, maker] : makersOfTypes()) {
      if (type == "hash") continue;
      SCOPED_TRACE(key + " is a " + type);
      damage(key, maker);
      const std::string before = digest();
      EXPECT_EQ(codeOf(qualifier->release(std::vector{admission(1, 1)}, soon())), "corrupt");
      EXPECT_EQ(codeOf(qualifier->restore(live, soon())), "corrupt");
      EXPECT_EQ(codeOf(qualifier->snapshot(kVoucher, soon())), "corrupt");
      EXPECT_EQ(tryLoad(voucherOf(10)).value(), LoadOutcome::KeysExist);
      if (key == kVoucherKey) {
        EXPECT_EQ(codeOf(qualifier->sync(newer, soon())), "corrupt");
        EXPECT_EQ(codeOf(qualifier->addEligible(kVoucher, users, soon())), "corrupt");
      } else {
        EXPECT_EQ(codeOf(qualifier->holdsOf(kVoucher, UserId(1), soon())), "corrupt");
        std::string cursor = "0";
        EXPECT_EQ(codeOf(qualifier->scanHolds(kVoucher, cursor, soon())), "corrupt");
      }
      EXPECT_EQ(digest(), before);
    }
  }
}

TEST_F(QualifyWrongTypes, V12_OfKeysBesideTheHoldsStopNoRelease) {
  for (const std::string& key : {kEligibleKey, kIdempotencyKey, kJournalKey}) {
    SCOPED_TRACE(key);
    damage(key, {"ZADD", "KEY", "1", "1"});
    EXPECT_THAT(release({admission(1, 1)}), ElementsAre(ReleaseOutcome::Released));
    EXPECT_EQ(snapshot().stock, 10);
    expectConserved();
    EXPECT_EQ(redis.text({"TYPE", key}), "zset") << "left as it was, for whoever looks into it";
  }
}

}  // namespace
}  // namespace sluice::test
