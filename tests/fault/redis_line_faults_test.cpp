// The line between server and Redis breaks while people buy: it is cut, stalled, loses one direction, becomes
// slow. Every answer is true and in time, and once the line is whole everybody has what he was told.
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "fault/sale.h"
#include "support/effort.h"
#include "support/fault_proxy.h"
#include "support/manual_clock.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

class RedisLineFaults : public testing::Test {
 protected:
  RedisLineFaults() : server_({{"redis.host", "127.0.0.1"}, {"redis.port", std::to_string(proxy_.port())}}) {
    server_.start();
    server_.createVoucher(1, kStock);
  }
  // The line is whole: orders flow, everybody asks again, and each has one row.
  void expectAllWellAfter(const std::vector<Attempt>& attempts) {
    expectOrdersFlowAgain(server_, 1, 900'001, scaled(milliseconds(10'000)));
    const auto winners = askAgain(server_, 1, attempts, scaled(milliseconds(10'000)));
    expectOneRowEach(server_, winners, scaled(milliseconds(20'000)));
    expectCleanAudit(server_);
    EXPECT_EQ(queryNumber(server_.dataDir() + "/sluice.db", "SELECT count(*) FROM orders"),
              static_cast<std::int64_t>(attempts.size()) + 1)
        << "one order a user";
  }

  static constexpr int kStock = 100'000;
  PrivateRedis redis_;
  FaultProxy proxy_{{redis_.target().socketPath, 0}};
  ServerProcess server_;
};

TEST_F(RedisLineFaults, CutAgainAndAgainAnywhereInAMessageEveryAnswerIsTrue) {
  std::atomic<bool> done{false};
  std::thread vandal([&] {
    SeededRandom random(testSeed());
    while (!done) {
      const Way way = random.next() % 2 == 0 ? Way::ToServer : Way::ToClient;
      const Ending ending = random.next() % 2 == 0 ? Ending::Close : Ending::Reset;
      const std::uint64_t before = proxy_.cuts();
      proxy_.cutAfter(way, random.next() % 5000, ending);
      while (!done && proxy_.cuts() == before) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      std::this_thread::sleep_for(milliseconds(10));  // so that something gets through
    }
  });
  // As many buyers as it takes: a storm that is refused at once is over before much was cut.
  std::vector<Attempt> attempts;
  for (int round = 0; round < 20 && proxy_.cuts() < 20; ++round) {
    const auto more = storm(server_, 1, 1 + round * 1000, 1000);
    attempts.insert(attempts.end(), more.begin(), more.end());
  }
  done = true;
  vandal.join();
  proxy_.pass();
  EXPECT_GE(proxy_.cuts(), 10U);
  EXPECT_GT(admitted(attempts).size(), 0U);
  expectHonest(attempts);
  expectAllWellAfter(attempts);
}

TEST_F(RedisLineFaults, InPiecesAndSlowItIsOnlySlower) {
  for (const Way way : {Way::ToServer, Way::ToClient}) {
    proxy_.slice(way, 11);
    proxy_.delay(way, milliseconds(10));
  }
  const auto attempts = storm(server_, 1, 1, 200);
  EXPECT_EQ(admitted(attempts).size(), attempts.size());
  proxy_.pass();
  expectAllWellAfter(attempts);
}

struct Break {
  std::string name;
  std::function<void(FaultProxy&)> it;
  friend std::ostream& operator<<(std::ostream& out, const Break& fault) { return out << fault.name; }
};

class RedisLineBroken : public RedisLineFaults, public testing::WithParamInterface<Break> {};

TEST_P(RedisLineBroken, EveryRequestIsAnsweredByItsDeadlineAndTheSaleGoesOnByItself) {
  auto attempts = storm(server_, 1, 1, 100);
  EXPECT_EQ(admitted(attempts).size(), 100U);
  GetParam().it(proxy_);
  const auto meanwhile = storm(server_, 1, 10'000, 64, 64);
  expectHonest(meanwhile);
  EXPECT_EQ(admitted(meanwhile).size(), 0U);
  EXPECT_EQ(server_.get("/healthz").status, 200);
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(5'000)),
                                        [&] { return server_.get("/readyz").status == 503; }));
  const auto later = storm(server_, 1, 20'000, 16);
  expectHonest(later);
  proxy_.pass();
  attempts.insert(attempts.end(), meanwhile.begin(), meanwhile.end());
  attempts.insert(attempts.end(), later.begin(), later.end());
  expectAllWellAfter(attempts);
}

void refuseAll(FaultProxy& proxy) {
  proxy.refuse();
  proxy.cut(Ending::Reset);
}

INSTANTIATE_TEST_SUITE_P(
    Line, RedisLineBroken,
    testing::Values(Break{"Refused", refuseAll}, Break{"Stalled", [](FaultProxy& proxy) { proxy.stall(); }},
                    Break{"QuestionsLost", [](FaultProxy& proxy) { proxy.drop(Way::ToServer); }},
                    Break{"AnswersLost", [](FaultProxy& proxy) { proxy.drop(Way::ToClient); }}),
    [](const auto& fault) { return fault.param.name; });

}  // namespace
}  // namespace sluice::test
