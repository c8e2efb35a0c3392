// The store is wrong or away: fulfilment pauses, says why, spends no retry, puts nothing aside, and goes on by
// itself once that is mended. Real servers, on every store.
#include <iostream>
#include <thread>

#include <gtest/gtest.h>

#include "fault/fleet.h"
#include "fault/slice.h"

namespace sluice::test {
namespace {

milliseconds bound() { return scaled(milliseconds(40'000)); }

struct Trouble {
  const char* name;
  const char* word;  // that /readyz says
  void (*begin)(FleetStore& store);
  void (*end)(FleetStore& store);
  bool ofAServer = false;
  bool needsAnOperator = true;  // or comes back by itself, as a server that was a replica for a while
};

const Trouble kTroubles[] = {
    {"SchemaEmpty", "orders", [](FleetStore& store) { store.run("ALTER TABLE orders RENAME TO hidden"); },
     [](FleetStore& store) { store.run("ALTER TABLE hidden RENAME TO orders"); }},
    {"VoucherUnknown", "no voucher 1",
     [](FleetStore& store) { store.run("UPDATE vouchers SET id = 990 WHERE id = 1"); },
     [](FleetStore& store) { store.run("UPDATE vouchers SET id = 1 WHERE id = 990"); }},
    {"PasswordWrong", "store", [](FleetStore& store) { EXPECT_TRUE(store.lockOut(true)); },
     [](FleetStore& store) { EXPECT_TRUE(store.lockOut(false)); }, true},
    {"ReadOnly", "store", [](FleetStore& store) { EXPECT_TRUE(store.setReadOnly(true)); },
     [](FleetStore& store) { EXPECT_TRUE(store.setReadOnly(false)); }, true, false},
};

struct WrongCase {
  std::string store;
  const Trouble* trouble = nullptr;
  [[nodiscard]] std::string name() const { return store + "_" + trouble->name; }
  friend std::ostream& operator<<(std::ostream& out, const WrongCase& of) { return out << of.name(); }
};

std::vector<WrongCase> allCases() {
  std::vector<WrongCase> all;
  for (const std::string& store : fleetStoreNames()) {
    for (const Trouble& trouble : kTroubles) {
      if (store != "sqlite" || !trouble.ofAServer) all.push_back({store, &trouble});
    }
  }
  return all;
}

class StoreWrong : public testing::TestWithParam<WrongCase> {};

// The front goes on admitting; a worker that starts into the trouble is no different from one that meets it.
TEST_P(StoreWrong, PausesSaysWhySpendsNothingAndGoesOnByItselfOnceMended) {
  const Trouble& trouble = *GetParam().trouble;
  PrivateRedis redis;
  TempFolder data;
  const auto store = makeFleetStore(GetParam().store, data.path());
  ServerProcess::Sets sets = {{"redis.socket", redis.target().socketPath},
                              {"data.dir", data.path()},
                              {"process.lease", "5m"},
                              {"fulfilment.failures.max", "1"}};
  for (const auto& set : store->sets())
    sets.push_back(set);
  ServerProcess front(sets);
  ServerProcess worker(sets);
  front.start({{"role", "front"}});
  front.createVoucher(1, 1000);
  const auto first = storm(front, 1, 1, 20);
  worker.start({{"role", "worker"}});
  EXPECT_TRUE(
      ServerProcess::eventually(bound(), [&] { return store->rowsById().size() == admitted(first).size(); }));
  trouble.begin(*store);
  const auto meanwhile = storm(front, 1, 100, 20);
  EXPECT_EQ(admitted(meanwhile).size(), 20U) << "admissions need no store";
  HttpReply ready;
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
    ready = worker.get("/readyz");
    return ready.status == 503 && ready.body.find("fulfilment is paused") != std::string::npos;
  })) << ready.body;
  EXPECT_NE(ready.body.find(trouble.word), std::string::npos) << ready.body;
  EXPECT_EQ(metric(worker, "sluice_fulfilment_paused"), 1);
  EXPECT_EQ(metric(worker, "sluice_fulfilment_alarmed"), trouble.needsAnOperator ? 1 : 0);
  std::this_thread::sleep_for(scaled(milliseconds(2'000)));
  trouble.end(*store);
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return store->rowsById().size() == 40U; }))
      << worker.get("/readyz").body;
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return worker.get("/readyz").status == 200; }))
      << worker.get("/readyz").body;
  EXPECT_EQ(metric(worker, "sluice_queue_dead_letters"), 0);
  EXPECT_EQ(metric(worker, "sluice_queue_redelivered_total"), 0) << "no retry was spent";
  expectCleanAudit(front);
}

INSTANTIATE_TEST_SUITE_P(All, StoreWrong, testing::ValuesIn(sliced(allCases(), 6)),
                         [](const auto& of) { return of.param.name(); });

struct AwayCase {
  std::string queue;
  std::string store;
  [[nodiscard]] std::string name() const { return queue + "_" + store; }
  friend std::ostream& operator<<(std::ostream& out, const AwayCase& of) { return out << of.name(); }
};

std::vector<AwayCase> awayCases() {
  std::vector<AwayCase> all;
  for (const FleetQueueName& queue : fleetQueueNames()) {
    for (const char* store : {"pg", "mysql"})
      all.push_back({queue.name, store});
  }
  return all;
}

class StoreAway : public testing::TestWithParam<AwayCase> {};

TEST_P(StoreAway, UnderLoadNothingIsPutAsideAndTheBacklogDrainsBesideTheSale) {
  Fleet fleet(GetParam().queue, GetParam().store,
              {{"process.lease", "5m"}, {"fulfilment.failures.max", "1"}});
  fleet.startStorm();
  fleet.awaitAdmitted(100);
  fleet.database().kill();
  const auto left = std::chrono::steady_clock::now();
  const std::size_t before = fleet.admittedSoFar();
  std::this_thread::sleep_for(sized(milliseconds(10'000), milliseconds(60'000)));
  const auto seconds = [](SteadyTime since) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
  };
  const std::size_t waiting = fleet.admittedSoFar() - before;
  const double arriving = static_cast<double>(waiting) / seconds(left);
  EXPECT_GT(waiting, 100U) << "admissions went on";
  fleet.database().start();
  const auto back = std::chrono::steady_clock::now();
  std::size_t more = 0;
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
    more = fleet.admittedSoFar() - before - waiting;
    return fleet.store().rowsById().size() + 100 > before + waiting + more;
  })) << "the backlog does not drain";
  const double draining = static_cast<double>(waiting + more) / seconds(back);
  std::cout << waiting << " waited, arriving at " << arriving << "/s; drained at " << draining
            << "/s, those that arrived meanwhile included\n";
  const auto attempts = fleet.stopStorm();
  fleet.expectOneRowEach(attempts, bound());
  fleet.expectCleanAudit(bound());
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(metric(fleet.worker(k), "sluice_queue_dead_letters"), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, StoreAway, testing::ValuesIn(sliced(awayCases(), 1)),
                         [](const auto& of) { return of.param.name(); });

}  // namespace
}  // namespace sluice::test
