// The forwarder against fakes: who leads, what is moved, and what happens when something is away.
#include "unit/forward_fixture.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

class ForwarderTest : public ForwardFixture {};

TEST_F(ForwarderTest, MovesEntriesInTheirOrderAndNamesTheEntryOfEach) {
  const auto orders = admit(1200);
  run();
  const auto deliveries = take();
  ASSERT_EQ(deliveries.size(), 1200U);
  const auto entries = fakes_->qualifier.readJournal({}, 1000, soon()).value();
  for (std::size_t k = 0; k < deliveries.size(); ++k) {
    EXPECT_EQ(deliveries[k].admission.order, orders[k]);
    if (k < entries.size()) {
      EXPECT_EQ(deliveries[k].journal, entries[k].id);
    }
  }
  EXPECT_EQ(fakes_->queue.faults.calls("publish"), 3U) << "batches as large as a receive takes";
  EXPECT_EQ(one_->stats().forwarded, 1200U);
  const auto more = admit(1);
  run();
  EXPECT_THAT(takeOrders(), ElementsAreArray(more)) << "and nothing twice";
}

TEST_F(ForwarderTest, OfSeveralOneMoves) {
  const auto other = make("other");
  run(*one_);
  admit(10);
  run(*other);
  EXPECT_EQ(queued(), 0);
  EXPECT_FALSE(other->stats().leads);
  EXPECT_EQ(other->stats().leader, "one");
  run(*one_);
  EXPECT_EQ(queued(), 10);
  EXPECT_TRUE(one_->stats().leads);
}

TEST_F(ForwarderTest, WhoIsFrozenBeyondHisLeaseLeadsNoMoreAndAnotherReadsFromTheStart) {
  const auto other = make("other");
  const auto orders = admit(3);
  run(*one_);
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
  (void)other->step(milliseconds(200));
  fakes_->clock.advance(kLease);
  run(*other);
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders)) << "nobody has settled them";
  admit(2);
  run(*one_);
  EXPECT_EQ(queued(), 6) << "what the first one thinks does not count: two times three are out, none is new";
  EXPECT_FALSE(one_->stats().leads);
  run(*other);
  EXPECT_EQ(queued(), 8);
}

TEST_F(ForwarderTest, RenewedInTimeItLeadsForEverAndReadsNothingAgain) {
  admit(5);
  run(std::chrono::minutes(10));
  EXPECT_EQ(take().size(), 5U) << "they are in the queue, old, and stay where they are";
  EXPECT_TRUE(one_->stats().leads);
  EXPECT_EQ(one_->stats().rereads, 1U) << "the one at the beginning";
}

TEST_F(ForwarderTest, WhoResignsHandsOnAtOnce) {
  const auto other = make("other");
  admit(2);
  run(*one_);
  (void)other->step(milliseconds(200));
  ASSERT_TRUE(one_->resign(soon()));
  fakes_->clock.advance(kLease / 3);
  run(*other);
  EXPECT_TRUE(other->stats().leads);
  EXPECT_EQ(queued(), 4);
}

TEST_F(ForwarderTest, WhoseQueueIsAwayLeavesTheLeaseToOthers) {
  mayLead_ = false;
  admit(1);
  run(milliseconds(5000));
  EXPECT_FALSE(one_->stats().leads);
  EXPECT_EQ(fakes_->qualifier.faults.calls("lead"), 0U);
  mayLead_ = true;
  run(milliseconds(500));
  EXPECT_EQ(queued(), 1);
}

TEST_F(ForwarderTest, WithoutAnAnswerAboutItsLeaseItGoesOnUntilTheLeaseEnds) {
  run();
  fakes_->qualifier.faults.always("lead", ErrorCode::Unavailable);
  admit(1);
  run(kLease / 2);
  EXPECT_EQ(queued(), 1);
  run(kLease);
  admit(1);
  run(kLease);
  EXPECT_EQ(queued(), 1);
  EXPECT_FALSE(one_->stats().leads);
  fakes_->qualifier.faults.heal();
  run(milliseconds(3000));
  EXPECT_EQ(queued(), 3) << "the first one, which was never settled, and both from the start";
}

