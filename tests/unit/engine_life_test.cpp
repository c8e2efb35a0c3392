// The life of an engine with its threads: started and stopped twice, too early, at the same time, half-way,
// and stopped while any of its calls is blocked.
#include <chrono>
#include <functional>

#include <gtest/gtest.h>

#include "sluice/engine.h"

#include "support/effort.h"
#include "support/laws.h"
#include "unit/gate_fixture.h"

namespace sluice::test {
namespace {

class EngineLife : public ::testing::Test {
 protected:
  EngineLife() : voucher_(fakes_.sell(100).id) { fakes_.reopen(); }
  ~EngineLife() override { engine_.reset(); }

  Status start() {
    engine_ = Engine::make(fakes_.parts(), {});
    return engine_->start(soon());
  }
  // Another process on the same servers; what was admitted before is stored by it.
  void expectAnotherEngineSells() {
    engine_.reset();
    heal();
    fakes_.reopen();
    ASSERT_TRUE(start());
    EXPECT_TRUE(eventually([this] { return engine_->readiness().ready; }));
    const OrderAnswer answer = engine_->order({voucher_, UserId(++lastUser_), 1, {}}, soon());
    ASSERT_EQ(answer.verdict, Verdict::Admitted);
    admitted_.push_back(answer.order);
    for (const OrderId order : admitted_) {
      EXPECT_TRUE(eventually([&] { return fakes_.store.rows().contains(order); })) << order.text();
    }
    EXPECT_EQ(laws_.broken(), "");
  }
  void heal() {
    for (Faults* faults : {&fakes_.qualifier.faults, &fakes_.queue.faults, &fakes_.store.faults}) {
      faults->heal();
      faults->unblock();
    }
  }
  [[nodiscard]] bool eventually(const std::function<bool()>& happened) {
    for (const Deadline end = Deadline::in(scaled(milliseconds(20000))); !end.passed();) {
      if (happened()) return true;
      std::this_thread::sleep_for(milliseconds(2));
      fakes_.clock.advance(milliseconds(5));
    }
    return false;
  }
  // Every part answers that it is closed.
  void expectClosed() {
    EXPECT_EQ(fakes_.queue.stats(soon()).error().code, ErrorCode::Stopped);
    EXPECT_EQ(fakes_.qualifier.probe(soon()).error().code, ErrorCode::Stopped);
    EXPECT_EQ(fakes_.store.findOrder(OrderId(1), soon()).error().code, ErrorCode::Stopped);
  }

