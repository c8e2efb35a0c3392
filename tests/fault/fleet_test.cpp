// Two fronts and two workers under load, then one fault: afterwards orders flow again within half a minute,
// whoever was told 202 has exactly one row, and the audit is clean. Every fault with every queue and store in
// a campaign; a handful, chosen by the seed, otherwise.
#include "fault/fleet.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fault/slice.h"

namespace sluice::test {
namespace {

// Whose server breaks: that of the store or of the queue, which not every one has.
enum class Of : std::uint8_t { Everybody, Store, Queue };

// What breaks, and how it is mended.
struct FleetFault {
  std::string name;
  std::function<void(Fleet& fleet)> strike;
  std::function<void(Fleet& fleet)> mend;
  Of of = Of::Everybody;
};

using Line = std::function<FaultProxy&(Fleet&)>;
using Faults = std::vector<FleetFault>;

void addProcesses(Faults& faults) {
  struct Kind {
    const char* name;
    ServerProcess& (Fleet::*at)(std::size_t k);
  };
  for (const Kind& kind : {Kind{"Front", &Fleet::front}, Kind{"Worker", &Fleet::worker}}) {
    for (const std::size_t count : {1U, 2U}) {
      const auto each = [kind, count](void (*what)(ServerProcess&)) {
        return [kind, count, what](Fleet& fleet) {
          for (std::size_t k = 0; k < count; ++k)
            what((fleet.*kind.at)(k));
        };
      };
      const std::string who = count == 1 ? kind.name : "Both" + std::string(kind.name) + "s";
      faults.push_back({who + "Killed", each([](ServerProcess& process) { process.kill(); }),
                        each([](ServerProcess& process) { process.start(); })});
      faults.push_back({who + "Frozen", each([](ServerProcess& process) { process.freeze(); }),
                        each([](ServerProcess& process) { process.resume(); })});
    }
  }
}

void addLine(Faults& faults, const std::string& name, const Line& line, Of of) {
  const auto pass = [line](Fleet& fleet) { line(fleet).pass(); };
  // What was stalled never comes, and what was lost neither: a stream never goes on behind a gap.
  const auto reset = [line](Fleet& fleet) {
    line(fleet).cut(Ending::Reset);
    line(fleet).pass();
  };
  faults.push_back({name + "LineCut",
                    [line](Fleet& fleet) {
                      line(fleet).refuse();
                      line(fleet).cut(Ending::Reset);
                    },
                    pass, of});
  faults.push_back({name + "LineStalled", [line](Fleet& fleet) { line(fleet).stall(); }, pass, of});
  faults.push_back({name + "LineHalfOpen", [line](Fleet& fleet) { line(fleet).stall(); }, reset, of});
  faults.push_back(
      {name + "LineQuestionsLost", [line](Fleet& fleet) { line(fleet).drop(Way::ToServer); }, reset, of});
  faults.push_back(
      {name + "LineAnswersLost", [line](Fleet& fleet) { line(fleet).drop(Way::ToClient); }, reset, of});
}

// What a broker has beyond other servers.
void addBroker(Faults& faults) {
  const auto often = [](void (FleetBroker::*what)()) {
    return [what](Fleet& fleet) {
      for (int k = 0; k < 10; ++k) {
        (fleet.broker().*what)();
        std::this_thread::sleep_for(milliseconds(100));
      }
    };
  };
  const auto nothing = [](Fleet&) {};
  faults.push_back({"BrokerMemoryFull", [](Fleet& fleet) { fleet.broker().setMemoryFull(true); },
                    [](Fleet& fleet) { fleet.broker().setMemoryFull(false); }, Of::Queue});
  faults.push_back({"BrokerQueuePurged", often(&FleetBroker::purge), nothing, Of::Queue});
  faults.push_back({"BrokerQueuesDeleted", often(&FleetBroker::loseQueues), nothing, Of::Queue});
  faults.push_back({"BrokerQueueOfSomebodyElse", [](Fleet& fleet) { fleet.broker().occupy(true); },
                    [](Fleet& fleet) { fleet.broker().occupy(false); }, Of::Queue});
}

template <typename Server>
void addServer(Faults& faults, const std::string& name, Server& (Fleet::*server)(), Of of) {
  faults.push_back({name + "Killed", [server](Fleet& fleet) { (fleet.*server)().kill(); },
                    [server](Fleet& fleet) { (fleet.*server)().start(); }, of});
  faults.push_back({name + "Frozen", [server](Fleet& fleet) { (fleet.*server)().freeze(); },
                    [server](Fleet& fleet) { (fleet.*server)().resume(); }, of});
  addLine(
      faults, name, [server](Fleet& fleet) -> FaultProxy& { return (fleet.*server)().line(); }, of);
}

Faults allFaults() {
  Faults faults;
  addProcesses(faults);
  faults.push_back({"RedisKilled", [](Fleet& fleet) { fleet.redis().kill(); },
                    [](Fleet& fleet) { fleet.redis().start(); }});
  faults.push_back({"RedisFrozen", [](Fleet& fleet) { fleet.redis().freeze(); },
                    [](Fleet& fleet) { fleet.redis().resume(); }});
  addLine(
      faults, "Redis", [](Fleet& fleet) -> FaultProxy& { return fleet.redisLine(); }, Of::Everybody);
  addServer(faults, "Database", &Fleet::database, Of::Store);
  addServer(faults, "Broker", &Fleet::broker, Of::Queue);
  addBroker(faults);
  return faults;
}

struct FleetCase {
  std::string queue;
  std::string store;
  FleetFault fault;
  [[nodiscard]] std::string name() const { return queue + "_" + store + "_" + fault.name; }
  friend std::ostream& operator<<(std::ostream& out, const FleetCase& of) { return out << of.name(); }
};

// Of each queue: all in a campaign, else so many, of each store as many as of the others. One that is named
// by --gtest_filter must be there, so SLUICETEST_CAMPAIGN=1 goes with such a run.
std::vector<FleetCase> chosenCases() {
  constexpr std::size_t kOfEachStore = 2;
  std::vector<FleetCase> chosen;
  for (const FleetQueueName& queue : fleetQueueNames()) {
    for (const std::string& store : fleetStoreNames()) {
      std::vector<FleetCase> all;
      for (const FleetFault& fault : allFaults()) {
        const bool there = fault.of == Of::Everybody || (fault.of == Of::Store && store != "sqlite") ||
                           (fault.of == Of::Queue && queue.hasServer);
        if (there) all.push_back({queue.name, store, fault});
      }
      all = sliced(std::move(all), kOfEachStore);
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
  GetParam().fault.strike(fleet);
  // Longer than every lease.
  std::this_thread::sleep_for(scaled(milliseconds(4'000)));
  GetParam().fault.mend(fleet);
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
