// The gate: batches that form by themselves, deadlines, caps, and what every failure becomes for the client.
#include "admission/gate.h"

#include <array>

#include <gtest/gtest.h>

#include "unit/gate_fixture.h"

namespace sluice::test {
namespace {

TEST(Gate, ALoneRequestIsAskedAtOnceAndAlone) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  for (std::int64_t user = 1; user <= 5; ++user) {
    const OrderAnswer answer = fixture.order(voucher, user);
    EXPECT_EQ(answer.verdict, Verdict::Admitted);
    EXPECT_TRUE(answer.fresh);
  }
  const HistogramSnapshot sizes = fixture.gate.batchSizes().snapshot();
  EXPECT_EQ(sizes.count, 5U);
  EXPECT_EQ(sizes.sum, 5U);
}

TEST(Gate, RequestsThatMeetAreGathered) {
  GateFixture fixture({.batchesInFlight = 1});
  const VoucherId voucher = fixture.sell(1000);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  std::atomic<int> admitted{0};
  Callers callers;
  for (std::int64_t user = 1; user <= 65; ++user) {
    callers.add([&, user] {
      if (fixture.order(voucher, user).verdict == Verdict::Admitted) ++admitted;
    });
    if (user == 1) decide.awaitArrivals(1);
  }
  fixture.awaitInFlight(65);
  decide.open();
  callers.join();
  EXPECT_EQ(admitted, 65);
  const HistogramSnapshot sizes = fixture.gate.batchSizes().snapshot();
  EXPECT_EQ(sizes.sum, 65U);
  EXPECT_LE(sizes.count, 8U) << "64 requests that waited together should need few calls";
  EXPECT_EQ(fixture.fakes.brokenLaws(), "");
}

TEST(Gate, SeveralBatchesOfOneVoucherAreInFlightAtOneTime) {
  GateFixture fixture({.batchesInFlight = 2});
  const VoucherId voucher = fixture.sell(10);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  Callers callers;
  callers.add([&] { EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted); });
  callers.add([&] { EXPECT_EQ(fixture.order(voucher, 2).verdict, Verdict::Admitted); });
  decide.awaitArrivals(2);
  decide.open();
}

TEST(Gate, AWaiterWhoseDeadlinePassesWithdrawsAndNothingHappened) {
  GateFixture fixture({.batchesInFlight = 1});
  const VoucherId voucher = fixture.sell(10);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  Callers callers;
  callers.add([&] { EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted); });
  decide.awaitArrivals(1);
  EXPECT_EQ(fixture.order(voucher, 2, Deadline::in(milliseconds(20))).verdict, Verdict::Unavailable);
  decide.open();
  callers.join();
  EXPECT_EQ(fixture.held(voucher), 1);
  EXPECT_EQ(fixture.fakes.qualifier.stats().requests, 1U);
}

TEST(Gate, ARequestThatIsAlreadyAskedLeavesWithItsOrderIdAtItsDeadline) {
  GateFixture fixture({.batchesInFlight = 1});
  const VoucherId voucher = fixture.sell(10);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  Callers callers;
  OrderAnswer impatient;
  callers.add([&] { EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted); });
  decide.awaitArrivals(1);
  callers.add([&] { EXPECT_EQ(fixture.order(voucher, 2).verdict, Verdict::Admitted); });
  fixture.awaitInFlight(2);
  callers.add([&] { impatient = fixture.order(voucher, 3, Deadline::in(milliseconds(1500))); });
  fixture.awaitInFlight(3);
  decide.letThrough();
  decide.awaitArrivals(2);  // asks for users 2 and 3, with user 2 as leader
  while (fixture.gate.inFlight() > 1) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  decide.open();
  callers.join();
  EXPECT_EQ(impatient.verdict, Verdict::OutcomeUnknown);
  const auto holds = fixture.fakes.qualifier.holdsOf(voucher, UserId(3), soon()).value();
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(impatient.order, holds[0].order);
}

TEST(Gate, ALeaderHandsOnInsteadOfServingOthersForEver) {
  GateFixture fixture({.batchesInFlight = 1});
  const VoucherId voucher = fixture.sell(1000);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  std::atomic<bool> firstIsBack{false};
  std::atomic<int> admitted{0};
  Callers callers;
  callers.add([&] {
    if (fixture.order(voucher, 1).verdict == Verdict::Admitted) ++admitted;
    firstIsBack = true;
  });
  decide.awaitArrivals(1);
  for (std::int64_t user = 2; user <= 100; ++user) {
    callers.add([&, user] {
      if (fixture.order(voucher, user).verdict == Verdict::Admitted) ++admitted;
    });
  }
  fixture.awaitInFlight(100);
  decide.letThrough();
  decide.awaitArrivals(2);
  while (!firstIsBack) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  decide.open();
  callers.join();
  EXPECT_EQ(admitted, 100);
}

