// Several processes on one queue: real ones, that are killed and frozen while they hold messages.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "contract/queue_child.h"
#include "contract/queue_contract.h"

namespace sluice::test {

TEST_P(QueueProcesses, Q06_ManyProcessesOpenAtOnceAndLoseNothing) {
  constexpr std::int64_t kMessages = 500;
  constexpr int kProcesses = 16;
  publish(1, kMessages);
  std::vector<std::unique_ptr<QueueChild>> children;
  for (int k = 0; k < kProcesses; ++k) {
    children.push_back(std::make_unique<QueueChild>(*fixture_, "join", "process" + std::to_string(k),
                                                    std::vector<std::int64_t>{5}));
  }
  for (auto& child : children)
    ASSERT_EQ(child->listen(), 0);
  for (auto& child : children)
    child->tell();
  std::vector<std::int64_t> seen;
  for (auto& child : children) {
    const auto orders = child->listenToTheEnd();
    seen.insert(seen.end(), orders.begin(), orders.end());
    EXPECT_EQ(child->wait(), 0);
  }
  EXPECT_EQ(sorted(seen), numbers(1, kMessages)) << "each once";
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueProcesses, Q10_AWaitingReceiveWakesUpForAnotherProcess) {
  QueueChild child(*fixture_, "publish", "publisher", {1, 3});
  ASSERT_EQ(child.listen(), 0);
  std::thread teller([&] {
    std::this_thread::sleep_for(milliseconds(100));
    child.tell();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ordersOf(take(3)), numbers(1, 3));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon / 2);
  teller.join();
  EXPECT_EQ(child.listen(), 3);
}

TEST_P(QueueProcesses, Q14_FirstDeliveriesKeepTheirOrderWhenAnotherProcessDies) {
  constexpr std::int64_t kMessages = 600;
  publish(1, kMessages);
  QueueChild dying(*fixture_, "follow", "dying", {5});
  QueueChild living(*fixture_, "follow", "living", {5});
  std::vector<std::int64_t> before;
  while (before.size() < 40) {
    const auto order = dying.listen();
    ASSERT_TRUE(order);
    before.push_back(*order);
  }
  dying.kill();
  const auto rest = dying.listenToTheEnd();
  before.insert(before.end(), rest.begin(), rest.end());
  waitUntil([this] { return fixture_->rawDepth() == 0; });
  living.kill();
  const auto after = living.listenToTheEnd();
  EXPECT_TRUE(std::is_sorted(before.begin(), before.end()));
  EXPECT_TRUE(std::is_sorted(after.begin(), after.end()));
  EXPECT_FALSE(after.empty());
}

TEST_P(QueueProcesses, Q19_ExactlyWhatAKilledProcessHadNotSettledComesBack) {
  publish(1, 100);
  QueueChild child(*fixture_, "settleEven", "worker", {100});
  ASSERT_EQ(child.listen(), 50);
  // A server that only takes note of what is settled may still be at it.
  waitUntil([this] { return fixture_->rawDepth() == 50; });
  child.kill();
  auto back = ordersOf(take(50));
  for (const std::int64_t order : back)
    EXPECT_EQ(order % 2, 1) << order;
  std::sort(back.begin(), back.end());
  EXPECT_EQ(std::unique(back.begin(), back.end()), back.end());
  expectQuiet(*queue_, 0);
  EXPECT_EQ(fixture_->rawDepth(), 50);
}

TEST_P(QueueProcesses, Q22_ALateSettlementAfterTakeOverIsStale) {
  publish(1, 3);
  const auto held = take(3);
  const auto other = open("second");
  const auto taken = take(*other, 0, 3);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held)), 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held, SettleKind::RetryLater)), 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held, SettleKind::DeadLetter)), 0U);
  EXPECT_EQ(fixture_->rawDepth(), 3);
  EXPECT_TRUE(dead().empty());
  settle(*other, 0, settlementsOf(taken));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueProcesses, Q26_DeathsCountAsDeliveriesFailuresAsFailuresAndAnAbsentStoreAsNone) {
  publish(1, 1);
  {
    QueueChild child(*fixture_, "hold", "worker", {1});
    ASSERT_EQ(child.listen(), 1);
    child.kill();
  }
  const auto afterDeath = take(1);
  ASSERT_EQ(afterDeath.size(), 1U);
  EXPECT_EQ(afterDeath[0].deliveries, 2U);
  EXPECT_EQ(afterDeath[0].failures, 0U);
  settle(settlementsOf(afterDeath, SettleKind::RetryLater));
  const auto afterFailure = take(1);
  ASSERT_EQ(afterFailure.size(), 1U);
  EXPECT_EQ(afterFailure[0].failures, 1U);
  auto away = settlementsOf(afterFailure, SettleKind::RetryLater);
  away[0].countsAsFailure = false;
  settle(away);
  EXPECT_EQ(take(1).at(0).failures, 1U);
}

