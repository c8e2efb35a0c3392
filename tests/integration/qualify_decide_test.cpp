// What an admission writes into Redis, to the byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/qualify_fixture.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;

class QualifyDecide : public QualifyFixture {};

TEST_F(QualifyDecide, V05_V06_WritesHoldKeyAndEntryAsTheOthersReadThem) {
  load(voucherOf(10, 5));
  const UtcTime at = clock.now();
  EXPECT_THAT(texts(decideAt(at, {request(1, 7, 2, kKey), request(2, 7, 1)})),
              ElementsAre("admitted 1 fresh", "admitted 2 fresh"));
  EXPECT_EQ(redis.text({"HGET", kHoldsKey, "7"}), "1:2,2:1");
  EXPECT_EQ(redis.text({"HGET", kIdempotencyKey, "7:" + std::string(kKey)}), "1:2");
  const RedisReply entries = redis.command({"XRANGE", kJournalKey, "-", "+"});
  ASSERT_EQ(entries.value().size(), 2U);
  EXPECT_EQ(entries.value()[0][1][1].text(), encodeAdmission({OrderId(1), UserId(7), kVoucher, 2, at}));
  EXPECT_EQ(entries.value()[1][1][1].text(), encodeAdmission({OrderId(2), UserId(7), kVoucher, 1, at}));
}

TEST_F(QualifyDecide, V06_WithTheJournalOffThereIsNoJournalKey) {
  open({.journal = false});
  load(voucherOf(10));
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  EXPECT_EQ(redis.number({"EXISTS", kJournalKey}), 0);
}

TEST_F(QualifyDecide, V04_AReleasedOrderIsNotedBesideTheKeysAndExpiresWithThem) {
  load(voucherOf(10));
  decide({request(1, 7)});
  ASSERT_EQ(release({admission(1, 7)}), std::vector{ReleaseOutcome::Released});
  EXPECT_EQ(redis.text({"HGET", kIdempotencyKey, "1"}), "7");
  EXPECT_EQ(redis.number({"PEXPIRETIME", kIdempotencyKey}), redis.number({"PEXPIRETIME", kVoucherKey}));
}

TEST_F(QualifyDecide, MeasuresTheTimeOfItsScripts) {
  load(voucherOf(10));
  decide({request(1, 1)});
  EXPECT_GT(qualifier->stats().scriptNanoseconds, 0U);
}

TEST_F(QualifyDecide, V02_NotFoundBeforeFrozen) {
  for (const std::string& key : {kHoldsKey, kIdempotencyKey, kJournalKey}) {
    redis.command({"SET", key, "of another"});
  }
  EXPECT_EQ(text(decideOne(request(1, 1))), "not_found");
}

}  // namespace
}  // namespace sluice::test