TEST(Gate, ACrowdedVoucherDoesNotKeepAnotherWaiting) {
  GateFixture fixture({.batchesInFlight = 1});
  const VoucherId crowded = fixture.sell(1000);
  const VoucherId quiet = fixture.sell(10);
  std::atomic<std::size_t> asked{0};
  std::atomic<std::int64_t> heldAtFourth{-1};
  std::mutex gateOfFirst;
  std::unique_lock first(gateOfFirst);
  fixture.fakes.qualifier.faults.onCall([&](std::string_view call) {
    if (call != "decide") return;
    const std::size_t number = ++asked;
    if (number == 1) const std::lock_guard wait(gateOfFirst);
    if (number == 4) heldAtFourth = fixture.held(quiet);
  });
  Callers callers;
  callers.add([&] { (void)fixture.order(crowded, 1); });
  while (asked == 0) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  for (std::int64_t user = 2; user <= 200; ++user) {
    callers.add([&, user] { (void)fixture.order(crowded, user); });
  }
  fixture.awaitInFlight(200);
  callers.add([&] { (void)fixture.order(quiet, 1); });
  fixture.awaitInFlight(201);
  first.unlock();
  callers.join();
  EXPECT_EQ(heldAtFourth, 1) << "the quiet voucher should have had the third turn";
}

TEST(Gate, RequestsBeyondTheCapAreBusyAtOnce) {
  GateFixture fixture({.inFlightMax = 2, .batchesInFlight = 1});
  const VoucherId voucher = fixture.sell(10);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  Callers callers;
  callers.add([&] { (void)fixture.order(voucher, 1); });
  callers.add([&] { (void)fixture.order(voucher, 2); });
  fixture.awaitInFlight(2);
  EXPECT_EQ(fixture.order(voucher, 3).verdict, Verdict::Busy);
  decide.open();
  callers.join();
  EXPECT_EQ(fixture.held(voucher), 2);
  EXPECT_EQ(fixture.verdicts(Verdict::Busy), 1U);
}

TEST(Gate, AClosedGateLetsNobodyInAndTellsWhenItIsEmpty) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  Callers callers;
  callers.add([&] { EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted); });
  decide.awaitArrivals(1);
  fixture.gate.close();
  EXPECT_EQ(fixture.order(voucher, 2).verdict, Verdict::Unavailable);
  EXPECT_FALSE(fixture.gate.idleBy(Deadline::in(milliseconds(5))));
  decide.open();
  EXPECT_TRUE(fixture.gate.idleBy(soon()));
}

TEST(Gate, NoIdIsIssuedWithoutALease) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  fixture.ids.revoke();
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Unavailable);
  EXPECT_EQ(fixture.held(voucher), 0);
}

TEST(Gate, EveryErrorOfTheQualifierIsAVerdict) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  const std::array<std::pair<ErrorCode, Verdict>, 6> expected = {
      {{ErrorCode::Unavailable, Verdict::Unavailable},
       {ErrorCode::Misconfigured, Verdict::Unavailable},
       {ErrorCode::Corrupt, Verdict::Unavailable},
       {ErrorCode::Stopped, Verdict::Unavailable},
       {ErrorCode::Overloaded, Verdict::Busy},
       {ErrorCode::Internal, Verdict::OutcomeUnknown}}};
  for (const auto& [code, verdict] : expected) {
    fixture.fakes.qualifier.faults.next("decide", code);
    const OrderAnswer answer = fixture.order(voucher, 1);
    EXPECT_EQ(answer.verdict, verdict) << errorName(code);
    EXPECT_EQ(answer.order.valid(), verdict == Verdict::OutcomeUnknown) << errorName(code);
  }
  EXPECT_EQ(fixture.held(voucher), 0);
}

TEST(Gate, ALostAnswerIsAskedForAgainAndCountsOnce) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  fixture.fakes.qualifier.faults.next("decide", ErrorCode::OutcomeUnknown, FaultMoment::After);
  const OrderAnswer answer = fixture.order(voucher, 1);
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  EXPECT_TRUE(answer.fresh);
  const auto counts = fixture.gate.admitted();
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0].admitted, 1);
}

