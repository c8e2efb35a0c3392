// An engine whose queue does not read the journal: the gate leaves everything to the forwarder, answers go on while the
// queue cannot, and the end leaves the lease to others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/audit.h"

#include "lifecycle/engine.h"
#include "support/effort.h"
#include "unit/forward_fixture.h"

namespace sluice::test {
namespace {

using lifecycle::EngineImpl;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineForwarded : public ::testing::Test {
 protected:
  void begin(const FakeQueueOptions& options, Role role = Role::All, std::size_t journalMax = 1000) {
    fakes_ = std::make_unique<Fakes>(options, false);
    fakes_->qualifier.setJournal(true, journalMax);
    fakes_->qualifier.setPatient(false);
    fakes_->queue.setPatient(false);
    EngineOptions engine;
    engine.role = role;
    engine_ = std::make_unique<EngineImpl>(fakes_->parts(), engine);
    ASSERT_TRUE(engine_->open(soon()));
    run(milliseconds(1000));
    voucher_ = fakes_->sell(1000).id;
    run(milliseconds(2000));
  }
  ~EngineForwarded() override {
    if (engine_) engine_->stop(soon());
  }
  void run(milliseconds time) {
    for (milliseconds passed{0}; passed <= time; passed += milliseconds(50)) {
      engine_->runDue(fakes_->clock.steady());
      fakes_->clock.advance(milliseconds(50));
    }
  }
  Verdict order() { return engine_->order({voucher_, UserId(++user_), 1, {}}, soon()).verdict; }
  std::string warnings() {
    std::string all;
    for (const std::string& warning : engine_->readiness().warnings) {
      all += warning + "\n";
    }
    return all;
  }

  std::unique_ptr<Fakes> fakes_;
  std::unique_ptr<EngineImpl> engine_;
  VoucherId voucher_;
  std::int64_t user_ = 0;
};

TEST_F(EngineForwarded, TheGateReservesAndPublishesNothingAndTheOrderIsStored) {
  begin(memoryQueue(5));
  ASSERT_EQ(order(), Verdict::Admitted);
  EXPECT_EQ(fakes_->queue.faults.calls("reserve"), 0U);
  EXPECT_EQ(fakes_->queue.faults.calls("publish"), 0U);
  run(milliseconds(500));
  EXPECT_EQ(fakes_->queue.faults.calls("publish"), 1U);
  EXPECT_EQ(engine_->stats().stored, 1U);
  EXPECT_EQ(engine_->stats().forwarder.forwarded, 1U);
  EXPECT_THAT(fakes_->qualifier.readJournal({}, 10, soon()).value(), IsEmpty());
}

TEST_F(EngineForwarded, WithAFullQueueAnswersGoOnUntilTheJournalIsFull) {
  begin(memoryQueue(3), Role::All, 10);
  fakes_->store.faults.always("persist", ErrorCode::Unavailable);
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(order(), Verdict::Admitted);
    run(milliseconds(100));
  }
  EXPECT_EQ(order(), Verdict::Busy);
  EXPECT_EQ(fakes_->qualifier.peek(voucher_).held, 10);
  EXPECT_THAT(warnings(), HasSubstr("the forwarder waits: queue: the queue is full"));
  EXPECT_TRUE(engine_->readiness().ready);
  fakes_->store.faults.heal();
  run(milliseconds(10'000));
  EXPECT_EQ(engine_->stats().stored, 10U);
  EXPECT_EQ(order(), Verdict::Admitted);
  run(milliseconds(3000));
  EXPECT_EQ(warnings(), "");
}

TEST_F(EngineForwarded, NamesTheLevelOfRedisAndWhoLeads) {
  begin(memoryQueue());
  fakes_->qualifier.setDurability(Durability::L2);
  run(milliseconds(2000));
  const Readiness readiness = engine_->readiness();
  EXPECT_EQ(readiness.durability, Durability::L2);
  EXPECT_EQ(readiness.forwarder, "this process leads");
  EXPECT_TRUE(readiness.ready);
  EXPECT_THAT(readiness.warnings, IsEmpty());
  ASSERT_TRUE(fakes_->qualifier.resign(engine_->stats().forwarder.leader, soon()));
  ASSERT_TRUE(fakes_->qualifier.lead("another", std::chrono::hours(1), soon()).value().ours);
  run(milliseconds(3000));
  EXPECT_EQ(engine_->readiness().forwarder, "led by another");
  EXPECT_TRUE(engine_->readiness().ready);
}

TEST_F(EngineForwarded, StaysReadyWhileTheQueueIsAwayAndSaysSo) {
  begin(brokerQueue());
  fakes_->queue.faults.always("stats", ErrorCode::Unavailable);
  fakes_->queue.faults.always("publish", ErrorCode::Unavailable);
  EXPECT_EQ(order(), Verdict::Admitted);
  run(milliseconds(2000));
  EXPECT_TRUE(engine_->readiness().ready);
  EXPECT_THAT(warnings(), HasSubstr("queue: scripted before stats"));
  EXPECT_THAT(warnings(), HasSubstr("the forwarder waits: queue: scripted before publish"));
  EXPECT_EQ(order(), Verdict::Admitted);
  fakes_->queue.faults.heal();
  run(milliseconds(5000));
  EXPECT_EQ(engine_->stats().stored, 2U);
  EXPECT_EQ(warnings(), "");
}

TEST_F(EngineForwarded, IsNotReadyWhereAnOperatorMustMendTheQueue) {
  begin(brokerQueue());
  fakes_->queue.faults.always("stats", ErrorCode::Misconfigured);
  run(milliseconds(2000));
  EXPECT_FALSE(engine_->readiness().ready);
}

TEST_F(EngineForwarded, AWorkerWithoutItsQueueIsNotReady) {
  begin(brokerQueue(), Role::Worker);
  fakes_->queue.faults.always("stats", ErrorCode::Unavailable);
  run(milliseconds(2000));
  EXPECT_FALSE(engine_->readiness().ready);
}

TEST_F(EngineForwarded, AFrontMovesTheJournalForTheWorkers) {
  begin(brokerQueue(), Role::Front);
  EXPECT_EQ(order(), Verdict::Admitted);
  run(milliseconds(500));
  EXPECT_EQ(fakes_->queue.stats(soon()).value().ready, 1);
}

TEST_F(EngineForwarded, WhatWasPutAsideIsSaidAsLongAsItIsThere) {
  begin(brokerQueue());
  fakes_->qualifier.appendUndecodable("garbage");
  run(milliseconds(3000));
  EXPECT_TRUE(engine_->readiness().ready);
  EXPECT_THAT(warnings(), HasSubstr("1 entries of the journal did not decode"));
}

TEST_F(EngineForwarded, TheEndLeavesTheLeaseToOthersAndDoesNotWaitForWhatTheJournalHas) {
  begin(memoryQueue());
  fakes_->store.faults.always("persist", ErrorCode::Unavailable);
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(order(), Verdict::Admitted);
  }
  run(milliseconds(500));
  const SteadyTime before = std::chrono::steady_clock::now();
  engine_->stop(Deadline::in(scaled(milliseconds(20'000))));
  EXPECT_LT(std::chrono::steady_clock::now() - before, scaled(milliseconds(10'000)));
  fakes_->reopen();
  ASSERT_TRUE(fakes_->qualifier.start(soon()));
  EXPECT_TRUE(fakes_->qualifier.lead("next", std::chrono::hours(1), soon()).value().taken);
  EXPECT_EQ(fakes_->qualifier.readJournal({}, 10, soon()).value().size(), 5U);
}

TEST_F(EngineForwarded, AuditAndLoadSeeWhatWaitsInTheJournal) {
  begin(memoryQueue());
  fakes_->store.faults.always("persist", ErrorCode::Unavailable);
  EXPECT_EQ(order(), Verdict::Admitted);
  run(milliseconds(500));
  EXPECT_EQ(fakes_->queue.stats(soon()).value().inFlight, 1);
  const auto waiting = audit(fakes_->parts(), soon());
  ASSERT_TRUE(waiting) << waiting.error().text;
  EXPECT_THAT(waiting.value().violations, IsEmpty());
  EXPECT_EQ(waiting.value().vouchers.at(0).waiting, 1);
  EXPECT_FALSE(waiting.value().atRest);
  // The journal's loss is the order's, although its process lives and the queue is not empty.
  const JournalId entry = fakes_->qualifier.readJournal({}, 1, soon()).value().at(0).id;
  ASSERT_TRUE(fakes_->qualifier.settleJournal({&entry, 1}, soon()));
  const auto lost = audit(fakes_->parts(), soon());
  EXPECT_EQ(lost.value().lost.size(), 1U);
  fakes_->store.faults.heal();
  run(milliseconds(5000));
  const auto rest = audit(fakes_->parts(), soon());
  EXPECT_THAT(rest.value().violations, IsEmpty());
  EXPECT_TRUE(rest.value().atRest);
}

}  // namespace
}  // namespace sluice::test
