// Redis is killed, frozen and emptied in the middle of a sale: the server stays up, says so, and goes on;
// nothing is oversold.
#include <thread>

#include <gtest/gtest.h>

#include "fault/sale.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

class RedisFaults : public testing::Test {
 protected:
  RedisFaults() : server_({{"redis.socket", redis_.target().socketPath}}) {
    server_.start();
    server_.createVoucher(1, kStock);
  }

  // What was answered is synced, so that it is there after a kill to the last order.
  static constexpr int kStock = 100000;
  PrivateRedis redis_{{"--appendfsync", "always"}};
  ServerProcess server_;
};

TEST_F(RedisFaults, KilledAndStartedAgainTheSaleGoesOnByItself) {
  std::vector<Attempt> attempts;
  std::thread buyers([&] { attempts = storm(server_, 1, 1, 4000); });
  std::this_thread::sleep_for(milliseconds(200));
  redis_.kill();
  const HttpReply meanwhile = server_.order(1, 900000);
  EXPECT_EQ(meanwhile.status, 503) << meanwhile.body;
  EXPECT_EQ(server_.get("/healthz").status, 200);
  EXPECT_TRUE(
      ServerProcess::eventually(milliseconds(5000), [&] { return server_.get("/readyz").status == 503; }));
  buyers.join();
  redis_.start();
  expectOrdersFlowAgain(server_, 1, 900001, milliseconds(5000));
  const auto second = storm(server_, 1, 10000, 500);
  EXPECT_EQ(admitted(second).size(), 500u);
  expectOneRowEach(server_, admitted(attempts), milliseconds(20000));
  expectOneRowEach(server_, admitted(second), milliseconds(20000));
  EXPECT_GT(countCode(attempts, "UNAVAILABLE") + countCode(attempts, "OUTCOME_UNKNOWN"), 0);
  expectCleanAudit(server_);
}

TEST_F(RedisFaults, FrozenAndResumedEveryRequestIsAnsweredAndNothingIsLost) {
  std::vector<Attempt> attempts;
  redis_.freeze();
  std::thread buyers([&] { attempts = storm(server_, 1, 1, 64, 64); });
  buyers.join();
  EXPECT_EQ(admitted(attempts).size(), 0u);
  for (const Attempt& attempt : attempts) {
    EXPECT_EQ(attempt.status, 503);
  }
  redis_.resume();
  expectOrdersFlowAgain(server_, 1, 900001, milliseconds(10000));
  // Requests that were sent into the frozen server may have been admitted when it thawed; each then has a
  // row.
  expectCleanAudit(server_);
}

TEST_F(RedisFaults, FrozenInTheStormEveryAnswerIsTrueAndEachHasOneRow) {
  std::vector<Attempt> attempts;
  std::thread buyers([&] { attempts = storm(server_, 1, 1, 2000); });
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(20000), [&] {
    return redis_.number({"HGET", "sluice:{0}:voucher:1", "stock"}) < kStock - 100;
  }));
  redis_.freeze();
  std::this_thread::sleep_for(milliseconds(3500));
  redis_.resume();
  buyers.join();
  expectHonest(attempts);
  expectOrdersFlowAgain(server_, 1, 900001, milliseconds(10000));
  const auto winners = askAgain(server_, 1, attempts, milliseconds(10000));
  expectOneRowEach(server_, winners, milliseconds(20000));
  expectCleanAudit(server_);
}

TEST_F(RedisFaults, EmptiedInMidSaleNothingIsRefilledUntilAnOperatorLoadsIt) {
  const auto first = admitted(storm(server_, 1, 1, 1000));
  ASSERT_EQ(first.size(), 1000u);
  redis_.command({"FLUSHALL"});
  EXPECT_TRUE(
      ServerProcess::eventually(milliseconds(1000), [&] { return server_.order(1, 500000).status != 202; }));
  const auto refused = storm(server_, 1, 600000, 100);
  EXPECT_EQ(countCode(refused, "UNAVAILABLE"), 100);
  server_.terminate();
  server_.start();
  EXPECT_EQ(countCode(storm(server_, 1, 700000, 20), "UNAVAILABLE"), 20);
  EXPECT_EQ(redis_.number({"EXISTS", "sluice:{0}:voucher:1"}), 0);

  const auto loaded = server_.command({"voucher", "load", "1"});
  ASSERT_EQ(loaded.exitCode, 0) << loaded.output;
  const auto stored = queryNumber(server_.dataDir() + "/sluice.db", "SELECT count(*) FROM orders");
  EXPECT_EQ(redis_.number({"HGET", "sluice:{0}:voucher:1", "stock"}), kStock - stored);
  // Who has a row cannot buy again; who lost his admission with Redis can.
  const HttpReply again = server_.order(1, first.back().user);
  EXPECT_TRUE(again.status == 409 || again.status == 202) << again.body;
  expectOrdersFlowAgain(server_, 1, 900001, milliseconds(5000));
}