TEST(Gate, AnAnswerLostTwiceIsUnknownEvenIfTheSecondSurelyDidNothing) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  fixture.fakes.qualifier.faults.next("decide", ErrorCode::OutcomeUnknown, FaultMoment::After);
  fixture.fakes.qualifier.faults.next("decide", ErrorCode::Unavailable);
  const OrderAnswer answer = fixture.order(voucher, 1);
  EXPECT_EQ(answer.verdict, Verdict::OutcomeUnknown);
  EXPECT_EQ(fixture.fakes.qualifier.holdsOf(voucher, UserId(1), soon()).value()[0].order, answer.order);
}

TEST(Gate, TheSameIdempotencyKeyGetsTheFirstAnswerAndIsNotCountedAgain) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  const OrderRequest request{voucher, UserId(1), 1, "0123456789abcdef"};
  const OrderAnswer first = fixture.gate.order(request, soon());
  const OrderAnswer second = fixture.gate.order(request, soon());
  EXPECT_EQ(second.verdict, Verdict::Admitted);
  EXPECT_EQ(second.order, first.order);
  EXPECT_FALSE(second.fresh);
  EXPECT_EQ(fixture.gate.admitted()[0].admitted, 1);
  EXPECT_EQ(fixture.order(voucher, 1).order, first.order) << "already ordered, with the order's id";
}

TEST(Gate, AVoucherOnRecordThatRedisLacksIsUnavailableNeverNotFound) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  EXPECT_EQ(fixture.order(VoucherId(99), 1).verdict, Verdict::NotFound);
  EXPECT_FALSE(fixture.gate.missingVoucher());
  fixture.fakes.qualifier.flushAll();
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Unavailable);
  EXPECT_EQ(fixture.gate.missingVoucher(), voucher);
  EXPECT_EQ(fixture.verdicts(Verdict::Unavailable), 1U);
}

TEST(Gate, AClosedVoucherThatRedisForgotHasEnded) {
  GateFixture fixture;
  const VoucherId voucher = fixture.sell(10);
  Voucher known = *fixture.catalog.find(voucher);
  known.settings.state = VoucherState::Closed;
  ASSERT_TRUE(fixture.fakes.store.updateVoucher(voucher, known.version, known.settings, soon()));
  fixture.refresh();
  fixture.fakes.qualifier.flushAll();
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Ended);
}

TEST(Gate, BeforeTheVouchersWereReadNothingIsCalledNotFound) {
  GateFixture fixture;
  EXPECT_EQ(fixture.order(VoucherId(99), 1).verdict, Verdict::Unavailable);
}

TEST(Gate, AVoucherMadeAMomentAgoIsServedBeforeTheCatalogKnowsIt) {
  GateFixture fixture;
  fixture.refresh();
  const VoucherId voucher = fixture.fakes.sell(10).id;
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted);
  EXPECT_EQ(fixture.gate.admitted()[0].admitted, 1);
  fixture.refresh();
  EXPECT_EQ(fixture.order(voucher, 2).verdict, Verdict::Admitted);
  EXPECT_EQ(fixture.gate.admitted()[0].admitted, 2);
}

TEST(Gate, AVoucherThatWasSoldIsNeverNotFoundEvenBeforeTheCatalogKnowsIt) {
  GateFixture fixture;
  fixture.refresh();
  const VoucherId voucher = fixture.fakes.sell(10).id;
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted);
  fixture.fakes.qualifier.flushAll();
  EXPECT_EQ(fixture.order(voucher, 2).verdict, Verdict::Unavailable);
}

TEST(LaneTable, UnknownVouchersHaveFewLanesAndGiveThemBack) {
  admission::LaneTable lanes;
  std::vector<admission::LaneTable::Use> uses;
  for (std::size_t k = 1; k <= admission::LaneTable::kStrangersMax; ++k) {
    uses.push_back(lanes.use(VoucherId(static_cast<std::int64_t>(k))));
    EXPECT_TRUE(uses.back());
  }
  EXPECT_FALSE(lanes.use(VoucherId(1000)));
  EXPECT_TRUE(lanes.use(VoucherId(1))) << "a lane that is there is shared";
  const VoucherId known(2000);
  lanes.know({&known, 1});
  EXPECT_TRUE(lanes.use(known));
  uses.clear();
  EXPECT_TRUE(lanes.use(VoucherId(1000)));
}

// --- the gate publishes ---

