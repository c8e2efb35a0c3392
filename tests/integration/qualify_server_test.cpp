// The server behind the qualifier: who may admit, which settings it needs, what happens when it changes or
// goes away.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/qualify_fixture.h"
#include "integration/reply_thief.h"

namespace sluice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class QualifyServer : public QualifyFixture {
 protected:
  QualifyServer() : QualifyFixture({"--enable-debug-command", "local"}) {}

  // After an outage the pool waits up to half a second before it tries again.
  QualifierHealth probeUntilAnswered() {
    auto health = qualifier->probe(soon());
    for (const Deadline end = soon(); !health && !end.passed(); health = qualifier->probe(soon())) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_TRUE(health) << health.error().text;
    return health ? health.value() : QualifierHealth();
  }
  ErrorCode refusal(const QualifyRequest& asked) {
    const Status decided = tryDecide(asked);
    EXPECT_FALSE(decided);
    return decided ? ErrorCode::Internal : decided.error().code;
  }
  std::unique_ptr<Qualifier> notStarted(const RedisTarget& target) {
    return makeLuaQualifier({.target = target}, clock, systemRandom(), noLog());
  }
};

TEST_F(QualifyServer, V16_ARestartTakesTheTrustAwayUntilTheHoldsAreChecked) {
  load(voucherOf(10));
  const std::string before = probe().identity;
  redis.kill();
  EXPECT_EQ(refusal(request(1, 1)), ErrorCode::Unavailable);
  EXPECT_EQ(qualifier->probe(soon()).error().code, ErrorCode::Unavailable);
  redis.start();
  const QualifierHealth after = probeUntilAnswered();
  EXPECT_NE(after.identity, before);
  EXPECT_FALSE(after.trusted);
  EXPECT_EQ(refusal(request(1, 1)), ErrorCode::Unavailable);
  qualifier->trust(before);
  EXPECT_EQ(refusal(request(1, 1)), ErrorCode::Unavailable) << "trust in the past does not count";
  qualifier->trust(after.identity);
  EXPECT_TRUE(probe().trusted);
}

TEST_F(QualifyServer, V16_LivingConnectionsToAServerThatBecameAnotherAreNotTrustedEither) {
  load(voucherOf(10));
  const std::string before = probe().identity;
  redis.command({"DEBUG", "CHANGE-REPL-ID"});  // what taking over another master's data does
  const QualifierHealth after = probe();
  EXPECT_NE(after.identity, before);
  EXPECT_FALSE(after.trusted);
  EXPECT_EQ(refusal(request(1, 1)), ErrorCode::Unavailable);
  const std::vector<Order> live = {liveOrder(7, 7)};
  EXPECT_EQ(qualifier->restore(live, soon()).value(), 1U) << "repairs come before the trust";
  qualifier->trust(after.identity);
  EXPECT_EQ(text(decideOne(request(2, 2))), "admitted 2 fresh");
}

TEST_F(QualifyServer, V21_AReplicaSellsNothing) {
  load(voucherOf(10));
  redis.command({"REPLICAOF", "127.0.0.1", "1"});
  const auto health = qualifier->probe(soon());
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(health.error().text, HasSubstr("replica"));
  EXPECT_EQ(refusal(request(1, 1)), ErrorCode::Unavailable);
  redis.command({"REPLICAOF", "NO", "ONE"});
  qualifier->trust(probe().identity);
  EXPECT_EQ(text(decideOne(request(2, 2))), "admitted 2 fresh");
}