TEST_F(ForwarderTest, ALeaseWhoseTakingWasNotAnsweredIsReadFromTheStartAllTheSame) {
  admit(1);
  run();
  ASSERT_EQ(take().size(), 1U);
  fakes_->clock.advance(kLease * 2);
  fakes_->qualifier.faults.next("lead", ErrorCode::OutcomeUnknown, FaultMoment::After);
  run(milliseconds(3000));
  EXPECT_TRUE(one_->stats().leads);
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(ForwarderTest, ALeaseThatRanOutInALongCallCostsNoReading) {
  run();
  for (int round = 0; round < 10; ++round) {
    admit(2);
    // Each publish takes longer than the lease.
    fakes_->queue.faults.onCall([this](std::string_view call) {
      if (call == "publish") fakes_->clock.advance(kLease * 2);
    });
    run();
  }
  EXPECT_EQ(take().size(), 20U) << "each once";
  EXPECT_EQ(one_->stats().rereads, 1U);
  EXPECT_TRUE(one_->stats().leads);
}

TEST_F(ForwarderTest, ARedisThatLostItsDataIsReadFromItsStart) {
  admit(3);
  run();
  take();
  fakes_->qualifier.flushAll();
  const auto orders = admit(2);
  run(kLease);
  EXPECT_THAT(takeOrders(), testing::IsSupersetOf(orders));
  EXPECT_EQ(one_->stats().rereads, 2U);
}

class ForwarderFailing : public ForwarderTest, public testing::WithParamInterface<ErrorCode> {};

TEST_P(ForwarderFailing, PublishingKeepsThePlaceAndGoesOnByItself) {
  run();
  fakes_->queue.faults.always("publish", GetParam());
  const auto orders = admit(3);
  run(milliseconds(20000));
  EXPECT_EQ(queued(), 0);
  EXPECT_FALSE(one_->stats().pausedWhy.empty());
  const std::size_t asked = fakes_->queue.faults.calls("publish");
  EXPECT_LT(asked, 20'000U / 25) << "a pause between attempts";
  EXPECT_GT(asked, 3U);
  fakes_->queue.faults.heal();
  const auto more = admit(1);
  run(milliseconds(6000));
  EXPECT_THAT(takeOrders(), ElementsAre(orders[0], orders[1], orders[2], more[0]));
  EXPECT_EQ(one_->stats().pausedWhy, "");
  EXPECT_EQ(one_->stats().rereads, 1U);
}

TEST_P(ForwarderFailing, ReadingGoesOnByItself) {
  run();
  fakes_->qualifier.faults.always("awaitJournal", GetParam());
  const auto orders = admit(3);
  run(kStale * 2);
  EXPECT_EQ(queued(), 0);
  EXPECT_LT(fakes_->qualifier.faults.calls("awaitJournal"), 60'000U / 25);
  EXPECT_EQ(one_->stats().rereads, 1U) << "what was never read is not lost";
  fakes_->qualifier.faults.heal();
  run(milliseconds(6000));
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
}

TEST_P(ForwarderFailing, LooksThatFailChangeNothing) {
  fakes_->queue.faults.always("stats", GetParam());
  fakes_->qualifier.faults.always("readJournal", GetParam());
  const auto orders = admit(3);
  run(milliseconds(90'000));
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
  EXPECT_EQ(one_->stats().rereads, 1U);
}

INSTANTIATE_TEST_SUITE_P(WithEveryCode, ForwarderFailing, testing::ValuesIn(kErrorCodes),
                         [](const auto& code) { return std::string(errorName(code.param)); });

TEST_F(ForwarderTest, WhatWasPublishedWithoutAnAnswerIsPublishedAgain) {
  run();
  fakes_->queue.faults.next("publish", ErrorCode::OutcomeUnknown, FaultMoment::After);
  const auto orders = admit(2);
  run();
  EXPECT_THAT(takeOrders(), ElementsAre(orders[0], orders[1], orders[0], orders[1]));
}

TEST_F(ForwarderTest, AFullQueueOfThisProcessIsFilledAsPlacesBecomeFree) {
  use(memoryQueue(10));
  const auto orders = admit(35);
  std::vector<OrderId> seen;
  for (int round = 0; round < 50 && seen.size() < orders.size(); ++round) {
    run();
    EXPECT_LE(queued(), 10);
    EXPECT_EQ(fakes_->queue.reserved(), 0U);
    for (const Delivery& delivery : take()) {
      seen.push_back(delivery.admission.order);
      finish(delivery);
    }
  }
  EXPECT_THAT(seen, ElementsAreArray(orders));
}

TEST_F(ForwarderTest, PlacesOfAPublishThatFailedAreGivenBack) {
  use(memoryQueue(10));
  run();
  fakes_->queue.faults.next("publish", ErrorCode::Unavailable, FaultMoment::Before, 3);
  fakes_->queue.faults.next("reserve", ErrorCode::Unavailable);
  admit(10);
  run(milliseconds(4000));
  EXPECT_EQ(fakes_->queue.reserved(), 0U);
  EXPECT_EQ(queued(), 10);
}

TEST_F(ForwarderTest, WhatDoesNotDecodeIsPutAsideAndStopsNobody) {
  const auto first = admit(1);
  fakes_->qualifier.appendUndecodable("garbage");
  const auto second = admit(1);
  run();
  EXPECT_THAT(takeOrders(), ElementsAre(first[0], second[0]));
  EXPECT_THAT(fakes_->qualifier.aside(), ElementsAre("garbage"));
  EXPECT_EQ(one_->stats().setAside, 1U);
}

TEST_F(ForwarderTest, WhatCouldNotBePutAsideAtOnceIsLater) {
  fakes_->qualifier.faults.next("setAside", ErrorCode::Unavailable);
  fakes_->qualifier.appendUndecodable("garbage");
  const auto orders = admit(1);
  run();
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
  run(milliseconds(7000));
  EXPECT_THAT(fakes_->qualifier.aside(), ElementsAre("garbage"));
}

TEST_F(ForwarderTest, WithNothingToDoItAsksRedisFewThings) {
  run();
  const std::size_t before =
      fakes_->qualifier.faults.calls("lead") + fakes_->qualifier.faults.calls("readJournal");
  run(std::chrono::minutes(1));
  const std::size_t after =
      fakes_->qualifier.faults.calls("lead") + fakes_->qualifier.faults.calls("readJournal");
  EXPECT_LE(after - before, 60U);
  EXPECT_THAT(takeOrders(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
