// Workers come and go: what one hands back when it is ended reaches the others long before any lease, and its
// record in the queue goes only once it owns nothing. Many orders leave nothing behind.
#include <iostream>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "fault/fleet.h"
#include "support/effort.h"
#include "support/faulty_engine.h"
#include "support/footprint.h"

namespace sluice::test {
namespace {

milliseconds bound() { return scaled(milliseconds(30'000)); }

// Nobody else writes to the file while this lives.
class Locked {
 public:
  explicit Locked(const std::string& file) {
    EXPECT_EQ(sqlite3_open_v2(file.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    sqlite3_busy_timeout(database_, 20'000);
    EXPECT_EQ(sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~Locked() { sqlite3_close(database_); }  // rolls back
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  sqlite3* database_ = nullptr;
};

class Workers : public testing::Test {
 protected:
  Workers() { front_.start({{"role", "front"}}); }
  void sell() { front_.createVoucher(1, 100'000); }
  [[nodiscard]] std::string database() const { return front_.dataDir() + "/sluice.db"; }
  [[nodiscard]] std::int64_t rows() const { return queryNumber(database(), "SELECT count(*) FROM orders"); }
  // Of the consumers in the group that are processes: how many there are, and what they own.
  struct Consumers {
    std::int64_t count = 0;
    std::int64_t pending = 0;
  };
  Consumers consumers() {
    const RedisReply reply = redis_.command({"XINFO", "CONSUMERS", "sluice:{0}:orders", "fulfilment"});
    Consumers seen;
    for (std::size_t k = 0; k < reply.value().size(); ++k) {
      const RedisValue facts = reply.value()[k];
      if (facts[1].text() == "~later") continue;
      ++seen.count;
      seen.pending += facts[3].integer();
    }
    return seen;
  }
  [[nodiscard]] ServerProcess::Sets shared() const {
    return {{"redis.socket", redis_.target().socketPath}, {"data.dir", data_.path()}};
  }

  PrivateRedis redis_;
  TempFolder data_;
  ServerProcess front_{shared()};
};

TEST_F(Workers, OneThatIsEndedWithMessagesInItsHandsGivesThemToTheOthersLongBeforeTheLease) {
  ServerProcess::Sets patient = shared();
  patient.insert(patient.end(), {{"role", "worker"}, {"queue.stream.lease", "1h"}});
  ServerProcess one(patient);
  ServerProcess other(patient);
  sell();
  one.start();
  auto locked = std::make_unique<Locked>(database());
  const auto winners = admitted(storm(front_, 1, 1, 300));
  ASSERT_EQ(winners.size(), 300U);
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return consumers().pending > 0; }));
  EXPECT_EQ(one.terminate(), 0) << one.log();
  EXPECT_EQ(consumers().pending, 0) << "the dead own nothing";
  other.start();
  const auto begun = std::chrono::steady_clock::now();
  locked.reset();
  expectOneRowEach(front_, winners, bound());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::minutes(5));
  expectCleanAudit(front_);
}

TEST_F(Workers, EndedInTurnsInTheStormEachFinishesAndNothingWaitsForALease) {
  ServerProcess::Sets patient = shared();
  patient.insert(patient.end(), {{"role", "worker"}, {"queue.stream.lease", "1h"}});
  ServerProcess one(patient);
  ServerProcess other(patient);
  sell();
  one.start();
  other.start();
  std::vector<Attempt> attempts;
  std::thread buyers([&] { attempts = storm(front_, 1, 1, 3'000, 8); });
  for (int round = 0; round < sized(4, 20); ++round) {
    ServerProcess& leaving = round % 2 == 0 ? one : other;
    std::this_thread::sleep_for(milliseconds(300));
    EXPECT_EQ(leaving.terminate(), 0) << leaving.log();
    leaving.start();
  }
  buyers.join();
  expectOneRowEach(front_, admitted(attempts), bound());
  expectCleanAudit(front_);
}

TEST_F(Workers, TheRecordOfADeadOneStaysAsLongAsItOwnsSomethingAndGoesThen) {
  ServerProcess::Sets hasty = shared();
  const milliseconds lease = scaled(milliseconds(6'000));
  hasty.insert(hasty.end(), {{"role", "worker"},
                             {"queue.stream.lease", std::to_string(lease.count()) + "ms"},
                             {"queue.stream.consumer.retire", "1s"}});
  ServerProcess dying(hasty);
  ServerProcess living(hasty);
  sell();
  dying.start();
  auto locked = std::make_unique<Locked>(database());
  const auto winners = admitted(storm(front_, 1, 1, 100));
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return consumers().pending > 0; }));
  dying.kill();
  living.start();
  std::this_thread::sleep_for(lease / 2);
  EXPECT_EQ(consumers().count, 2) << "older than consumer.retire, and still the owner of its messages";
  locked.reset();
  expectOneRowEach(front_, winners, bound());
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return consumers().count == 1; }));
  expectCleanAudit(front_);
}

// A worker of its own process; the front is here, so that buyers cost no connections.
TEST(ManyOrders, LeaveNothingBehindInRedisNorInTheProcesses) {
  const std::int64_t orders = sized<std::int64_t>(50'000, 1'000'000);
  PrivateRedis redis;
  TempFolder data;
  const Settings shared = {{"redis.socket", redis.target().socketPath}, {"data.dir", data.path()}};
  Settings own = shared;
  own.insert(own.end(), {{"role", "front"}, {"log.file", data.file("front.log")}});
  ServerProcess worker({shared.begin(), shared.end()});
  worker.start({{"role", "worker"}});
  FaultyEngine front(own);
  front.start();
  const auto journal = [&] { return redis.number({"XLEN", "sluice:{0}:orders"}); };
  const auto memory = [&] {
    redis.command({"MEMORY", "PURGE"});
    const std::string info = redis.text({"INFO", "memory"});
    const std::string key = "used_memory:";
    return std::stoll(info.substr(info.find(key) + key.size()));
  };
  // Holds are the voucher's and stay as long as it does; what the orders leave beside them is asked here.
  const auto carry = [&](std::int64_t voucher, std::int64_t count) {
    front.sell(VoucherId(voucher), count);
    for (const OrderAnswer& answer : front.orderAll(VoucherId(voucher), count)) {
      ASSERT_EQ(answer.verdict, Verdict::Admitted);
    }
    EXPECT_TRUE(ServerProcess::eventually(milliseconds(600'000), [&] { return journal() == 0; }))
        << journal();
    for (const char* kind : {"voucher", "holds", "eligible", "keys"}) {
      redis.command({"DEL", "sluice:{0}:" + std::string(kind) + ":" + std::to_string(voucher)});
    }
  };
  carry(1, orders / 2);
  const std::int64_t memoryBefore = memory();
  const Footprint workerBefore = footprintOf(worker.pid());
  const Footprint frontBefore = footprint();
  carry(2, orders);
  const std::int64_t memoryAfter = memory();
  const Footprint workerAfter = footprintOf(worker.pid());
  const Footprint frontAfter = footprint();
  std::cout << orders << " orders: Redis " << memoryBefore << " -> " << memoryAfter << " bytes, worker "
            << workerBefore.memoryKiB << " -> " << workerAfter.memoryKiB << " KiB, front "
            << frontBefore.memoryKiB << " -> " << frontAfter.memoryKiB << " KiB\n";
  EXPECT_LE(memoryAfter, memoryBefore + 1'000'000);
  EXPECT_EQ(redis.number({"ZCARD", "sluice:{0}:retry"}), 0);
  EXPECT_EQ(redis.number({"HLEN", "sluice:{0}:failures"}), 0);
  EXPECT_LE(workerAfter.descriptors, workerBefore.descriptors + 4);
  EXPECT_LE(workerAfter.threads, workerBefore.threads);
  if (memoryCounts()) {
    EXPECT_LE(workerAfter.memoryKiB, workerBefore.memoryKiB + 16 * 1024);
    EXPECT_LE(frontAfter.memoryKiB, frontBefore.memoryKiB + 16 * 1024);
  }
  EXPECT_EQ(queryNumber(data.file("sluice.db"), "SELECT count(*) FROM orders"), orders + orders / 2);
}

}  // namespace
}  // namespace sluice::test
