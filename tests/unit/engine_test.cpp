// The whole engine over fakes: starting with parts away, stopping at bad moments, roles, recovery, lease.
#include "sluice/engine.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "sluice/order_id.h"

#include "support/fakes.h"
#include "unit/gate_fixture.h"

namespace sluice::test {
namespace {

class EngineTest : public ::testing::Test {
 protected:
  // Store and Redis were in use before; this engine has not seen this Redis yet.
  EngineTest() { fakes_.qualifier.restart(true); }
  ~EngineTest() override {
    if (engine_ != nullptr) engine_->stop(soon());
  }

  EngineOptions options(Role role = Role::All) {
    EngineOptions options;
    options.role = role;
    return options;
  }
  Status start(EngineOptions options) {
    engine_ = Engine::make(fakes_.parts(), std::move(options));
    return engine_->start(soon());
  }
  void startReady(Role role = Role::All) {
    ASSERT_TRUE(start(options(role)));
    ASSERT_TRUE(engine_->readiness().ready) << reasons();
  }
  // Waits for what the engine's threads will do; meanwhile manual time goes on at several times its usual
  // pace.
  [[nodiscard]] bool eventually(const std::function<bool()>& happened) {
    for (const Deadline end = Deadline::in(milliseconds(20000)); !end.passed();) {
      if (happened()) return true;
      std::this_thread::sleep_for(milliseconds(2));
      fakes_.clock.advance(milliseconds(5));
    }
    return false;
  }
  [[nodiscard]] bool eventuallyReady() {
    return eventually([this] { return engine_->readiness().ready; });
  }
  OrderAnswer order(VoucherId voucher, std::int64_t user) {
    return engine_->order({voucher, UserId(user), 1, {}}, soon());
  }
  [[nodiscard]] bool stored(OrderId order) {
    return eventually([&] {
      const auto row = fakes_.store.findOrder(order, soon());
      return row.ok() && row.value().has_value();
    });
  }
  std::string reasons() {
    std::string all;
    for (const std::string& reason : engine_->readiness().reasons) {
      all += reason + "\n";
    }
    return all;
  }
  std::int64_t held(VoucherId voucher) { return fakes_.qualifier.snapshot(voucher, soon()).value().held; }

