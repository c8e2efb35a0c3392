// Two servers on one Redis and one store: one is killed or frozen in the middle of the storm, the other takes
// over what it held, and nothing is stored twice.
#include <algorithm>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "fault/sale.h"
#include "support/effort.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

class TwoServers : public testing::Test {
 protected:
  // Both storms at once, the second from other users; `meanwhile` runs beside them.
  template <typename Meanwhile>
  std::vector<Attempt> stormBoth(std::int64_t first, int count, Meanwhile meanwhile) {
    std::vector<Attempt> mine;
    std::vector<Attempt> others;
    std::thread one([&] { mine = storm(one_, 1, first, count, 8); });
    std::thread other([&] { others = storm(other_, 1, first + 1'000'000, count, 8); });
    meanwhile();
    one.join();
    other.join();
    mine.insert(mine.end(), others.begin(), others.end());
    return mine;
  }
  [[nodiscard]] std::int64_t sold() {
    return kStock - redis_.number({"HGET", "sluice:{0}:voucher:1", "stock"});
  }
  void awaitSold(std::int64_t pieces) {
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] { return sold() >= pieces; }));
  }
  // By one of these: whoever comes first takes all.
  static void expectTakenOver(const std::vector<const ServerProcess*>& by) {
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] {
      return std::any_of(by.begin(), by.end(), [](const ServerProcess* server) {
        return metric(*server, "sluice_queue_redelivered_total") >= 1;
      });
    }));
  }
  // Stops the first server within a transaction on the store, or outside of any.
  void freezeOne(bool withinATransaction) {
    const std::string file = one_.dataDir() + "/sluice.db";
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(30'000)), [&] {
      one_.resume();
      std::this_thread::sleep_for(milliseconds(7));
      one_.freeze();
      return canBeWritten(file) != withinATransaction;
    }));
  }
  // Who was told one of these ids has the row of that id, and no id was given to two.
  void expectEachHisOwn(const std::vector<Attempt>& winners) {
    expectOneRowEach(other_, winners, scaled(milliseconds(30'000)));
    std::set<std::string> ids;
    for (const Attempt& winner : winners) {
      EXPECT_TRUE(ids.insert(winner.order).second) << "issued twice: " << winner.order;
    }
    for (std::size_t k = 0; k < winners.size(); k += 97) {
      const std::string user = "SELECT user_id FROM orders WHERE id = " + winners[k].order;
      EXPECT_EQ(queryNumber(other_.dataDir() + "/sluice.db", user), winners[k].user);
    }
    expectCleanAudit(other_);
    expectOrdersFlowAgain(other_, 1, 900'001, scaled(milliseconds(10'000)));
  }

  static constexpr int kStock = 100'000;
  PrivateRedis redis_;
  TempFolder data_;
  const ServerProcess::Sets shared_ = {{"redis.socket", redis_.target().socketPath},
                                       {"data.dir", data_.path()},
                                       {"process.lease", "2s"},
                                       {"queue.stream.lease", "2s"}};
  ServerProcess one_{shared_};
  ServerProcess other_{shared_};
};

TEST_F(TwoServers, OneKilledInTheStormTheOtherTakesOverWhatItHeld) {
  // Slow, so that it dies with work in hand.
  one_.start({{"fulfilment.pace", "20ms"}});
  other_.start();
  other_.createVoucher(1, kStock);
  const auto attempts = stormBoth(1, 1500, [&] {
    awaitSold(400);
    one_.kill();
  });
  const auto winners = admitted(attempts);
  EXPECT_GT(winners.size(), 1500U) << "the other goes on";
  expectTakenOver({&other_});
  expectEachHisOwn(winners);
}

TEST_F(TwoServers, KilledInTurnsInTheStormEveryAnswerHolds) {
  one_.start();
  other_.start();
  other_.createVoucher(1, kStock);
  std::vector<Attempt> winners;
  for (int round = 0; round < sized(2, 10); ++round) {
    const std::int64_t before = sold();
    ServerProcess& victim = round % 2 == 0 ? one_ : other_;
    const auto attempts = stormBoth(1 + round * 10'000, 800, [&] {
      awaitSold(before + 300);
      victim.kill();
      victim.start();
    });
    const auto more = admitted(attempts);
    winners.insert(winners.end(), more.begin(), more.end());
  }
  expectEachHisOwn(winners);
}

TEST_F(TwoServers, OneFrozenBeyondItsLeasesAndResumedStoresNothingTwiceAndIssuesNoIdOfAnother) {
  one_.start({{"fulfilment.pace", "20ms"}});
  other_.start();
  other_.createVoucher(1, kStock);
  ServerProcess third(shared_);
  auto attempts = stormBoth(1, 600, [&] {
    awaitSold(200);
    freezeOne(false);
    std::this_thread::sleep_for(milliseconds(3'000));
    // The number of the frozen one is free by now; the third may take it, and issues ids under it.
    third.start();
    const auto more = storm(third, 1, 5'000'000, 200);
    EXPECT_EQ(admitted(more).size(), 200U);
    expectTakenOver({&other_, &third});
    one_.resume();
  });
  EXPECT_NE(one_.log().find("process number 0"), std::string::npos);
  EXPECT_NE(third.log().find("process number 0"), std::string::npos) << "taken over";
  const auto thirds = storm(third, 1, 6'000'000, 100);
  auto after = stormBoth(20'000, 200, [] {});
  expectHonest(after);
  attempts.insert(attempts.end(), after.begin(), after.end());
  attempts.insert(attempts.end(), thirds.begin(), thirds.end());
  EXPECT_EQ(admitted(thirds).size(), 100U);
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(10'000)), [&] {
    return one_.get("/readyz").status == 200;
  })) << one_.get("/readyz").body;
  expectEachHisOwn(admitted(attempts));
}

// SQLite has one writer at a time for all processes, and this one does not let go.
TEST_F(TwoServers, OneFrozenWithinItsTransactionTheOtherSaysWhatItCannotDoAndGoesOnAfterwards) {
  one_.start();
  other_.start();
  other_.createVoucher(1, kStock);
  std::vector<Attempt> attempts;
  auto early = stormBoth(1, 1000, [&] {
    awaitSold(200);
    freezeOne(true);
    // Admitted as long as the other's process number is leased, then refused: nothing is taken.
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(20'000)), [&] {
      const auto more = storm(other_, 1, 3'000'000 + static_cast<std::int64_t>(attempts.size()), 8);
      attempts.insert(attempts.end(), more.begin(), more.end());
      return countCode(more, "UNAVAILABLE") == 8;
    }));
    EXPECT_EQ(other_.get("/readyz").status, 503);
    one_.resume();
  });
  expectHonest(attempts);
  expectOrdersFlowAgain(other_, 1, 900'002, scaled(milliseconds(15'000)));
  auto winners = admitted(early);
  const auto others = askAgain(other_, 1, attempts, scaled(milliseconds(10'000)));
  winners.insert(winners.end(), others.begin(), others.end());
  expectEachHisOwn(winners);
}

}  // namespace
}  // namespace sluice::test
