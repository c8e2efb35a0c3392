// Dead letters of real servers: orders that the database itself refuses, letters until there is no more room,
// one bad order among thousands, and one that kills whoever handles it.
#include <algorithm>
#include <csignal>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fault/fleet_store.h"
#include "fault/sale.h"
#include "fault/slice.h"
#include "support/faulty_engine.h"
#include "support/footprint.h"
#include "support/forked_child.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

milliseconds bound() { return scaled(milliseconds(30'000)); }

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// One server, whose orders of the first users the database refuses.
class Refused {
 public:
  explicit Refused(ServerProcess::Sets sets, const std::string& store = "sqlite")
      : store_(makeFleetStore(store, data_.path())), server_(prepared(std::move(sets))) {}
  void start(std::int64_t refusedUpTo) {
    server_.start();
    server_.createVoucher(1, 100'000);
    store_->refuseUpTo(refusedUpTo);
  }
  [[nodiscard]] ServerProcess& server() noexcept { return server_; }
  [[nodiscard]] PrivateRedis& redis() noexcept { return redis_; }
  [[nodiscard]] FleetStore& store() noexcept { return *store_; }
  [[nodiscard]] double value(const std::string& name) { return metric(server_, name); }
  void awaitMetric(const std::string& name, double wanted) {
    EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return value(name) == wanted; }))
        << name << " is " << value(name) << ", not " << wanted;
  }
  void awaitReady() {
    EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return server_.get("/readyz").status == 200; }))
        << server_.get("/readyz").body;
  }
  // By the running server: the letters of a queue in memory are seen by nobody else.
  void expectCleanAudit() {
    HttpReply audit;
    EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
      audit = server_.admin("GET", "/admin/v1/audit");
      return jsonMember(audit.body, "clean") == "true" && jsonMember(audit.body, "atRest") == "true";
    })) << audit.body;
  }

 private:
  ServerProcess::Sets prepared(ServerProcess::Sets sets) const {
    sets.emplace_back("redis.socket", redis_.target().socketPath);
    sets.emplace_back("data.dir", data_.path());
    for (const auto& set : store_->sets())
      sets.push_back(set);
    return sets;
  }

  PrivateRedis redis_;
  TempFolder data_;
  std::unique_ptr<FleetStore> store_;
  ServerProcess server_;
};

struct QueueOfOne {
  std::string name;
  std::string queue;
  std::string journal;
  friend std::ostream& operator<<(std::ostream& out, const QueueOfOne& of) { return out << of.name; }
};

class DeadLettersFull : public testing::TestWithParam<QueueOfOne> {
 protected:
  static ServerProcess::Sets setsOf(const QueueOfOne& of) {
    return {{"queue", of.queue},
            {"journal", of.journal},
            {"queue." + of.queue + ".dead.max", "3"},
            {"fulfilment.failures.max", "1"},
            {"fulfilment.batch", "1"}};
  }
};

TEST_P(DeadLettersFull, AlarmAndBlockDropNothingAndItGoesOnByItselfOnceThereIsRoom) {
  Refused place(setsOf(GetParam()));
  ServerProcess& server = place.server();
  place.start(5);
  auto winners = admitted(storm(server, 1, 1, 5, 1));
  ASSERT_EQ(winners.size(), 5U);
  place.awaitMetric("sluice_fulfilment_alarmed", 1);
  place.awaitMetric("sluice_queue_dead_letters", 3);
  EXPECT_EQ(place.value("sluice_queue_dead_letters_max"), 3);
  const auto blocked = admitted(storm(server, 1, 100, 20));
  EXPECT_EQ(blocked.size(), 20U) << "admissions go on, into the queue";
  winners.insert(winners.end(), blocked.begin(), blocked.end());
  const HttpReply ready = server.get("/readyz");
  EXPECT_EQ(ready.status, 503) << ready.body;
  EXPECT_THAT(ready.body, HasSubstr("dead.max"));
  EXPECT_THAT(ready.body, HasSubstr("fulfilment is paused: queue: "));
  EXPECT_THAT(ready.body, HasSubstr("replay or drop"));
  EXPECT_THAT(ready.body, HasSubstr("3 of 3")) << "the warning of every process";
  EXPECT_EQ(place.store().rowsById().size(), 0U) << "blocked: nothing behind it is stored";

  // Ended and started again it is where it was: what was in hand was given back, and letters of a queue in
  // memory come from the journal once more.
  if (GetParam().journal == "on") {
    EXPECT_EQ(server.terminate(), 0) << server.log();
    server.start();
    place.awaitMetric("sluice_fulfilment_alarmed", 1);
    place.awaitMetric("sluice_queue_dead_letters", 3);
    EXPECT_EQ(place.store().rowsById().size(), 0U);
  }

  // The one that was in the way becomes a letter as soon as there is room, and what waits behind it flows.
  place.store().refuseNobody();
  const HttpReply first = server.admin("POST", "/admin/v1/dead/replay?voucher=1");
  EXPECT_EQ(jsonMember(first.body, "done"), "3") << first.body;
  place.awaitReady();
  place.awaitMetric("sluice_queue_ready", 0);
  EXPECT_EQ(place.value("sluice_fulfilment_alarmed"), 0);
  const HttpReply second = server.admin("POST", "/admin/v1/dead/replay?all=true");
  EXPECT_EQ(jsonMember(second.body, "done"), "1") << second.body;
  expectOneRowEach(server, winners, bound());
  place.expectCleanAudit();
}