TEST_F(QualifyServer, V21_AnEvictingPolicyIsRefusedAtStartAndStopsARunningSale) {
  load(voucherOf(10));
  redis.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const Status started = notStarted(redis.target())->start(soon());
  EXPECT_EQ(started.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(started.error().text, HasSubstr("noeviction"));
  EXPECT_EQ(qualifier->probe(soon()).error().code, ErrorCode::Misconfigured);
  EXPECT_EQ(refusal(request(1, 1)), ErrorCode::Unavailable);
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(probe().trusted);
  EXPECT_EQ(text(decideOne(request(2, 2))), "admitted 2 fresh");
}

TEST_F(QualifyServer, V16_AnEmptiedServerAnswersNotFoundNeverSoldOut) {
  load(voucherOf(10));
  redis.command({"FLUSHALL"});
  EXPECT_EQ(text(decideOne(request(1, 1))), "not_found");
}

TEST_F(QualifyServer, V21_NamesTheDurabilityThatTheRunningServerGives) {
  const auto levelWith = [&](const std::string& setting, const std::string& value) {
    redis.command({"CONFIG", "SET", setting, value});
    return durabilityName(probe().durability);
  };
  EXPECT_EQ(levelWith("appendfsync", "everysec"), "L1");
  EXPECT_THAT(probe().warnings, IsEmpty());
  EXPECT_EQ(levelWith("appendfsync", "always"), "L2");
  EXPECT_EQ(levelWith("no-appendfsync-on-rewrite", "yes"), "L0");
  EXPECT_THAT(probe().warnings, ElementsAre(HasSubstr("no-appendfsync-on-rewrite")));
  EXPECT_EQ(levelWith("no-appendfsync-on-rewrite", "no"), "L2");
  EXPECT_EQ(levelWith("appendfsync", "no"), "L0");
  EXPECT_EQ(levelWith("appendfsync", "everysec"), "L1");
  EXPECT_EQ(levelWith("appendonly", "no"), "L0");
  EXPECT_THAT(probe().warnings, ElementsAre(HasSubstr("appendonly")));
}

TEST_F(QualifyServer, V15_ClocksThatDifferAreToldAndBeyondASecondNothingIsAdmitted) {
  load(voucherOf(10));
  EXPECT_EQ(probe().clockSkew, milliseconds(0));
  clock.beWrongBy(milliseconds(500));
  EXPECT_LT(probe().clockSkew, milliseconds(-250));
  EXPECT_THAT(probe().warnings, ElementsAre(HasSubstr("clock")));
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  clock.beWrongBy(milliseconds(-5000));
  EXPECT_GT(probe().clockSkew, milliseconds(1000));
  EXPECT_EQ(refusal(request(2, 2)), ErrorCode::Unavailable);
  clock.beWrongBy(milliseconds(0));
  probe();
  EXPECT_EQ(text(decideOne(request(3, 3))), "admitted 3 fresh");
}

TEST_F(QualifyServer, V21_SettingsThatItMayNotSeeCountAsTheWorst) {
  redis.command({"ACL", "SETUSER", "seller", "on", ">secret", "~*", "&*", "+@all", "-config"});
  RedisTarget target = redis.target();
  target.username = "seller";
  target.password = "secret";
  qualifier = notStarted(target);
  ASSERT_TRUE(qualifier->start(soon()));
  EXPECT_EQ(probe().durability, Durability::L0);
  EXPECT_THAT(probe().warnings, ElementsAre(HasSubstr("CONFIG")));
}

TEST_F(QualifyServer, V21_MissingRightsAndWrongPasswordsAreFoundAtStart) {
  redis.command({"ACL", "SETUSER", "seller", "on", ">secret", "~*", "&*", "+@all", "-xadd"});
  RedisTarget target = redis.target();
  target.username = "seller";
  target.password = "secret";
  const Status forbidden = notStarted(target)->start(soon());
  EXPECT_EQ(forbidden.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(forbidden.error().text, HasSubstr("qualify"));
  EXPECT_EQ(redis.number({"DBSIZE"}), 0) << "the trial cleans up also where it fails";
  target.password = "wrong-secret";
  const Status unknown = notStarted(target)->start(soon());
  EXPECT_EQ(unknown.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(unknown.error().text, Not(HasSubstr("wrong-secret")));
}

TEST_F(QualifyServer, AStartWithoutAServerMayBeRepeated) {
  redis.kill();
  qualifier = notStarted(redis.target());
  EXPECT_EQ(qualifier->start(soon()).error().code, ErrorCode::Unavailable);
  redis.start();
  Status started = qualifier->start(soon());
  for (const Deadline end = soon(); !started && !end.passed(); started = qualifier->start(soon())) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(started) << started.error().text;
}

TEST_F(QualifyServer, V18_AServerThatHangsLeavesTheOutcomeOpenAndTheSameQuestionSettlesIt) {
  load(voucherOf(10));
  redis.freeze();
  const Status hung = tryDecide(request(1, 1), Deadline::in(milliseconds(100)));
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code, ErrorCode::OutcomeUnknown);
  redis.resume();
  const Decision settled = decideOne(request(1, 1));
  EXPECT_EQ(settled.verdict, Verdict::Admitted);
  EXPECT_EQ(settled.order, OrderId(1));
  EXPECT_EQ(snapshot().held, 1);
  EXPECT_THAT(journal(), SizeIs(1));
  EXPECT_EQ(qualifier->stats().errors, 1U);
}

TEST_F(QualifyServer, V18_ALostReplyIsAskedForAgainAndTheStockTakenIsTheCallsOwn) {
  load(voucherOf(10));
  ReplyThief thief(redis.target());
  qualifier = notStarted(thief.target());
  ASSERT_TRUE(qualifier->start(soon()));
  qualifier->trust(probe().identity);
  ASSERT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  thief.steal(1);
  EXPECT_THAT(texts(decide({request(2, 2), request(3, 1), request(4, 4)})),
              ElementsAre("admitted 2 fresh", "already_ordered 1", "admitted 4 fresh"));
  EXPECT_EQ(thief.leftToSteal(), 0);
  EXPECT_EQ(snapshot().held, 3);
  EXPECT_THAT(journal(), SizeIs(3));
  thief.steal(2);  // the second one is of the new connection's look at the server
  EXPECT_EQ(refusal(request(5, 5)), ErrorCode::OutcomeUnknown);
}

TEST_F(QualifyServer, AReadIsRepeatedWhereItsReplyWasLost) {
  load(voucherOf(10));
  ReplyThief thief(redis.target());
  qualifier = notStarted(thief.target());
  ASSERT_TRUE(qualifier->start(soon()));
  thief.steal(1);
  EXPECT_TRUE(snapshot().loaded);
  EXPECT_EQ(thief.leftToSteal(), 0);
}

TEST_F(QualifyServer, V22_StopEndsACallThatIsBlockedAndRefusesLaterOnes) {
  load(voucherOf(10));
  redis.freeze();
  ErrorCode answer = ErrorCode::Internal;
  std::thread blocked([&] {
    const auto health = qualifier->probe(Deadline::in(milliseconds(60000)));
    if (!health) answer = health.error().code;
  });
  std::this_thread::sleep_for(milliseconds(50));
  qualifier->stop();
  blocked.join();
  qualifier->stop();
  EXPECT_EQ(answer, ErrorCode::Stopped);
  EXPECT_EQ(refusal(request(1, 1)), ErrorCode::Stopped);
  EXPECT_EQ(qualifier->start(soon()).error().code, ErrorCode::Stopped);
  redis.resume();
}

TEST_F(QualifyServer, V22_WhileTheServerHangsEveryCallEndsAtItsDeadline) {
  load(voucherOf(10));
  Voucher newer = voucherOf(20);
  newer.version = 2;
  redis.freeze();
  const Deadline bound = Deadline::in(scaled(milliseconds(30000)));
  const auto refused = refusalsOfEveryCall(*qualifier, newer, clock.now(),
                                           [] { return Deadline::in(scaled(milliseconds(100))); });
  EXPECT_FALSE(bound.passed());
  redis.resume();
  for (const auto& [call, code] : refused) {
    EXPECT_TRUE(code == ErrorCode::Unavailable || code == ErrorCode::OutcomeUnknown)
        << call << ": " << errorName(code);
  }
  probeUntilAnswered();
  EXPECT_EQ(decideOne(request(1, 1)).verdict, Verdict::Admitted)
      << "its outcome was unknown or it was not asked";
  expectConserved();
}

TEST_F(QualifyServer, V22_LateCallersCostNobodyAConnection) {
  load(voucherOf(100));
  for (std::int64_t k = 1; k <= 50; ++k) {
    EXPECT_EQ(tryDecide(request(k, k), Deadline::in(milliseconds(-1))).error().code, ErrorCode::Unavailable);
    EXPECT_EQ(text(decideOne(request(100 + k, 100 + k))), "admitted " + std::to_string(100 + k) + " fresh");
  }
  EXPECT_EQ(qualifier->stats().reconnects, 0U);
  for (std::int64_t k = 201; k <= 205; ++k) {  // nor a pause, where a connection has to be made
    redis.command({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_EQ(tryDecide(request(1, 1), Deadline::in(milliseconds(-1))).error().code, ErrorCode::Unavailable);
    EXPECT_EQ(decideOne(request(k, k)).verdict, Verdict::Admitted);
  }
  EXPECT_EQ(snapshot().held, 55);
}

}  // namespace
}  // namespace sluice::test