TEST_F(RedisFaults, WhatWasCountedAndHasNoRowIsReportedAsANumber) {
  // Nothing is stored, so that all of it is in Redis alone when it is emptied.
  server_.terminate();
  server_.start({{"role", "front"}});
  const auto winners = admitted(storm(server_, 1, 1, 300));
  ASSERT_EQ(winners.size(), 300u);
  std::this_thread::sleep_for(milliseconds(2500));  // counts are written every second
  redis_.command({"FLUSHALL"});
  const auto audit = server_.command({"audit"});
  EXPECT_EQ(audit.exitCode, 1) << audit.output;
  EXPECT_NE(audit.output.find("300"), std::string::npos) << audit.output;
  EXPECT_NE(audit.output.find("known to nobody"), std::string::npos) << audit.output;
}

TEST_F(RedisFaults, WithItsMemoryFullNobodyIsAdmittedAndTheStockStays) {
  redis_.command({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = storm(server_, 1, 1, 50);
  EXPECT_EQ(countCode(refused, "UNAVAILABLE"), 50);
  redis_.command({"CONFIG", "SET", "maxmemory", "0"});
  expectOrdersFlowAgain(server_, 1, 900001, milliseconds(5000));
  EXPECT_EQ(redis_.number({"HGET", "sluice:{0}:voucher:1", "stock"}), kStock - 1);
  expectCleanAudit(server_);
}

TEST_F(RedisFaults, WithItsMemoryFullWhatWasAdmittedIsStoredAllTheSame) {
  server_.terminate();
  server_.start({{"role", "front"}});
  const auto winners = admitted(storm(server_, 1, 1, 300));
  ASSERT_EQ(winners.size(), 300u);
  server_.terminate();
  redis_.command({"CONFIG", "SET", "maxmemory", "1"});
  server_.start();
  expectOneRowEach(server_, winners, milliseconds(20000));
  expectCleanAudit(server_);
  EXPECT_EQ(server_.order(1, 900000).status, 503);
  redis_.command({"CONFIG", "SET", "maxmemory", "0"});
  expectOrdersFlowAgain(server_, 1, 900001, milliseconds(5000));
  expectCleanAudit(server_);
}

TEST_F(RedisFaults, ScriptCacheAndConnectionsMayBeThrownAwayAtAnyTime) {
  std::atomic<bool> done{false};
  std::thread vandal([&] {
    while (!done) {
      redis_.command({"SCRIPT", "FLUSH"});
      std::this_thread::sleep_for(milliseconds(20));
      redis_.command({"CLIENT", "KILL", "TYPE", "normal"});
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  const auto attempts = storm(server_, 1, 1, 3000);
  done = true;
  vandal.join();
  expectOneRowEach(server_, admitted(attempts), milliseconds(20000));
  expectOrdersFlowAgain(server_, 1, 900001, milliseconds(5000));
  expectCleanAudit(server_);
}

TEST_F(RedisFaults, AnOverwrittenCounterFreezesTheSale) {
  redis_.command({"HSET", "sluice:{0}:voucher:1", "stock", "5000000"});
  const auto refused = storm(server_, 1, 1, 10);
  EXPECT_EQ(countCode(refused, "FROZEN"), 10);
  EXPECT_EQ(server_.command({"audit"}).exitCode, 1);
}

// Level L0: the answer says so, and after a kill the sale stands until an operator acts.
TEST(RedisWithoutAppendOnlyFile, KilledTheAuditSaysHowManyWereLostAndNobodyHearsSoldOut) {
  PrivateRedis redis({"--appendonly", "no"});
  ServerProcess server({{"redis.socket", redis.target().socketPath}, {"role", "front"}});
  server.start();
  server.createVoucher(1, 200);
  const auto winners = admitted(storm(server, 1, 1, 200));
  ASSERT_EQ(winners.size(), 200u);
  EXPECT_EQ(server.order(1, 500).status, 409);
  std::this_thread::sleep_for(milliseconds(2500));  // counts are written every second
  const std::string trusted = "redis is trusted";
  const std::size_t first = server.log().find(trusted);
  redis.kill();
  redis.start();
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(10000), [&] {
    return server.log().find(trusted, first + 1) != std::string::npos;
  })) << "the new server is noticed and used";
  EXPECT_EQ(server.order(1, 501).status, 503);
  EXPECT_EQ(countCode(storm(server, 1, 1, 200), "UNAVAILABLE"), 200) << "not even a winner hears SOLD_OUT";
  EXPECT_EQ(jsonMember(server.command({"audit", "--json"}).output, "unaccounted"), "200");
  const auto loaded = server.command({"voucher", "load", "1"});
  ASSERT_EQ(loaded.exitCode, 0) << loaded.output;
  HttpReply again = server.order(1, 501);
  EXPECT_EQ(again.status, 202) << again.body;
  EXPECT_EQ(again.headers["sluice-durability"], "L0");
}

}  // namespace
}  // namespace sluice::test
