// A server with nothing to do: it says nothing, reconnects nothing, opens nothing and takes no processor time.
#include <algorithm>
#include <iostream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fault/sale.h"
#include "support/effort.h"
#include "support/footprint.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void expectQuiet(const ServerProcess::Sets& sets) {
  PrivateRedis redis;
  ServerProcess::Sets all = sets;
  all.emplace_back("redis.socket", redis.target().socketPath);
  ServerProcess server(all);
  server.start();
  server.createVoucher(1, 100);
  expectOneRowEach(server, admitted(storm(server, 1, 1, 50)), milliseconds(20000));
  std::this_thread::sleep_for(scaled(milliseconds(2000)));  // what the storm set in motion comes to rest

  const auto connectionsSoFar = [&] {
    const std::string info = redis.text({"INFO", "stats"});
    const std::string key = "total_connections_received:";
    return std::stoll(info.substr(info.find(key) + key.size()));
  };
  const std::int64_t connectionsBefore = connectionsSoFar();
  const std::size_t linesBefore = lines(server.log());
  const Footprint before = footprintOf(server.pid());
  const milliseconds idle = sized(milliseconds(15000), milliseconds(600000));
  std::this_thread::sleep_for(idle);
  const Footprint after = footprintOf(server.pid());
  const double seconds = static_cast<double>(idle.count()) / 1000;
  const double share = (after.cpuSeconds - before.cpuSeconds) / seconds;
  std::cout << "idle for " << seconds << " s: " << share * 100 << " % of a processor, threads "
            << after.threads << ", descriptors " << after.descriptors << ", resident KiB " << before.memoryKiB
            << " -> " << after.memoryKiB << '\n';

  EXPECT_LT(share, 0.01);
  EXPECT_EQ(lines(server.log()), linesBefore) << server.log();
  // One of the two connections in between is this test's own question.
  EXPECT_LE(connectionsSoFar() - connectionsBefore, 1);
  EXPECT_EQ(metric(server, "sluice_redis_reconnects_total"), 0);
  EXPECT_EQ(metric(server, "sluice_queue_reconnects_total"), 0);
  EXPECT_EQ(metric(server, "sluice_ready"), 1);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_LE(after.descriptors, before.descriptors + 6);  // three more readers of the store may be open
  EXPECT_LE(after.memoryKiB, before.memoryKiB + 1024);
  EXPECT_EQ(server.log().find("warning"), std::string::npos) << server.log();
  expectOrdersFlowAgain(server, 1, 1000, milliseconds(5000));
  expectCleanAudit(server);
}

TEST(Idle, AServerWithNothingToDoIsQuiet) { expectQuiet({}); }

TEST(Idle, AServerThatForwardsAndHasNothingToDoIsQuiet) {
  expectQuiet({{"queue", "inproc"}, {"journal", "on"}});
}

}  // namespace
}  // namespace sluice::test
