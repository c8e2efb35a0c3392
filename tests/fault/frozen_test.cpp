// A server that is stopped for longer than its leases, alone or with its Redis, and goes on; one that is killed
// together with its Redis, and one whose Redis is killed alone.
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "fault/sale.h"
#include "support/effort.h"

namespace sluice::test {
namespace {

class Frozen : public testing::Test {
 protected:
  Frozen()
      : server_({{"process.lease", "2s"}, {"queue.stream.lease", "2s"}, {"redis.append.fsync", "always"}}) {
    server_.start();
    server_.createVoucher(1, 100'000);
  }
  [[nodiscard]] std::int64_t rows() const {
    return queryNumber(server_.dataDir() + "/sluice.db", "SELECT count(*) FROM orders");
  }
  // Buyers come while `fault` happens to the server, once the first orders are stored.
  template <typename Fault>
  std::vector<Attempt> stormDuring(Fault fault) {
    std::vector<Attempt> attempts;
    std::thread buyers([&] { attempts = storm(server_, 1, 1, kBuyers); });
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] { return rows() > 0; }));
    fault();
    buyers.join();
    return attempts;
  }
  void expectAllWellAfter(const std::vector<Attempt>& attempts) {
    expectOrdersFlowAgain(server_, 1, 900'001, scaled(milliseconds(15'000)));
    expectOneRowEach(server_, askAgain(server_, 1, attempts, scaled(milliseconds(10'000))),
                     scaled(milliseconds(20'000)));
    expectCleanAudit(server_);
  }
  // Stopped in the middle: most have not bought yet.
  void freezeFor(milliseconds time, bool family) {
    family ? server_.freezeFamily() : server_.freeze();
    EXPECT_LT(rows(), kBuyers);
    std::this_thread::sleep_for(time);
    EXPECT_LT(rows(), kBuyers);
    server_.resume();
  }
  static constexpr int kBuyers = 4000;
  ServerProcess server_;
};

TEST_F(Frozen, BeyondItsLeasesAndResumedItAnswersTheTruthAndGoesOn) {
  const auto attempts = stormDuring([this] { freezeFor(milliseconds(3'500), false); });
  expectHonest(attempts);
  expectAllWellAfter(attempts);
}

TEST_F(Frozen, TogetherWithItsRedisItAnswersTheTruthAndGoesOn) {
  ASSERT_EQ(server_.family().size(), 2U) << "the server and its Redis";
  const auto attempts = stormDuring([this] { freezeFor(milliseconds(3'500), true); });
  expectHonest(attempts);
  expectAllWellAfter(attempts);
}

TEST_F(Frozen, KilledTogetherWithItsRedisWhatWasSyncedIsThere) {
  const auto attempts = stormDuring([this] { server_.killFamily(); });
  EXPECT_GT(admitted(attempts).size(), 0U);
  EXPECT_LT(admitted(attempts).size(), static_cast<std::size_t>(kBuyers)) << "in the middle";
  server_.start();
  expectAllWellAfter(attempts);
}

TEST_F(Frozen, ItsRedisKilledAloneIsStartedAgainAndTheSaleGoesOn) {
  const auto attempts = stormDuring([this] {
    for (const pid_t member : server_.family()) {
      if (member != server_.pid()) ::kill(member, SIGKILL);
    }
  });
  expectHonest(attempts);
  expectAllWellAfter(attempts);
}

}  // namespace
}  // namespace sluice::test
