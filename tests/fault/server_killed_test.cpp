// The server is killed with admissions waiting. With the stream each ends as exactly one row; with the
// in-process queue they are lost, and the audit lists them order by order.
#include <set>

#include <gtest/gtest.h>

#include "fault/sale.h"

namespace sluice::test {
namespace {

constexpr int kOrders = 2000;

// A lease that a test can wait for.
const std::pair<std::string, std::string> kShortLease = {"queue.stream.lease", "2s"};

TEST(ServerKilled, WithTheStreamEveryAdmissionBecomesOneRow) {
  ServerProcess server(ServerProcess::Sets{{"queue", "stream"}, kShortLease});
  // Slow enough that nearly all wait when the server dies, in the middle of storing.
  server.start({{"fulfilment.pace", "20ms"}});
  server.createVoucher(1, kOrders + 100);
  const auto winners = admitted(storm(server, 1, 1, kOrders));
  ASSERT_EQ(winners.size(), static_cast<std::size_t>(kOrders));
  server.kill();
  const auto storedBefore = queryNumber(server.dataDir() + "/sluice.db", "SELECT count(*) FROM orders");
  EXPECT_LT(storedBefore, kOrders / 2);
  server.start();
  expectOneRowEach(server, winners, milliseconds(30000));
  expectCleanAudit(server);
  expectOrdersFlowAgain(server, 1, 1'000'000, milliseconds(10000));
}

TEST(ServerKilled, WithTheInProcessQueueTheAuditListsEachLostOrderAndItsUser) {
  ServerProcess server(ServerProcess::Sets{{"queue", "inproc"}, {"journal", "off"}, {"process.lease", "2s"}});
  server.start({{"fulfilment.pace", "20ms"}});
  server.createVoucher(1, kOrders + 100);
  const auto winners = admitted(storm(server, 1, 1, kOrders));
  ASSERT_EQ(winners.size(), static_cast<std::size_t>(kOrders));
  // What waits in a live process is not lost.
  const auto before = server.command({"audit", "--json"});
  EXPECT_EQ(before.exitCode, 0) << before.output.substr(0, 2000);
  server.kill();
  server.start();
  const auto rows = rowsById(server.dataDir() + "/sluice.db");
  // The dead process' number is held until its lease runs out; until then its memory might still exist.
  ServerProcess::CommandResult audit;
  ASSERT_TRUE(ServerProcess::eventually(milliseconds(30000), [&] {
    audit = server.command({"audit"});
    return audit.exitCode == 1;
  })) << audit.output.substr(0, 2000);
  std::size_t lost = 0;
  for (const Attempt& winner : winners) {
    if (rows.count(winner.order) != 0) continue;
    ++lost;
    if (lost > 50) continue;  // the table shows a page; fifty are proof enough that ids and users are there
    EXPECT_NE(audit.output.find(winner.order), std::string::npos);
    EXPECT_NE(audit.output.find(std::to_string(winner.user)), std::string::npos);
  }
  EXPECT_GT(lost, static_cast<std::size_t>(kOrders / 2));
  const auto json = server.command({"audit", "--json"}).output;
  EXPECT_EQ(jsonMember(json, "lost"), std::to_string(lost)) << json.substr(0, 1000);
  expectOrdersFlowAgain(server, 1, 1'000'000, milliseconds(10000));
}

TEST(ServerKilled, InTheMiddleOfTheStormEveryAnswerThatWasGivenHolds) {
  ServerProcess server(ServerProcess::Sets{kShortLease});
  server.start();
  server.createVoucher(1, 100000);
  std::vector<Attempt> all;
  for (int round = 0; round < 3; ++round) {
    std::vector<Attempt> attempts;
    std::thread buyers([&] { attempts = storm(server, 1, 1 + round * 100000, 3000); });
    std::this_thread::sleep_for(milliseconds(150));
    server.kill();
    buyers.join();
    server.start();
    const auto winners = admitted(attempts);
    all.insert(all.end(), winners.begin(), winners.end());
  }
  EXPECT_FALSE(all.empty());
  expectOneRowEach(server, all, milliseconds(30000));
  expectCleanAudit(server);
}

TEST(ServerEnded, FinishesWhatItHasAndExitsWithoutAnError) {
  ServerProcess server;
  server.start();
  server.createVoucher(1, 1000);
  const auto winners = admitted(storm(server, 1, 1, 500));
  EXPECT_EQ(server.terminate(), 0);
  server.start();
  expectOneRowEach(server, winners, milliseconds(10000));
  expectCleanAudit(server);
}

}  // namespace
}  // namespace sluice::test