FakeQueueOptions reservingQueue(std::size_t capacity) {
  FakeQueueOptions options;
  options.traits = {.reserves = true};
  options.capacity = capacity;
  return options;
}

constexpr admission::GateOptions kPublishing{.inFlightMax = 1000, .batchesInFlight = 1, .publishes = true};

TEST(PublishingGate, WithoutAPlaceInTheQueueNoStockIsTaken) {
  GateFixture fixture(reservingQueue(2), kPublishing);
  const VoucherId voucher = fixture.sell(10);
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted);
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::AlreadyOrdered);
  EXPECT_EQ(fixture.order(voucher, 2).verdict, Verdict::Admitted);
  EXPECT_EQ(fixture.order(voucher, 3).verdict, Verdict::Busy);
  EXPECT_EQ(fixture.held(voucher), 2);
  EXPECT_EQ(fixture.fakes.queue.reserved(), 0U);
  EXPECT_EQ(fixture.fakes.queue.receive(0, 10, soon()).value().size(), 2U);
}

TEST(PublishingGate, OfABatchTheFirstHaveThePlaces) {
  GateFixture fixture(reservingQueue(5), kPublishing);
  const VoucherId voucher = fixture.sell(100);
  Turnstile decide(fixture.fakes.qualifier.faults, "decide");
  std::atomic<int> admitted{0};
  std::atomic<int> busy{0};
  Callers callers;
  for (std::int64_t user = 1; user <= 20; ++user) {
    callers.add([&, user] {
      const Verdict verdict = fixture.order(voucher, user).verdict;
      if (verdict == Verdict::Admitted) ++admitted;
      if (verdict == Verdict::Busy) ++busy;
    });
  }
  fixture.awaitInFlight(20);
  decide.open();
  callers.join();
  EXPECT_EQ(admitted, 5);
  EXPECT_EQ(busy, 15);
  EXPECT_EQ(fixture.held(voucher), 5);
  EXPECT_EQ(fixture.fakes.queue.reserved(), 0U);
}

TEST(PublishingGate, AFailedDecisionGivesItsPlacesBack) {
  GateFixture fixture(reservingQueue(2), kPublishing);
  const VoucherId voucher = fixture.sell(10);
  fixture.fakes.qualifier.faults.next("decide", ErrorCode::Unavailable);
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Unavailable);
  EXPECT_EQ(fixture.fakes.queue.reserved(), 0U);
}

TEST(PublishingGate, APublishThatDidNotHappenGivesTheStockBack) {
  GateFixture fixture(reservingQueue(2), kPublishing);
  const VoucherId voucher = fixture.sell(10);
  fixture.fakes.queue.faults.next("publish", ErrorCode::Unavailable);
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Unavailable);
  fixture.fakes.queue.faults.next("publish", ErrorCode::Overloaded);
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Busy);
  EXPECT_EQ(fixture.held(voucher), 0);
  EXPECT_EQ(fixture.fakes.queue.reserved(), 0U);
  EXPECT_TRUE(fixture.gate.admitted().empty());
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted);
}

TEST(PublishingGate, AnAdmissionThatFailsToBeTakenBackIsOwedAndDoneLater) {
  GateFixture fixture(reservingQueue(2), kPublishing);
  const VoucherId voucher = fixture.sell(10);
  fixture.fakes.queue.faults.next("publish", ErrorCode::Unavailable);
  fixture.fakes.qualifier.faults.next("takeBack", ErrorCode::Unavailable, FaultMoment::Before, 2);
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Unavailable);
  EXPECT_EQ(fixture.held(voucher), 1);
  EXPECT_EQ(fixture.gate.takeBackOwed(soon()), 1U);
  EXPECT_EQ(fixture.gate.takeBackOwed(soon()), 0U);
  EXPECT_EQ(fixture.held(voucher), 0);
  EXPECT_EQ(fixture.fakes.brokenLaws(), "");
}

TEST(PublishingGate, AnUnknownPublishIsRepeatedAndOtherwiseUnknown) {
  FakeQueueOptions queue;
  queue.traits = {.durable = true};
  GateFixture fixture(queue, kPublishing);
  const VoucherId voucher = fixture.sell(10);
  fixture.fakes.queue.faults.next("publish", ErrorCode::OutcomeUnknown, FaultMoment::After);
  EXPECT_EQ(fixture.order(voucher, 1).verdict, Verdict::Admitted);
  fixture.fakes.queue.faults.next("publish", ErrorCode::OutcomeUnknown, FaultMoment::Before, 2);
  const OrderAnswer answer = fixture.order(voucher, 2);
  EXPECT_EQ(answer.verdict, Verdict::OutcomeUnknown);
  EXPECT_EQ(fixture.fakes.qualifier.holdsOf(voucher, UserId(2), soon()).value()[0].order, answer.order);
}

