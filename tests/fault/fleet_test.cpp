// Two fronts and two workers under load, then one fault: afterwards orders flow again within half a minute,
// whoever was told 202 has exactly one row, and the audit is clean. Every fault with every queue and store in
// a campaign; a handful, chosen by the seed, otherwise.
#include "fault/fleet.h"

#include <algorithm>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "support/effort.h"

namespace sluice::test {
namespace {

// What breaks, and how it is mended. Needs a line to the store where it breaks that, or its server.
struct FleetFault {
  const char* name;
  void (*strike)(Fleet& fleet);
  void (*mend)(Fleet& fleet);
  bool ofTheStoresServer = false;
};

void refuseAll(FaultProxy& line) {
  line.refuse();
  line.cut(Ending::Reset);
}

// NOLINTBEGIN(readability-identifier-length): a table reads best in short lines
const FleetFault kFaults[] = {
    {"FrontKilled", [](Fleet& f) { f.front(0).kill(); }, [](Fleet& f) { f.front(0).start(); }},
    {"FrontFrozen", [](Fleet& f) { f.front(0).freeze(); }, [](Fleet& f) { f.front(0).resume(); }},
    {"BothFrontsKilled",
     [](Fleet& f) {
       f.front(0).kill();
       f.front(1).kill();
     },
     [](Fleet& f) {
       f.front(0).start();
       f.front(1).start();
     }},
    {"BothFrontsFrozen",
     [](Fleet& f) {
       f.front(0).freeze();
       f.front(1).freeze();
     },
     [](Fleet& f) {
       f.front(0).resume();
       f.front(1).resume();
     }},
    {"WorkerKilled", [](Fleet& f) { f.worker(0).kill(); }, [](Fleet& f) { f.worker(0).start(); }},
    {"WorkerFrozen", [](Fleet& f) { f.worker(0).freeze(); }, [](Fleet& f) { f.worker(0).resume(); }},
    {"BothWorkersKilled",
     [](Fleet& f) {
       f.worker(0).kill();
       f.worker(1).kill();
     },
     [](Fleet& f) {
       f.worker(0).start();
       f.worker(1).start();
     }},
    {"BothWorkersFrozen",
     [](Fleet& f) {
       f.worker(0).freeze();
       f.worker(1).freeze();
     },
     [](Fleet& f) {
       f.worker(0).resume();
       f.worker(1).resume();
     }},
    {"RedisKilled", [](Fleet& f) { f.redis().kill(); }, [](Fleet& f) { f.redis().start(); }},
    {"RedisFrozen", [](Fleet& f) { f.redis().freeze(); }, [](Fleet& f) { f.redis().resume(); }},
    {"RedisLineCut", [](Fleet& f) { refuseAll(f.redisLine()); }, [](Fleet& f) { f.redisLine().pass(); }},
    {"RedisLineHalfOpen", [](Fleet& f) { f.redisLine().stall(); },
     [](Fleet& f) {
       f.redisLine().cut(Ending::Reset);  // what was stalled never comes
       f.redisLine().pass();
     }},
    {"RedisLineStalled", [](Fleet& f) { f.redisLine().stall(); }, [](Fleet& f) { f.redisLine().pass(); }},
    {"RedisLineQuestionsLost", [](Fleet& f) { f.redisLine().drop(Way::ToServer); },
     [](Fleet& f) { f.redisLine().pass(); }},
    {"RedisLineAnswersLost", [](Fleet& f) { f.redisLine().drop(Way::ToClient); },
     [](Fleet& f) { f.redisLine().pass(); }},
    {"DatabaseKilled", [](Fleet& f) { f.store().kill(); }, [](Fleet& f) { f.store().start(); }, true},
    {"DatabaseFrozen", [](Fleet& f) { f.store().freeze(); }, [](Fleet& f) { f.store().resume(); }, true},
    {"DatabaseLineCut", [](Fleet& f) { refuseAll(*f.store().line()); },
     [](Fleet& f) { f.store().line()->pass(); }, true},
    {"DatabaseLineHalfOpen", [](Fleet& f) { f.store().line()->stall(); },
     [](Fleet& f) {
       f.store().line()->cut(Ending::Reset);
       f.store().line()->pass();
     },
     true},
    {"DatabaseLineStalled", [](Fleet& f) { f.store().line()->stall(); },
     [](Fleet& f) { f.store().line()->pass(); }, true},
    {"DatabaseLineQuestionsLost", [](Fleet& f) { f.store().line()->drop(Way::ToServer); },
     [](Fleet& f) { f.store().line()->pass(); }, true},
    {"DatabaseLineAnswersLost", [](Fleet& f) { f.store().line()->drop(Way::ToClient); },
     [](Fleet& f) { f.store().line()->pass(); }, true},
};
// NOLINTEND(readability-identifier-length)

struct FleetCase {
  std::string queue;
  std::string store;
  const FleetFault* fault = nullptr;
  [[nodiscard]] std::string name() const { return queue + "_" + store + "_" + fault->name; }
  friend std::ostream& operator<<(std::ostream& out, const FleetCase& of) { return out << of.name(); }
};

// Of each queue: all in a campaign, else so many, of each store as many as of the others. One that is named
// by --gtest_filter must be there, so SLUICETEST_CAMPAIGN=1 goes with such a run.
std::vector<FleetCase> chosenCases() {
  constexpr std::size_t kOfEachStore = 2;
  std::vector<FleetCase> chosen;
  std::mt19937_64 chance(testSeed());
  for (const std::string& queue : fleetQueueNames()) {
    for (const std::string& store : fleetStoreNames()) {
      std::vector<FleetCase> all;
      for (const FleetFault& fault : kFaults) {
        if (store != "sqlite" || !fault.ofTheStoresServer) all.push_back({queue, store, &fault});
      }
      std::shuffle(all.begin(), all.end(), chance);
      all.resize(sized(kOfEachStore, all.size()));
      chosen.insert(chosen.end(), all.begin(), all.end());
    }
  }
  return chosen;
}

// Admitted, nothing taken, unknown with an id, or no answer from a front that was killed or frozen.
void expectTrue(const std::vector<Attempt>& attempts) {
  std::vector<Attempt> answered;
  std::copy_if(attempts.begin(), attempts.end(), std::back_inserter(answered),
               [](const Attempt& attempt) { return attempt.status != 0; });
  expectHonest(answered);
}

class FleetFaults : public testing::TestWithParam<FleetCase> {};

TEST_P(FleetFaults, AfterwardsOrdersFlowAgainAndEachAdmissionHasOneRow) {
  Fleet fleet(GetParam().queue, GetParam().store);
  fleet.startStorm();
  fleet.awaitAdmitted(300);
  GetParam().fault->strike(fleet);
  // Longer than every lease.
  std::this_thread::sleep_for(scaled(milliseconds(4'000)));
  GetParam().fault->mend(fleet);
  fleet.expectOrdersFlowAgain(scaled(milliseconds(30'000)));
  fleet.awaitAdmitted(100);
  const auto attempts = fleet.stopStorm();
  expectTrue(attempts);
  fleet.expectOneRowEach(attempts, scaled(milliseconds(30'000)));
  fleet.expectCleanAudit(scaled(milliseconds(30'000)));
}

INSTANTIATE_TEST_SUITE_P(All, FleetFaults, testing::ValuesIn(chosenCases()),
                         [](const auto& of) { return of.param.name(); });

}  // namespace
}  // namespace sluice::test
