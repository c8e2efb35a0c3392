// The in-process queue with the journal on: what a process held when it died is in the journal, and is read again by
// the next one.
#include <algorithm>
#include <csignal>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "fault/sale.h"
#include "support/effort.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

// Leases that a test can wait for.
const ServerProcess::Sets kForwarded = {{"queue", "inproc"},       {"journal", "on"},
                                        {"process.lease", "2s"},   {"forwarder.lease", "1s"},
                                        {"forwarder.stale", "2s"}, {"orders.pay.within", "1h"}};

ServerProcess::Sets with(const ServerProcess::Sets& more) {
  ServerProcess::Sets all = kForwarded;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(ForwarderKilled, WithTheJournalOnTheInProcessQueueLosesNothing) {
  constexpr int kOrders = 2000;
  ServerProcess server(kForwarded);
  // Slow enough that nearly all wait when the server dies, in the middle of storing.
  server.start({{"fulfilment.pace", "20ms"}});
  server.createVoucher(1, kOrders + 100);
  const auto winners = admitted(storm(server, 1, 1, kOrders));
  ASSERT_EQ(winners.size(), static_cast<std::size_t>(kOrders));
  EXPECT_NE(server.get("/readyz").body.find(R"("durability":"L1")"), std::string::npos)
      << "that of Redis: " << server.get("/readyz").body;
  server.kill();
  EXPECT_LT(queryNumber(server.dataDir() + "/sluice.db", "SELECT count(*) FROM orders"), kOrders / 2);
  server.start();
  expectOneRowEach(server, winners, scaled(milliseconds(30'000)));
  expectCleanAudit(server);
  expectOrdersFlowAgain(server, 1, 1'000'000, scaled(milliseconds(10'000)));
}

TEST(ForwarderKilled, AgainAndAgainInTheStormEveryAnswerThatWasGivenHolds) {
  ServerProcess server(kForwarded);
  server.start();
  server.createVoucher(1, 100'000);
  std::vector<Attempt> winners;
  for (int round = 0; round < sized(3, 20); ++round) {
    std::vector<Attempt> attempts;
    std::thread buyers([&] { attempts = storm(server, 1, 1 + round * 100'000, 2000); });
    std::this_thread::sleep_for(milliseconds(150));
    server.kill();
    buyers.join();
    server.start();
    const auto more = admitted(attempts);
    winners.insert(winners.end(), more.begin(), more.end());
  }
  EXPECT_FALSE(winners.empty());
  expectOneRowEach(server, winners, scaled(milliseconds(30'000)));
  expectCleanAudit(server);
}

TEST(ForwarderEnded, LeavesWhatWaitsToTheNextAndStopsAtOnce) {
  ServerProcess server(kForwarded);
  server.start({{"fulfilment.pace", "20ms"}});
  server.createVoucher(1, 1000);
  const auto winners = admitted(storm(server, 1, 1, 500));
  ASSERT_EQ(winners.size(), 500U);
  const SteadyTime before = std::chrono::steady_clock::now();
  EXPECT_EQ(server.terminate(), 0) << server.log();
  EXPECT_LT(std::chrono::steady_clock::now() - before, scaled(milliseconds(5'000)));
  EXPECT_EQ(server.log().find("lost"), std::string::npos) << "nothing was: " << server.log();
  server.start();
  expectOneRowEach(server, winners, scaled(milliseconds(20'000)));
  expectCleanAudit(server);
}

TEST(ForwarderFull, AnswersGoOnUntilTheJournalIsFullThenEveryoneIsBusyAndNothingIsTaken) {
  ServerProcess server(with({{"queue.inproc.capacity", "50"}, {"journal.max", "300"}}));
  server.start({{"fulfilment.pace", "100ms"}});
  server.createVoucher(1, 1000);
  const auto attempts = storm(server, 1, 1, 600);
  const auto winners = admitted(attempts);
  EXPECT_GE(winners.size(), 300U) << "the capacity of the queue is no limit";
  EXPECT_LE(winners.size(), 400U);
  EXPECT_EQ(countCode(attempts, "BUSY") + static_cast<int>(winners.size()), 600);
  EXPECT_EQ(server.get("/readyz").status, 200) << server.get("/readyz").body;
  EXPECT_EQ(server.terminate(), 0);
  server.start();
  expectOneRowEach(server, winners, scaled(milliseconds(20'000)));
  expectCleanAudit(server);
}

TEST(ForwarderGarbage, InTheJournalIsPutAsideAndSaidAndStopsNobody) {
  PrivateRedis redis;
  ServerProcess server(with({{"redis.socket", redis.target().socketPath}}));
  server.start();
  server.createVoucher(1, 1000);
  redis.command({"XADD", "sluice:{0}:orders", "*", "o", "rubbish"});
  redis.command({"XADD", "sluice:{0}:orders", "*", "other", "field"});
  const auto winners = admitted(storm(server, 1, 1, 50));
  expectOneRowEach(server, winners, scaled(milliseconds(20'000)));
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] {
    return redis.number({"XLEN", "sluice:{0}:dead"}) == 2 && redis.number({"XLEN", "sluice:{0}:orders"}) == 0;
  }));
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(5'000)), [&] {
    return server.get("/readyz").body.find("2 entries of the journal did not decode") != std::string::npos;
  })) << server.get("/readyz").body;
  expectCleanAudit(server);
}

class TwoForwarders : public testing::Test {
 protected:
  [[nodiscard]] static bool leads(const ServerProcess& server) {
    return metric(server, "sluice_forwarder_leads") == 1;
  }
  // Which of both leads; they change places until it is `one_`.
  void startBoth() {
    one_.start({{"fulfilment.pace", "5ms"}});
    ASSERT_TRUE(ServerProcess::eventually(scaled(milliseconds(10'000)), [&] { return leads(one_); }));
    other_.start();
    other_.createVoucher(1, 100'000);
  }
  std::vector<Attempt> stormBoth(std::int64_t first, int count) {
    std::vector<Attempt> mine;
    std::vector<Attempt> others;
    std::thread one([&] { mine = storm(one_, 1, first, count, 8); });
    others = storm(other_, 1, first + 1'000'000, count, 8);
    one.join();
    mine.insert(mine.end(), others.begin(), others.end());
    return admitted(mine);
  }
  void expectTakenOver() {
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] { return leads(other_); }));
  }
  void expectEachOnce(const std::vector<Attempt>& winners) {
    expectOneRowEach(other_, winners, scaled(milliseconds(30'000)));
    std::set<std::string> ids;
    for (const Attempt& winner : winners) {
      EXPECT_TRUE(ids.insert(winner.order).second) << "issued twice: " << winner.order;
    }
    expectCleanAudit(other_);
    expectOrdersFlowAgain(other_, 1, 900'001, scaled(milliseconds(10'000)));
  }

  PrivateRedis redis_;
  TempFolder data_;
  const ServerProcess::Sets shared_ =
      with({{"redis.socket", redis_.target().socketPath}, {"data.dir", data_.path()}});
  ServerProcess one_{shared_};
  ServerProcess other_{shared_};
};

TEST_F(TwoForwarders, TheLeaderKilledTheOtherReadsTheJournalAndStoresEachOnce) {
  startBoth();
  const auto winners = stormBoth(1, 800);
  EXPECT_EQ(winners.size(), 1600U);
  EXPECT_EQ(metric(other_, "sluice_forwarder_forwarded_total"), 0) << "one moves, the other only admits";
  one_.kill();
  expectTakenOver();
  expectEachOnce(winners);
}

TEST_F(TwoForwarders, TheLeaderFrozenTheOtherTakesOverAndTheFirstDoesNoHarmWhenItGoesOn) {
  startBoth();
  auto winners = stormBoth(1, 400);
  // Outside of a transaction: the file of the store has one writer for all.
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(30'000)), [&] {
    one_.resume();
    std::this_thread::sleep_for(milliseconds(7));
    one_.freeze();
    return canBeWritten(other_.dataDir() + "/sluice.db");
  }));
  expectTakenOver();
  const auto more = admitted(storm(other_, 1, 5'000'000, 200));
  EXPECT_EQ(more.size(), 200U);
  winners.insert(winners.end(), more.begin(), more.end());
  expectOneRowEach(other_, winners, scaled(milliseconds(30'000)));
  one_.resume();
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] {
    return one_.get("/readyz").body.find("led by") != std::string::npos;
  })) << one_.get("/readyz").body;
  const auto late = stormBoth(20'000, 200);
  winners.insert(winners.end(), late.begin(), late.end());
  expectEachOnce(winners);
}

TEST_F(TwoForwarders, TheLeaderEndedTheOtherGoesOnAtOnce) {
  startBoth();
  const auto winners = stormBoth(1, 300);
  EXPECT_EQ(one_.terminate(), 0) << one_.log();
  expectTakenOver();
  expectEachOnce(winners);
}

}  // namespace
}  // namespace sluice::test
