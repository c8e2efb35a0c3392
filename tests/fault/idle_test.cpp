// A server with nothing to do: it says nothing, reconnects nothing, opens nothing and takes no processor time.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fault/sale.h"
#include "support/effort.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

// What /proc tells of one process.
struct Usage {
  double cpuSeconds = 0;
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;
  std::int64_t residentPages = 0;
};

Usage usageOf(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream stat(folder + "/stat");
  const std::string line((std::istreambuf_iterator<char>(stat)), {});
  // The fields after the name, which may hold blanks: 3 is the first of them.
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::vector<std::string> all{std::istream_iterator<std::string>(fields), {}};
  const auto field = [&](std::size_t number) { return std::stoll(all.at(number - 3)); };
  Usage usage;
  usage.cpuSeconds = static_cast<double>(field(14) + field(15)) / static_cast<double>(sysconf(_SC_CLK_TCK));
  usage.threads = field(20);
  usage.residentPages = field(24);
  usage.descriptors = std::distance(std::filesystem::directory_iterator(folder + "/fd"), {});
  return usage;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Idle, AServerWithNothingToDoIsQuiet) {
  PrivateRedis redis;
  ServerProcess server({{"redis.socket", redis.target().socketPath}});
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
  const Usage before = usageOf(server.pid());
  const milliseconds idle = sized(milliseconds(15000), milliseconds(600000));
  std::this_thread::sleep_for(idle);
  const Usage after = usageOf(server.pid());
  const double seconds = static_cast<double>(idle.count()) / 1000;
  const double share = (after.cpuSeconds - before.cpuSeconds) / seconds;
  std::cout << "idle for " << seconds << " s: " << share * 100 << " % of a processor, threads "
            << after.threads << ", descriptors " << after.descriptors << ", resident pages "
            << before.residentPages << " -> " << after.residentPages << '\n';

  EXPECT_LT(share, 0.01);
  EXPECT_EQ(lines(server.log()), linesBefore) << server.log();
  // One of the two connections in between is this test's own question.
  EXPECT_LE(connectionsSoFar() - connectionsBefore, 1);
  EXPECT_EQ(metric(server, "sluice_redis_reconnects_total"), 0);
  EXPECT_EQ(metric(server, "sluice_queue_reconnects_total"), 0);
  EXPECT_EQ(metric(server, "sluice_ready"), 1);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_LE(after.descriptors, before.descriptors + 6);        // three more readers of the store may be open
  EXPECT_LE(after.residentPages, before.residentPages + 256);  // a megabyte
  EXPECT_EQ(server.log().find("warning"), std::string::npos) << server.log();
  expectOrdersFlowAgain(server, 1, 1000, milliseconds(5000));
  expectCleanAudit(server);
}

}  // namespace
}  // namespace sluice::test