INSTANTIATE_TEST_SUITE_P(Queues, DeadLettersFull,
                         testing::Values(QueueOfOne{"stream", "stream", "on"},
                                         QueueOfOne{"inproc", "inproc", "off"},
                                         QueueOfOne{"inproc_with_journal", "inproc", "on"}),
                         [](const auto& queue) { return queue.param.name; });

TEST(DeadLettersOfAServer, AreListedCountedReplayedAndDroppedOnTheCommandLine) {
  Refused place(ServerProcess::Sets{{"fulfilment.failures.max", "1"}});
  ServerProcess& server = place.server();
  place.start(4);
  const auto winners = admitted(storm(server, 1, 1, 6));
  ASSERT_EQ(winners.size(), 6U);
  place.awaitMetric("sluice_queue_dead_letters", 4);
  const auto listed =
      server.command({"dead", "list", "--voucher", "1", "--user", "2", "--reason", "REFUSED by"});
  EXPECT_EQ(listed.exitCode, 0) << listed.output;
  EXPECT_EQ(lines(listed.output), 2U) << "a headline and one letter: " << listed.output;
  EXPECT_THAT(server.command({"dead", "list", "--until", "-1h"}).output, HasSubstr("No dead letter"));

  const auto bare = server.command({"dead", "replay", "--voucher", "1"});
  EXPECT_EQ(bare.exitCode, 2) << bare.output;
  EXPECT_THAT(bare.output, HasSubstr("--yes"));
  EXPECT_EQ(server.command({"dead", "drop", "--yes"}).exitCode, 2) << "says not which";
  const auto counted = server.command({"dead", "drop", "--voucher", "1", "--since", "-1h", "--dry-run"});
  EXPECT_EQ(counted.exitCode, 0) << counted.output;
  EXPECT_THAT(counted.output, HasSubstr("4 dead letters are meant; none was touched"));

  place.store().refuseNobody();
  const auto dropped = server.command({"dead", "drop", "--user", "4", "--yes"});
  EXPECT_THAT(dropped.output, HasSubstr("1 of 1 dead letters are dropped"));
  const auto replayed = server.command({"dead", "replay", "--voucher", "1", "--since", "-1h", "--yes"});
  EXPECT_EQ(replayed.exitCode, 0) << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr("3 of 3 dead letters are back in the queue"));
  expectOneRowEach(server, winners, bound());
  EXPECT_EQ(queryNumber(server.dataDir() + "/sluice.db", "SELECT count(*) FROM orders WHERE status = 4"), 1)
      << "the dropped one is cancelled";
  expectCleanAudit(server);
}

TEST(DeadLettersOfAServer, ThatDoNotDecodeAreFoundByThatAndCanOnlyBeDropped) {
  Refused place(ServerProcess::Sets{{"fulfilment.failures.max", "1"}});
  ServerProcess& server = place.server();
  place.start(1);
  ASSERT_EQ(server.order(1, 1).status, 202);
  for (int k = 0; k < 3; ++k) {
    place.redis().command({"XADD", "sluice:{0}:orders", "*", "o", "rubbish"});
  }
  place.awaitMetric("sluice_queue_dead_letters", 4);
  const auto listed = server.command({"dead", "list", "--undecodable"});
  EXPECT_EQ(lines(listed.output), 4U) << "a headline and three letters: " << listed.output;
  const auto replayed = server.command({"dead", "replay", "--undecodable", "--yes"});
  EXPECT_EQ(replayed.exitCode, 1) << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr("0 of 3 dead letters are back in the queue"));
  EXPECT_THAT(replayed.output, HasSubstr("only dropped"));
  const auto dropped = server.command({"dead", "drop", "--undecodable", "--max", "2", "--yes"});
  EXPECT_THAT(dropped.output, HasSubstr("2 of 2 dead letters are dropped"));
  const std::size_t at = dropped.output.find("--after ");
  ASSERT_NE(at, std::string::npos) << dropped.output;
  const std::string after = dropped.output.substr(at + 8, dropped.output.find('\n', at) - at - 8);
  EXPECT_THAT(server.command({"dead", "drop", "--undecodable", "--after", after, "--yes"}).output,
              HasSubstr("1 of 1"));
  EXPECT_EQ(place.redis().number({"XLEN", "sluice:{0}:dead"}), 1) << "the order's letter is not meant";
}