TEST_P(QueueProcesses, Q27_AMessageThatKillsItsProcessDiesAndItsNeighboursDoNot) {
  constexpr std::int64_t kPoison = 7;
  constexpr std::int64_t kDeliveriesMax = 5;
  publish(1, 20);
  std::size_t deaths = 0;
  while (dead().empty() && deaths < 20) {
    QueueChild child(*fixture_, "poison", "worker", {kPoison, kDeliveriesMax});
    const Deadline deadline = Deadline::in(kSoon);
    while (dead().empty() && !deadline.passed()) {
      if (!child.wait(milliseconds(20))) continue;
      EXPECT_EQ(child.wait(), 128 + SIGABRT);
      ++deaths;
      break;
    }
    if (!dead().empty()) waitUntil([this] { return fixture_->rawDepth() == 0; });
  }
  EXPECT_EQ(deaths, static_cast<std::size_t>(kDeliveriesMax));
  ASSERT_EQ(dead().size(), 1U) << "no neighbour is among the dead";
  EXPECT_EQ(dead()[0].admission, admissionOf(kPoison));
  EXPECT_EQ(dead()[0].deliveries, kDeliveriesMax + 1);
  EXPECT_EQ(dead()[0].failures, 0U);
  EXPECT_EQ(fixture_->rawDepth(), 0) << "the neighbours were settled";
}

TEST_P(QueueProcesses, Q27_AfterTwoDeathsEverySuspectComesAlone) {
  publish(1, 20);
  for (int death = 0; death < 2; ++death) {
    QueueChild child(*fixture_, "hold", "worker", {20});
    ASSERT_EQ(child.listen(), 20) << death;
    child.kill();
  }
  std::set<std::int64_t> seen;
  const Deadline deadline = Deadline::in(kSoon);
  while (seen.size() < 20 && !deadline.passed()) {
    const auto batch = queue_->receive(0, 20, Deadline::in(milliseconds(100)));
    ASSERT_TRUE(batch.ok()) << batch.error().text;
    EXPECT_LE(batch.value().size(), 1U);
    for (const std::int64_t order : ordersOf(batch.value()))
      seen.insert(order);
    settle(settlementsOf(batch.value()));
  }
  EXPECT_EQ(seen.size(), 20U);
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

// Processes bury messages and are killed meanwhile, one after the other.
void QueueProcesses::buryUnderKills(std::int64_t messages, Random& random) {
  while (fixture_->rawDepth() > messages / 10 && !HasFailure()) {
    // Under one name, so that what it held is its own again at once.
    QueueChild child(*fixture_, "bury", "worker", {1 + static_cast<std::int64_t>(random.next() % 9)});
    (void)child.listen();
    std::this_thread::sleep_for(std::chrono::microseconds(random.next() % 5000));
    child.kill();
    // The server may still do what it was asked last, between the two counts.
    waitUntil([&] {
      const auto found = fixture_->rawDepth() + static_cast<std::int64_t>(dead().size());
      return queue_->traits().buriesAtOnce ? found == messages : found >= messages;
    });
  }
}

TEST_P(QueueProcesses, Q30_KilledWhileItBuriesEachMessageIsInOnePlace) {
  const bool atOnce = queue_->traits().buriesAtOnce;
  const std::int64_t messages = atOnce ? 1000 : 100;
  SeededRandom random(testSeed());
  for (int repeat = 0; repeat < sized(2, 50); ++repeat) {
    // Otherwise with room for those that are put aside more than once.
    begin({.lease = kShortLease, .deadMax = static_cast<std::size_t>(messages * (atOnce ? 1 : 10))});
    publish(1, messages);
    buryUnderKills(messages, random);
    if (atOnce)
      expectInOnePlace(messages);
    else
      expectInSomePlace(messages);
  }
}

// Each of the orders 1 .. `messages` is in the queue or among the dead, or in both where a death came in between.
void QueueProcesses::expectInSomePlace(std::int64_t messages) {
  std::set<std::int64_t> found = drainAll(*queue_);
  std::size_t letters = 0;
  for (std::string after;;) {
    const auto page = queue_->deadLetters(after, limits::kPageMax, Deadline::in(kSoon));
    ASSERT_TRUE(page.ok()) << page.error().text;
    if (page.value().empty()) break;
    for (const DeadLetter& letter : page.value())
      found.insert(letter.admission->order.value());
    letters += page.value().size();
    after = page.value().back().id;
  }
  EXPECT_GT(letters, 0U);
  EXPECT_EQ(found.size(), static_cast<std::size_t>(messages)) << "none is lost";
}

// Each of the orders 1 .. `messages` is in the queue or among the dead, and none in both.
void QueueProcesses::expectInOnePlace(std::int64_t messages) {
  const auto left = drainAll(*queue_);
  std::set<std::int64_t> buried;
  for (const DeadLetter& letter : dead())
    buried.insert(letter.admission->order.value());
  EXPECT_FALSE(buried.empty());
  EXPECT_EQ(buried.size(), dead().size()) << "none twice";
  EXPECT_EQ(buried.size() + left.size(), static_cast<std::size_t>(messages));
  for (const std::int64_t order : left)
    EXPECT_EQ(buried.count(order), 0U) << "in both places: " << order;
}

TEST_P(QueueProcesses, Q32_WhatAKilledProcessHeldReachesAnother) {
  publish(1, 50);
  QueueChild child(*fixture_, "hold", "worker", {50});
  ASSERT_EQ(child.listen(), 50);
  const auto begin = std::chrono::steady_clock::now();
  child.kill();
  const auto taken = take(50);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, fixture_->needs.lease + fixture_->takeOverSlack());
  for (const Delivery& delivery : taken) {
    EXPECT_EQ(delivery.deliveries, 2U);
    EXPECT_EQ(delivery.failures, 0U) << "a dead process is no failure of the order";
  }
  settle(settlementsOf(taken));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueProcesses, Q33_AFrozenProcessThatWakesUpSettlesNothingOfOthers) {
  publish(1, 10);
  QueueChild child(*fixture_, "hold", "worker", {10});
  ASSERT_EQ(child.listen(), 10);
  child.freeze();
  const auto taken = take(10);
  ASSERT_EQ(taken.size(), 10U);
  settle(settlementsOf({taken.begin(), taken.begin() + 5}));
  child.tell();
  child.wake();
  EXPECT_EQ(child.listen(), 0) << "every token was stale";
  EXPECT_EQ(fixture_->rawDepth(), 5) << "those of the new holder";
  settle(settlementsOf({taken.begin() + 5, taken.end()}));
  EXPECT_EQ(fixture_->rawDepth(), 0);
  publish(11, 3);
  EXPECT_EQ(ordersOf(take(3)), numbers(11, 3));
}