  Fakes fakes_;
  Laws laws_{fakes_};
  VoucherId voucher_;
  std::vector<OrderId> admitted_;
  std::int64_t lastUser_ = 1000;
  std::unique_ptr<Engine> engine_;
};

// --- start ---

TEST_F(EngineLife, StartingTwiceIsRefusedAndLeavesTheFirstAlone) {
  ASSERT_TRUE(start());
  EXPECT_EQ(engine_->start(soon()).error().code, ErrorCode::Stopped);
  const OrderAnswer answer = engine_->order({voucher_, UserId(1), 1, {}}, soon());
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  EXPECT_TRUE(eventually([&] { return fakes_.store.rows().contains(answer.order); }));
}

TEST_F(EngineLife, OfTwoStartsAtTheSameTimeOneWins) {
  engine_ = Engine::make(fakes_.parts(), {});
  std::atomic<int> started{0};
  {
    Callers callers;
    for (int k = 0; k < 4; ++k) {
      callers.add([&] { started += engine_->start(soon()).ok() ? 1 : 0; });
    }
  }
  EXPECT_EQ(started, 1);
  EXPECT_TRUE(eventually([this] { return engine_->readiness().ready; }));
}

struct StartCall {
  std::string part;
  std::string call;
};

class EngineStartFails : public EngineLife, public ::testing::WithParamInterface<StartCall> {
 protected:
  Faults& faults() {
    if (GetParam().part == "store") return fakes_.store.faults;
    return GetParam().part == "queue" ? fakes_.queue.faults : fakes_.qualifier.faults;
  }
};

TEST_P(EngineStartFails, HalfWayWithEveryCode) {
  for (const ErrorCode code : kErrorCodes) {
    SCOPED_TRACE(std::string(errorName(code)));
    // A schema that is too old is what makes a start migrate.
    const bool migrates = GetParam().call == "migrate";
    fakes_.store.setSchema(!migrates);
    // Misconfigured is what a migration mends: then it is tried, and the start once more.
    faults().next(GetParam().call, code, FaultMoment::Before, 2);
    const Status started = start();
    if (errorTraits(code).mayRetry) {
      EXPECT_TRUE(started) << "the server may come back by itself";
    } else {
      ASSERT_FALSE(started);
      EXPECT_EQ(started.error().code, migrates ? ErrorCode::Misconfigured : code);
      EXPECT_NE(started.error().text.find(GetParam().part), std::string::npos) << started.error().text;
      EXPECT_NE(started.error().text.find("scripted"), std::string::npos) << started.error().text;
      expectClosed();
      EXPECT_FALSE(engine_->readiness().ready);
      EXPECT_EQ(engine_->order({voucher_, UserId(1), 1, {}}, soon()).verdict, Verdict::Unavailable);
      EXPECT_EQ(engine_->start(soon()).error().code, ErrorCode::Stopped);
      engine_->stop(soon());
    }
    expectAnotherEngineSells();
    engine_.reset();
    fakes_.reopen();
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, EngineStartFails,
                         ::testing::Values(StartCall{"store", "start"}, StartCall{"store", "migrate"},
                                           StartCall{"redis", "start"}, StartCall{"queue", "start"}),
                         [](const auto& at) { return at.param.part + "_" + at.param.call; });

// --- stop ---

TEST_F(EngineLife, StoppedBeforeItsStartItClosesItsPartsAndNeverStarts) {
  engine_ = Engine::make(fakes_.parts(), {});
  engine_->stop(soon());
  expectClosed();
  EXPECT_EQ(engine_->start(soon()).error().code, ErrorCode::Stopped);
  expectAnotherEngineSells();
}

TEST_F(EngineLife, StoppedTwiceAndAtTheSameTimeItSaysGoodByeOnce) {
  ASSERT_TRUE(start());
  ASSERT_TRUE(eventually([this] { return engine_->readiness().ready; }));
  {
    Callers callers;
    for (int k = 0; k < 4; ++k) {
      callers.add([this] { engine_->stop(soon()); });
    }
  }
  engine_->stop(soon());
  EXPECT_EQ(fakes_.queue.faults.calls("drain"), 1U);
  EXPECT_EQ(fakes_.store.faults.calls("endProcess"), 1U);
  expectClosed();
  expectAnotherEngineSells();
}

TEST_F(EngineLife, WhatAWorkerStillHoldsAtTheDeadlineIsHandedBackBeforeTheQueueCloses) {
  ASSERT_TRUE(start());
  ASSERT_TRUE(eventually([this] { return engine_->readiness().ready; }));
  fakes_.store.faults.block("persist");
  admitted_.push_back(engine_->order({voucher_, UserId(1), 1, {}}, soon()).order);
  ASSERT_TRUE(fakes_.store.faults.awaitBlocked(Deadline::in(scaled(milliseconds(20000)))));
  std::mutex mutex;
  std::vector<std::string> ends;
  fakes_.queue.faults.onCall([&](std::string_view call) {
    const std::lock_guard lock(mutex);
    if (call == "drain" || call == "close") ends.emplace_back(call);
  });
  engine_->stop(Deadline::in(milliseconds(100)));
  fakes_.queue.faults.onCall({});
  ASSERT_FALSE(ends.empty());
  EXPECT_EQ(ends.front(), "drain");
  expectClosed();
  expectAnotherEngineSells();
}

struct Blocked {
  std::string part;
  std::string call;
};

class EngineStopsWhileBlocked : public EngineLife, public ::testing::WithParamInterface<Blocked> {
 protected:
  Faults& faults() {
    if (GetParam().part == "store") return fakes_.store.faults;
    return GetParam().part == "queue" ? fakes_.queue.faults : fakes_.qualifier.faults;
  }
  void order(std::int64_t user) {
    const OrderAnswer answer = engine_->order({voucher_, UserId(user), 1, {}}, soon());
    if (answer.verdict != Verdict::Admitted) return;
    const std::lock_guard lock(mutex_);
    admitted_.push_back(answer.order);
  }
  // Gives every thread of the engine a reason for every one of its calls.
  void stir(OrderId paid, OrderId live) {
    const Order row = fakes_.store.rows().at(live);
    const CancelRequest cancel{{row.id, row.user, row.voucher, row.quantity, row.admittedAt},
                               DeadReason::ByUser};
    (void)fakes_.store.cancel(cancel, fakes_.clock.now(), soon());
    fakes_.queue.injectUndecodable("nonsense");
    fakes_.qualifier.forgetHold(voucher_, paid);
    fakes_.qualifier.restart(true);
    for (const ProcessLease& lease : fakes_.store.leases()) {
      if (GetParam().call == "leaseProcess") fakes_.store.stealLease(lease.number, fakes_.clock.now());
    }
  }
  std::mutex mutex_;
};

TEST_P(EngineStopsWhileBlocked, WithinItsBoundAndNothingIsLost) {
  ASSERT_TRUE(start());
  ASSERT_TRUE(eventually([this] { return engine_->readiness().ready; }));
  order(1);
  order(2);
  ASSERT_EQ(admitted_.size(), 2U);
  ASSERT_TRUE(eventually([this] {
    const auto rows = fakes_.store.rows();
    return rows.contains(admitted_[0]) && rows.contains(admitted_[1]);
  }));
  Callers callers;
  faults().block(GetParam().call);
  // The gate's own call is blocked while Redis is trusted still.
  if (GetParam().call == "decide") {
    callers.add([this] { order(3); });
  } else {
    order(3);
    stir(admitted_[0], admitted_[1]);
  }
  ASSERT_TRUE(faults().awaitBlocked(Deadline::in(scaled(milliseconds(20000))))) << "it is never called";
  const auto began = std::chrono::steady_clock::now();
  engine_->stop(Deadline::in(milliseconds(100)));
  EXPECT_LT(std::chrono::steady_clock::now() - began, scaled(milliseconds(10000)));
  callers.join();
  expectClosed();
  expectAnotherEngineSells();
}

INSTANTIATE_TEST_SUITE_P(Calls, EngineStopsWhileBlocked,
                         ::testing::Values(Blocked{"redis", "probe"}, Blocked{"redis", "decide"},
                                           Blocked{"redis", "release"}, Blocked{"redis", "restore"},
                                           Blocked{"redis", "snapshot"}, Blocked{"queue", "receive"},
                                           Blocked{"queue", "settle"}, Blocked{"queue", "stats"},
                                           Blocked{"queue", "deadLetters"}, Blocked{"store", "listVouchers"},
                                           Blocked{"store", "leaseProcess"}, Blocked{"store", "renewProcess"},
                                           Blocked{"store", "persist"}, Blocked{"store", "expire"},
                                           Blocked{"store", "unreleased"}, Blocked{"store", "markReleased"},
                                           Blocked{"store", "recentOrders"}, Blocked{"store", "findOrders"}),
                         [](const auto& at) { return at.param.part + "_" + at.param.call; });

// The calls of the good-bye itself are bounded by their deadline alone.
class EngineSlowGoodbye : public EngineLife, public ::testing::WithParamInterface<Blocked> {};

TEST_P(EngineSlowGoodbye, EndsAllTheSame) {
  ASSERT_TRUE(start());
  ASSERT_TRUE(eventually([this] { return engine_->readiness().ready; }));
  (GetParam().part == "queue" ? fakes_.queue.faults : fakes_.store.faults)
      .slow(GetParam().call, milliseconds(200));
  engine_->stop(Deadline::in(milliseconds(100)));
  expectClosed();
  expectAnotherEngineSells();
}

INSTANTIATE_TEST_SUITE_P(Calls, EngineSlowGoodbye,
                         ::testing::Values(Blocked{"queue", "drain"}, Blocked{"store", "endProcess"}),
                         [](const auto& at) { return at.param.part + "_" + at.param.call; });

}  // namespace
}  // namespace sluice::test