class DeadLettersOnEachStore : public testing::TestWithParam<std::string> {};

TEST_P(DeadLettersOnEachStore,
       OneBadOrderAmongTenThousandIsPutAsideWithinItsBudgetAndItsNeighboursAreStored) {
  constexpr int kOrders = 10'000;
  constexpr double kFailuresMax = 5;
  Refused place(ServerProcess::Sets{{"fulfilment.retry.base", "20ms"}, {"fulfilment.retry.max", "200ms"}},
                GetParam());
  ServerProcess& server = place.server();
  place.start(1);
  const std::size_t before = lines(server.log());
  const auto winners = admitted(storm(server, 1, 1, kOrders));
  ASSERT_EQ(winners.size(), static_cast<std::size_t>(kOrders));
  place.awaitMetric("sluice_queue_dead_letters", 1);
  EXPECT_TRUE(ServerProcess::eventually(
      bound(), [&] { return place.store().rowsById().size() == static_cast<std::size_t>(kOrders - 1); }));
  const std::string letter = server.command({"dead", "list", "--json"}).output;
  EXPECT_EQ(jsonMember(letter, "userId"), "1") << letter << server.log();
  EXPECT_EQ(jsonMember(letter, "deliveries"), "5") << letter;
  EXPECT_EQ(jsonMember(letter, "failures"), "4") << "the fifth put it aside: " << letter;
  EXPECT_LE(lines(server.log()) - before, 2 * kFailuresMax + 10) << server.log();

  std::this_thread::sleep_for(scaled(milliseconds(1'000)));
  const Footprint idle = footprintOf(server.pid());
  constexpr double kSeconds = 5;
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  const double share = (footprintOf(server.pid()).cpuSeconds - idle.cpuSeconds) / kSeconds;
  std::cout << "afterwards " << share * 100 << " % of a processor\n";
  EXPECT_LT(share, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Stores, DeadLettersOnEachStore, testing::ValuesIn(sliced(fleetStoreNames(), 1)),
                         [](const auto& store) { return store.param; });

// A worker of ours that dies at the order of user 1, started again and again as a supervisor would.
TEST(DeadLettersOfAServer, AnOrderThatKillsItsWorkerIsPutAsideWithinItsBudgetAndItsNeighboursAreStored) {
  constexpr int kDeliveriesMax = 4;
  PrivateRedis redis;
  ServerProcess front({{"redis.socket", redis.target().socketPath}});
  front.start({{"role", "front"}});
  front.createVoucher(1, 10'000);
  const auto winners = admitted(storm(front, 1, 1, 1'000));
  ASSERT_EQ(winners.size(), 1'000U);
  const Settings settings = {{"redis.socket", redis.target().socketPath},
                             {"data.dir", front.dataDir()},
                             {"role", "worker"},
                             {"queue.stream.lease", "500ms"},
                             {"fulfilment.failures.max", "3"},
                             {"fulfilment.deliveries.max", std::to_string(kDeliveriesMax)},
                             {"log.file", front.folder() + "/worker.log"}};
  const auto work = [&] {
    FaultyEngine engine(settings);
    engine.store().makeDeadly(UserId(1));
    engine.start();
    const bool over = ServerProcess::eventually(bound(), [&] {
      return redis.number({"XLEN", "sluice:{0}:dead"}) == 1 &&
             redis.number({"XLEN", "sluice:{0}:orders"}) == 0;
    });
    engine.stop();
    return over ? 0 : 1;
  };
  int deaths = 0;
  for (; deaths <= kDeliveriesMax + 1; ++deaths) {
    ForkedChild worker(work);
    const int end = worker.wait();
    if (end == 128 + SIGKILL) continue;
    EXPECT_EQ(end, 0);
    break;
  }
  EXPECT_GE(deaths, 1);
  EXPECT_LE(deaths, kDeliveriesMax);
  EXPECT_EQ(rowsById(front.dataDir() + "/sluice.db").size(), 999U) << "the neighbours are stored";
  const auto dropped = front.command({"dead", "drop", "--user", "1", "--reason", "never settled", "--yes"});
  EXPECT_THAT(dropped.output, HasSubstr("1 of 1"));
  expectOneRowEach(front, winners, bound());
  expectCleanAudit(front);
}

}  // namespace
}  // namespace sluice::test