constexpr std::string_view kKey = "one-question-asked-twice";

TEST(PublishingGate, AKeyWhoseOrderWasTakenBackIsNewAgain) {
  GateFixture fixture(reservingQueue(2), kPublishing);
  const VoucherId voucher = fixture.sell(10);
  const OrderRequest request{voucher, UserId(1), 1, kKey};
  fixture.fakes.queue.faults.next("publish", ErrorCode::Unavailable, FaultMoment::Before, 2);
  EXPECT_EQ(fixture.gate.order(request, soon()).verdict, Verdict::Unavailable);
  fixture.fakes.qualifier.faults.next("takeBack", ErrorCode::Unavailable);
  EXPECT_EQ(fixture.gate.order(request, soon()).verdict, Verdict::Unavailable);
  EXPECT_EQ(fixture.gate.takeBackOwed(soon()), 0U);
  const OrderAnswer answer = fixture.gate.order(request, soon());
  EXPECT_EQ(answer.verdict, Verdict::Admitted);
  EXPECT_TRUE(answer.fresh);
  EXPECT_EQ(fixture.fakes.queue.receive(0, 10, soon()).value()[0].admission.order, answer.order);
}

TEST(PublishingGate, ARepeatedQuestionIsPublishedAgainBecauseTheFirstPublishMayHaveFailed) {
  FakeQueueOptions queue;
  queue.traits = {.durable = true};
  GateFixture fixture(queue, kPublishing);
  const VoucherId voucher = fixture.sell(10);
  const OrderRequest request{voucher, UserId(1), 1, kKey};
  fixture.fakes.queue.faults.next("publish", ErrorCode::OutcomeUnknown, FaultMoment::Before, 2);
  const OrderAnswer unknown = fixture.gate.order(request, soon());
  EXPECT_EQ(unknown.verdict, Verdict::OutcomeUnknown);
  fixture.fakes.queue.faults.next("publish", ErrorCode::Unavailable);
  EXPECT_EQ(fixture.gate.order(request, soon()).verdict, Verdict::OutcomeUnknown);
  EXPECT_EQ(fixture.held(voucher), 1) << "only what is fresh is taken back";
  const OrderAnswer again = fixture.gate.order(request, soon());
  EXPECT_EQ(again.verdict, Verdict::Admitted);
  EXPECT_EQ(again.order, unknown.order);
  EXPECT_EQ(fixture.fakes.queue.receive(0, 10, soon()).value()[0].admission.order, unknown.order);
}

// --- all at once ---

TEST(Gate, UnderAStormWithShortDeadlinesEveryAnswerIsTrue) {
  GateFixture fixture({.batchesInFlight = 2});
  constexpr std::int64_t kStock = 400;
  const std::array<VoucherId, 3> vouchers = {fixture.sell(kStock), fixture.sell(kStock),
                                             fixture.sell(kStock)};
  std::atomic<std::int64_t> admitted{0};
  std::atomic<std::int64_t> unknown{0};
  Callers callers;
  for (std::int64_t thread = 0; thread < 16; ++thread) {
    callers.add([&, thread] {
      SeededRandom random(static_cast<std::uint64_t>(thread));
      for (std::int64_t k = 0; k < 200; ++k) {
        const VoucherId voucher = vouchers[random.next() % vouchers.size()];
        const Deadline deadline = Deadline::in(milliseconds(random.next() % 4 == 0 ? 1 : 5000));
        const OrderAnswer answer = fixture.order(voucher, thread * 1000 + k + 1, deadline);
        if (answer.verdict == Verdict::OutcomeUnknown) ++unknown;
        if (answer.verdict != Verdict::Admitted) continue;
        ++admitted;
        EXPECT_TRUE(answer.order.valid());
      }
    });
  }
  callers.join();
  std::int64_t held = 0;
  for (const VoucherId voucher : vouchers) {
    held += fixture.held(voucher);
    EXPECT_EQ(fixture.fakes.brokenLaws(), "");
  }
  EXPECT_GE(held, admitted);
  EXPECT_LE(held, admitted + unknown);
  EXPECT_EQ(fixture.gate.inFlight(), 0U);
}

}  // namespace
}  // namespace sluice::test