TEST_P(QueueProcesses, Q35_ARestartedProcessGetsItsOwnWithoutWaiting) {
  begin({.lease = kLongLease});
  publish(1, 5);
  {
    QueueChild child(*fixture_, "hold", "worker", {5});
    ASSERT_EQ(child.listen(), 5);
    child.kill();
  }
  publish(6, 5);
  const auto restarted = open("worker");
  const auto again = take(*restarted, 0, 5, fixture_->needs.lease / 2);
  EXPECT_EQ(ordersOf(again), numbers(1, 5)) << "its own first, in order";
  EXPECT_EQ(again.at(0).deliveries, 2U);
  EXPECT_EQ(ordersOf(take(*restarted, 0, 5)), numbers(6, 5));
}

TEST_P(QueueProcesses, Q36_WhoOwnsMessagesIsNotForgottenHoweverQuiet) {
  begin({.lease = kShortLease * 4, .retire = scaled(milliseconds(300))});
  publish(1, 5);
  {
    QueueChild owner(*fixture_, "hold", "owner", {5});
    ASSERT_EQ(owner.listen(), 5);
    owner.kill();
  }
  // Far beyond the time after which idle ones are forgotten, and before the lease ends, others come and look.
  const Deadline quiet = Deadline::in(fixture_->needs.retire * 4);
  for (int k = 0; !quiet.passed(); ++k) {
    const auto visitor = open("visitor" + std::to_string(k), 1);
    (void)visitor->receive(0, 1, Deadline::in(milliseconds(100)));
  }
  auto taken = take(5);
  EXPECT_EQ(sorted(ordersOf(taken)), numbers(1, 5));
  settle(settlementsOf(taken));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueProcesses, Q45_ComingAndGoingLosesNothing) {
  publish(1, 50);
  std::vector<std::thread> processes;
  for (int k = 0; k < 10; ++k) {
    processes.emplace_back([this, k] {
      for (int round = 0; round < 3; ++round) {
        const auto queue = open("process" + std::to_string(k), 1);
        (void)queue->receive(0, 5, Deadline::in(milliseconds(20)));
        queue->close();
      }
    });
  }
  for (std::thread& process : processes)
    process.join();
  EXPECT_EQ(drainAll(*queue_).size(), 50U);
}

TEST_P(QueueProcesses, Q46_WhatIsDrainedReachesOthersAtOnce) {
  begin({.lease = kLongLease});
  publish(1, 700);
  (void)take(700);
  const auto other = open("second");
  const auto drained = queue_->drain(Deadline::in(kSoon));
  ASSERT_TRUE(drained.ok()) << drained.error().text;
  EXPECT_EQ(drained.value(), 700U);
  EXPECT_EQ(sorted(ordersOf(take(*other, 0, 700))), numbers(1, 700));
}

TEST_P(QueueProcesses, Q31_DeadLettersAreVisibleToOthers) {
  if (!queue_->traits().inspectable) SLUICE_SKIP_UNCLAIMED("inspectable");
  const DeadLetter letter = deadLetter(1, "seen by all");
  const auto other = open("second");
  const auto found = other->findDeadLetter(letter.id, Deadline::in(kSoon));
  ASSERT_TRUE(found.ok() && found.value());
  EXPECT_EQ(found.value()->reason, "seen by all");
  ASSERT_TRUE(other->replayDeadLetter(letter.id, Deadline::in(kSoon)).ok());
  EXPECT_EQ(queue_->replayDeadLetter(letter.id, Deadline::in(kSoon)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
}

}  // namespace sluice::test