  Fakes fakes_;
  const VoucherId voucher_ = fakes_.sell(10).id;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, AnOrderGoesAllTheWay) {
  startReady();
  const OrderAnswer answer = order(voucher_, 1);
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  EXPECT_TRUE(stored(answer.order));
  EXPECT_TRUE(eventually([&] { return fakes_.queue.stats(soon()).value().inFlight == 0; }));
  const EngineStats stats = engine_->stats();
  EXPECT_EQ(stats.stored, 1U);
  EXPECT_EQ(stats.verdicts[0], 1U);
  EXPECT_EQ(stats.batchSizes.count, 1U);
  EXPECT_EQ(fakes_.brokenLaws(), "");
}

TEST_F(EngineTest, AdmissionsAreCountedInTheStore) {
  startReady();
  for (std::int64_t user = 1; user <= 3; ++user) {
    (void)order(voucher_, user);
    (void)order(voucher_, user);
  }
  EXPECT_TRUE(eventually(
      [&] { return fakes_.store.totals(VoucherId(), 10, soon()).value()[0].countedAdmissions == 3; }));
}

// --- start ---

class EngineStart : public EngineTest, public ::testing::WithParamInterface<std::string> {
 protected:
  Faults& part() {
    if (GetParam() == "store") return fakes_.store.faults;
    return GetParam() == "redis" ? fakes_.qualifier.faults : fakes_.queue.faults;
  }
};

TEST_P(EngineStart, WithAPartAwayComesUpNotReadyAndBecomesReadyByItself) {
  part().always("*", ErrorCode::Unavailable);
  ASSERT_TRUE(start(options()));
  EXPECT_FALSE(engine_->readiness().ready);
  EXPECT_NE(reasons().find(GetParam()), std::string::npos) << reasons();
  // The journal, not the queue, is what an admission needs.
  EXPECT_EQ(order(voucher_, 1).verdict, GetParam() == "queue" ? Verdict::Admitted : Verdict::Unavailable);
  part().heal();
  EXPECT_TRUE(eventuallyReady()) << reasons();
  const OrderAnswer answer = order(voucher_, 2);
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  EXPECT_TRUE(stored(answer.order));
}

TEST_P(EngineStart, WithAPartThatAnOperatorMustMendIsRefusedAndCanBeStopped) {
  part().always("start", ErrorCode::Misconfigured);
  const Status started = start(options());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::Misconfigured);
  EXPECT_NE(started.error().text.find(GetParam()), std::string::npos);
  EXPECT_FALSE(engine_->readiness().ready);
  engine_->stop(soon());
  EXPECT_EQ(order(VoucherId(1), 1).verdict, Verdict::Unavailable);
}

TEST_P(EngineStart, APartThatGoesAwayAndReturnsIsUsedAgain) {
  startReady();
  part().always("*", ErrorCode::Unavailable);
  EXPECT_TRUE(eventually([&] {
    const Readiness readiness = engine_->readiness();
    return !readiness.ready || !readiness.warnings.empty();
  }));
  part().heal();
  EXPECT_TRUE(eventuallyReady()) << reasons();
  const OrderAnswer answer = order(voucher_, 2);
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  EXPECT_TRUE(stored(answer.order));
}

INSTANTIATE_TEST_SUITE_P(Parts, EngineStart, ::testing::Values("store", "redis", "queue"),
                         [](const auto& part) { return part.param; });

TEST_F(EngineTest, AnOldSchemaIsBroughtUpToDate) {
  fakes_.store.setSchema(false);
  startReady();
  EXPECT_EQ(fakes_.store.faults.calls("migrate"), 1U);
}

TEST_F(EngineTest, QueueAndJournalMustFitTogether) {
  EngineOptions journalOff = options();
  journalOff.journal = false;
  EXPECT_EQ(start(journalOff).error().code, ErrorCode::Misconfigured);
}

// --- stop ---

TEST_F(EngineTest, StoppingTwiceOrBeforeStartingIsFineAndStartingAgainIsNot) {
  engine_ = Engine::make(fakes_.parts(), options());
  engine_->stop(soon());
  engine_->stop(soon());
  EXPECT_EQ(engine_->start(soon()).error().code, ErrorCode::Stopped);
}

TEST_F(EngineTest, StoppingGivesTheProcessNumberBackWithTheLastCounts) {
  startReady();
  EXPECT_EQ(order(voucher_, 1).verdict, Verdict::Admitted);
  engine_->stop(soon());
  EXPECT_EQ(fakes_.store.faults.calls("endProcess"), 1U);
  EXPECT_EQ(fakes_.queue.faults.calls("drain"), 1U);
  EXPECT_EQ(order(voucher_, 2).verdict, Verdict::Unavailable);
  EXPECT_FALSE(engine_->readiness().ready);
}

TEST_F(EngineTest, StoppingWaitsForTheRequestsInTheGate) {
  startReady();
  Turnstile decide(fakes_.qualifier.faults, "decide");
  Callers callers;
  callers.add([&] { EXPECT_EQ(order(voucher_, 1).verdict, Verdict::Admitted); });
  decide.awaitArrivals(1);
  std::atomic<bool> stopped{false};
  callers.add([&] {
    engine_->stop(soon());
    stopped = true;
  });
  ASSERT_TRUE(eventually([&] { return reasons() == "stopping\n"; }));
  EXPECT_FALSE(stopped);
  decide.open();
  callers.join();
  EXPECT_EQ(fakes_.store.faults.calls("endProcess"), 1U);
}

class EngineStop : public EngineTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(EngineStop, WorksWhileACallIsBlocked) {
  startReady();
  const bool ofStore = GetParam() == "persist" || GetParam() == "renewProcess";
  Turnstile blocked(ofStore ? fakes_.store.faults : fakes_.qualifier.faults, GetParam());
  Callers callers;
  callers.add([&] { (void)order(voucher_, 1); });
  blocked.awaitArrivals(1);
  std::atomic<bool> stopped{false};
  callers.add([&] {
    engine_->stop(Deadline::in(milliseconds(50)));
    stopped = true;
  });
  // The call comes back once its part is closed, as the contract has it.
  EXPECT_TRUE(eventually([&] { return !fakes_.queue.stats(soon()).ok(); }));
  blocked.open();
  callers.join();
  EXPECT_TRUE(stopped);
}

INSTANTIATE_TEST_SUITE_P(Calls, EngineStop, ::testing::Values("decide", "persist", "probe", "renewProcess"),
                         [](const auto& call) { return call.param; });

// --- roles ---

TEST_F(EngineTest, AFrontAdmitsAndAWorkerStores) {
  startReady(Role::Front);
  const OrderAnswer answer = order(voucher_, 1);
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  EXPECT_EQ(fakes_.queue.faults.calls("receive"), 0U);
  const auto worker = Engine::make(fakes_.parts(), options(Role::Worker));
  ASSERT_TRUE(worker->start(soon()));
  EXPECT_TRUE(worker->readiness().ready);
  EXPECT_EQ(worker->order({voucher_, UserId(2), 1, {}}, soon()).verdict, Verdict::Unavailable);
  EXPECT_TRUE(stored(answer.order));
  EXPECT_EQ(fakes_.store.faults.calls("leaseProcess"), 1U) << "a worker issues no ids";
  worker->stop(soon());
}

// --- Redis ---

TEST_F(EngineTest, AFlushedRedisIsUnavailableNeverSoldOutAndOpensByALoad) {
  startReady();
  EXPECT_EQ(order(voucher_, 1).verdict, Verdict::Admitted);
  fakes_.qualifier.flushAll();
  EXPECT_EQ(order(voucher_, 2).verdict, Verdict::Unavailable);
  const Readiness readiness = engine_->readiness();
  ASSERT_EQ(readiness.warnings.size(), 1U);
  EXPECT_NE(readiness.warnings[0].find("voucher " + voucher_.text()), std::string::npos);
  VoucherLoad load;
  load.voucher = *engine_->knownVoucher(voucher_);
  load.nextLiveOrders = [] { return Result(std::vector<Order>()); };
  load.nextEligible = [] { return Result(std::vector<UserId>()); };
  ASSERT_TRUE(fakes_.qualifier.load(load, soon()));
  EXPECT_EQ(order(voucher_, 2).verdict, Verdict::Admitted);
}

TEST_F(EngineTest, ARestartedRedisAdmitsOnlyAfterItsHoldsAreRepaired) {
  startReady();
  const OrderAnswer first = order(voucher_, 1);
  ASSERT_TRUE(stored(first.order));
  fakes_.store.faults.always("recentOrders", ErrorCode::Unavailable);
  fakes_.qualifier.forgetHold(voucher_, UserId(1));
  fakes_.qualifier.restart(true);
  EXPECT_EQ(order(voucher_, 1).verdict, Verdict::Unavailable);
  EXPECT_TRUE(eventually([&] { return reasons().find("not trusted") != std::string::npos; }));
  EXPECT_EQ(order(voucher_, 1).verdict, Verdict::Unavailable);
  fakes_.store.faults.heal();
  EXPECT_TRUE(eventuallyReady());
  const OrderAnswer again = order(voucher_, 1);
  EXPECT_EQ(again.verdict, Verdict::AlreadyOrdered);
  EXPECT_EQ(again.order, first.order);
}

TEST_F(EngineTest, ClocksThatDifferAreSaidAndFarApartRefuse) {
  startReady();
  fakes_.qualifier.setClockSkew(milliseconds(-300));
  EXPECT_TRUE(eventually([&] { return !engine_->readiness().ready; }));
  EXPECT_EQ(order(voucher_, 1).verdict, Verdict::Admitted);
  fakes_.qualifier.setClockSkew(milliseconds(1001));
  EXPECT_TRUE(eventually([&] { return order(voucher_, 2).verdict == Verdict::Unavailable; }));
  fakes_.qualifier.setClockSkew(milliseconds(0));
  EXPECT_TRUE(eventuallyReady());
  EXPECT_NE(order(voucher_, 3).verdict, Verdict::Unavailable);
}

TEST_F(EngineTest, TheDurabilityNamedIsTheServersAndMemoryOnlyWithoutAJournal) {
  fakes_.qualifier.setDurability(Durability::L2);
  startReady();
  EXPECT_EQ(engine_->readiness().durability, Durability::L2);
}

// --- the lease ---

TEST_F(EngineTest, ALostProcessNumberIsReplacedAndNoAdmissionIsCountedTwice) {
  startReady();
  const OrderAnswer before = order(voucher_, 1);
  const std::int32_t number = splitOrderId(before.order).process;
  fakes_.store.stealLease(number, fakes_.clock.now());
  OrderAnswer after;
  std::int64_t user = 1;
  EXPECT_TRUE(eventually([&] {
    if (fakes_.store.faults.calls("leaseProcess") < 2) return false;
    after = order(voucher_, ++user);
    return after.verdict == Verdict::Admitted;
  }));
  EXPECT_NE(splitOrderId(after.order).process, number);
  EXPECT_TRUE(eventually([&] {
    return fakes_.store.totals(VoucherId(), 10, soon()).value()[0].countedAdmissions == held(voucher_);
  }));
}

TEST_F(EngineTest, WithoutTheStoreIdsAreIssuedAsLongAsTheLeaseRuns) {
  startReady();
  fakes_.store.faults.always("*", ErrorCode::Unavailable);
  const OrderAnswer waiting = order(voucher_, 1);
  EXPECT_EQ(waiting.verdict, Verdict::Admitted);
  fakes_.clock.advance(options().leaseDuration + milliseconds(1000));
  EXPECT_EQ(order(voucher_, 2).verdict, Verdict::Unavailable);
  EXPECT_TRUE(eventually([&] { return reasons().find("process number") != std::string::npos; }));
  fakes_.store.faults.heal();
  EXPECT_TRUE(eventuallyReady()) << reasons();
  EXPECT_EQ(order(voucher_, 3).verdict, Verdict::Admitted);
  EXPECT_TRUE(stored(waiting.order));
  EXPECT_EQ(fakes_.queue.stats(soon()).value().deadLetters, 0);
}

// --- housekeeping ---

TEST_F(EngineTest, ReadyEndsWithTheLeaseAlsoWhileACallOfTheStoreHangs) {
  startReady();
  fakes_.store.faults.block("renewProcess");
  ASSERT_TRUE(fakes_.store.faults.awaitBlocked(soon()));
  EXPECT_TRUE(engine_->readiness().ready);
  fakes_.clock.advance(options().leaseDuration);
  EXPECT_FALSE(engine_->readiness().ready);
  EXPECT_EQ(order(voucher_, 1).verdict, Verdict::Unavailable);
}

TEST_F(EngineTest, AnUnpaidOrderIsCancelledAndItsStockComesBack) {
  EngineOptions quick = options();
  quick.payWithin = milliseconds(500);
  ASSERT_TRUE(start(quick));
  const VoucherId voucher = fakes_.sell(1).id;
  const OrderAnswer answer = order(voucher, 1);
  ASSERT_TRUE(stored(answer.order));
  EXPECT_EQ(order(voucher, 2).verdict, Verdict::SoldOut);
  EXPECT_TRUE(eventually([&] { return order(voucher, 2).verdict == Verdict::Admitted; }));
  EXPECT_GE(engine_->stats().expired, 1U);
  EXPECT_EQ(fakes_.store.findOrder(answer.order, soon()).value()->status, OrderStatus::Cancelled);
  EXPECT_EQ(fakes_.store.brokenLaws(), "");
}

TEST_F(EngineTest, ADeadLetterIsKnownUntilItIsRemoved) {
  EngineOptions strict = options();
  strict.failuresMax = 1;
  ASSERT_TRUE(start(strict));
  fakes_.store.faults.always("persist", ErrorCode::Internal);
  const OrderAnswer answer = order(voucher_, 1);
  EXPECT_TRUE(eventually([&] { return engine_->deadLettered(answer.order); }));
  EXPECT_FALSE(engine_->deadLettered(OrderId(1)));
  const std::string letter = fakes_.queue.deadLetters("", 1, soon()).value()[0].id;
  fakes_.store.faults.heal();
  ASSERT_TRUE(fakes_.queue.replayDeadLetter(letter, soon()));
  EXPECT_TRUE(stored(answer.order));
  EXPECT_TRUE(eventually([&] { return !engine_->deadLettered(answer.order); }));
}

TEST_F(EngineTest, AnAlarmOfFulfilmentTakesReadinessAway) {
  startReady();
  fakes_.qualifier.appendJournal({OrderId(5), UserId(1), VoucherId(99), 1, fakes_.clock.now()});
  EXPECT_TRUE(eventually([&] { return reasons().find("99") != std::string::npos; })) << reasons();
  EXPECT_TRUE(engine_->stats().paused);
}

// --- journal off ---

FakeQueueOptions queueInThisProcess() {
  FakeQueueOptions options;
  options.traits = {.reserves = true};
  options.capacity = 100;
  return options;
}

EngineOptions withoutJournal() {
  EngineOptions options;
  options.journal = false;
  return options;
}

TEST(EngineWithoutJournal, PublishesItselfAndSaysWhatThatMeans) {
  Fakes fakes(queueInThisProcess(), false);
  fakes.qualifier.setJournal(false);
  const auto engine = Engine::make(fakes.parts(), withoutJournal());
  ASSERT_TRUE(engine->start(soon()));
  EXPECT_TRUE(engine->readiness().ready);
  EXPECT_EQ(engine->readiness().durability, Durability::L0);
  EXPECT_EQ(engine->readiness().warnings.size(), 1U);
  const VoucherId voucher = fakes.sell(10).id;
  const OrderAnswer answer = engine->order({voucher, UserId(1), 1, {}}, soon());
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  while (!fakes.store.findOrder(answer.order, soon()).value()) {
    std::this_thread::sleep_for(milliseconds(2));
  }
  engine->stop(soon());
}

TEST(EngineWithoutJournal, StoppingStoresWhatWaitsInThisProcessFirst) {
  Fakes fakes(queueInThisProcess(), false);
  fakes.qualifier.setJournal(false);
  const auto engine = Engine::make(fakes.parts(), withoutJournal());
  ASSERT_TRUE(engine->start(soon()));
  const VoucherId voucher = fakes.sell(10).id;
  // The first one keeps the worker busy, the others wait behind it.
  std::atomic<bool> storing{false};
  std::atomic<bool> goOn{false};
  fakes.store.faults.onCall([&](std::string_view call) {
    storing = storing || call == "persist";
    while (call == "persist" && !goOn)
      std::this_thread::sleep_for(milliseconds(1));
  });
  std::vector<OrderId> orders;
  for (int user = 1; user <= 5; ++user) {
    orders.push_back(engine->order({voucher, UserId(user), 1, {}}, soon()).order);
    while (!storing)
      std::this_thread::sleep_for(milliseconds(1));
  }
  std::thread stopping([&] { engine->stop(soon()); });
  while (engine->readiness().ready)
    std::this_thread::sleep_for(milliseconds(1));
  goOn = true;
  stopping.join();
  EXPECT_EQ(engine->stats().stored, 5U);
}

}  // namespace
}  // namespace sluice::test
