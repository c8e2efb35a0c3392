// Somebody deletes the consumer group or the journal itself in the middle of a sale. Without its group the
// journal is read anew and nothing is lost; what was in a deleted journal is lost, and the audit names it.
#include <thread>

#include <gtest/gtest.h>

#include "fault/sale.h"
#include "support/effort.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

class JournalFaults : public testing::Test {
 protected:
  JournalFaults() : server_({{"redis.socket", redis_.target().socketPath}}) {}
  void startAndSell(const ServerProcess::Sets& more = {}) {
    server_.start(more);
    server_.createVoucher(1, kStock);
  }
  [[nodiscard]] std::int64_t rows() const {
    return queryNumber(server_.dataDir() + "/sluice.db", "SELECT count(*) FROM orders");
  }
  // Nothing else is wrong, and nothing waits any more.
  void expectLost(const std::vector<Attempt>& lost) {
    ServerProcess::CommandResult audit;
    const auto named = [&] {
      audit = server_.command({"audit", "--json"});
      return audit.exitCode == 1 && jsonMember(audit.output, "waiting") == "0" &&
             jsonMember(audit.output, "lost") == std::to_string(lost.size());
    };
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), named)) << audit.output;
    for (const Attempt& attempt : lost) {
      EXPECT_NE(audit.output.find(attempt.order), std::string::npos) << attempt.order << " is not named";
    }
    const std::string table = server_.command({"audit"}).output;
    EXPECT_EQ(table.find("VIOLATION CONSERVE"), std::string::npos) << table;
    EXPECT_EQ(table.find("VIOLATION NO_OVERSELL"), std::string::npos) << table;
  }

  static constexpr int kStock = 100'000;
  PrivateRedis redis_;
  ServerProcess server_;
};

TEST_F(JournalFaults, TheGroupDestroyedAgainAndAgainNothingIsLost) {
  startAndSell();
  std::atomic<bool> done{false};
  std::thread vandal([&] {
    while (!done) {
      redis_.command({"XGROUP", "DESTROY", "sluice:{0}:orders", "fulfilment"});
      std::this_thread::sleep_for(milliseconds(100));
    }
  });
  const auto attempts = storm(server_, 1, 1, 3000);
  done = true;
  vandal.join();
  EXPECT_EQ(admitted(attempts).size(), 3000U);
  expectOneRowEach(server_, admitted(attempts), scaled(milliseconds(20'000)));
  EXPECT_TRUE(ServerProcess::eventually(
      scaled(milliseconds(5'000)), [&] { return metric(server_, "sluice_queue_data_lost_total") >= 2; }));
  expectOrdersFlowAgain(server_, 1, 900'001, scaled(milliseconds(5'000)));
  expectCleanAudit(server_);
}

TEST_F(JournalFaults, DeletedBeforeAnythingWasStoredTheAuditNamesEachOrder) {
  startAndSell({{"role", "front"}});
  const auto winners = admitted(storm(server_, 1, 1, 200));
  ASSERT_EQ(winners.size(), 200U);
  server_.terminate();
  redis_.command({"DEL", "sluice:{0}:orders"});
  server_.start();
  expectLost(winners);
  EXPECT_EQ(rows(), 0);
  // Their holds stay: they were told that they have one, and nobody else gets it unseen.
  EXPECT_EQ(redis_.number({"HGET", "sluice:{0}:voucher:1", "stock"}), kStock - 200);
  EXPECT_EQ(jsonMember(server_.order(1, winners.front().user).body, "code"), "ALREADY_ORDERED");
  expectOrdersFlowAgain(server_, 1, 900'001, scaled(milliseconds(5'000)));
  expectLost(winners);
}

TEST_F(JournalFaults, DeletedInMidSaleEachOrderHasARowOrIsNamed) {
  startAndSell({{"fulfilment.pace", "2ms"}});
  std::vector<Attempt> attempts;
  std::thread buyers([&] { attempts = storm(server_, 1, 1, 500); });
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] { return rows() > 20; }));
  redis_.command({"DEL", "sluice:{0}:orders"});
  buyers.join();
  expectHonest(attempts);
  expectOrdersFlowAgain(server_, 1, 900'001, scaled(milliseconds(20'000)));
  const auto stored = rowsById(server_.dataDir() + "/sluice.db");
  std::vector<Attempt> lost;
  for (const Attempt& winner : admitted(attempts)) {
    if (stored.count(winner.order) == 0) lost.push_back(winner);
  }
  EXPECT_GT(lost.size(), 0U);
  expectLost(lost);
}

}  // namespace
}  // namespace sluice::test
