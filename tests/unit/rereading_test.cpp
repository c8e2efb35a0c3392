// When the forwarder reads the journal again, and when it must not.
#include "unit/forward_fixture.h"

namespace sluice::test {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

class Rereading : public ForwardFixture {};

TEST_F(Rereading, AQueueThatSaysItLostDataGetsEverythingAgainOnce) {
  const auto orders = admit(700);
  run();
  ASSERT_EQ(queued(), 700);
  fakes_->queue.loseMessages(true);
  run(milliseconds(4000));
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
  run(minutes(1));
  EXPECT_EQ(one_->stats().rereads, 2U) << "at the beginning, and now";
}

TEST_F(Rereading, WhatVanishedWithoutAWordIsFoundByItsAge) {
  const auto orders = admit(5);
  run();
  fakes_->queue.loseMessages(false);
  run(kStale - milliseconds(3000));
  EXPECT_EQ(queued(), 0);
  run(milliseconds(12'000));
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
}

TEST_F(Rereading, WhileTheQueueHasMessagesNothingIsReadAgainHoweverOld) {
  admit(5);
  run();
  const auto held = take();
  run(*one_, minutes(60), milliseconds(500));
  EXPECT_EQ(one_->stats().rereads, 1U);
  for (const Delivery& delivery : held) {
    finish(delivery);
  }
  run(minutes(5));
  EXPECT_EQ(one_->stats().rereads, 1U);
  EXPECT_EQ(one_->stats().oldestAge, milliseconds(0));
}

TEST_F(Rereading, ABacklogThatIsStillToBeForwardedIsNoReason) {
  use(memoryQueue(0));  // full for ever
  admit(5);
  run(*one_, minutes(60), milliseconds(500));
  EXPECT_EQ(one_->stats().rereads, 1U);
  EXPECT_GE(one_->stats().oldestAge, minutes(59));
}

TEST_F(Rereading, AgainAndAgainItRestsLongerEachTime) {
  admit(1);
  for (int minute = 0; minute < 8 * 60; ++minute) {
    run(*one_, milliseconds(60'000), milliseconds(500));
    fakes_->queue.loseMessages(false);  // whoever has it says nothing and does nothing
  }
  // After 30 s, then 30 s, 1, 2, 4 .. 32 minutes and every hour.
  EXPECT_LE(one_->stats().rereads, 18U);
  EXPECT_GE(one_->stats().rereads, 10U);
}

// What consumers have in hand cannot be seen on some brokers. The worst case: all of a large backlog, older than any
// bound, is in their hands and the queue seems empty.
TEST_F(Rereading, ABacklogInHandsThatNobodySeesCausesNoStorm) {
  constexpr int kBacklog = 3000;
  admit(kBacklog);
  run();
  fakes_->queue.hideInFlight(true);
  auto inHand = take();
  ASSERT_EQ(inHand.size(), static_cast<std::size_t>(kBacklog));
  // They settle five in a second, for ten minutes.
  std::size_t settled = 0;
  for (int second = 0; second < 600; ++second) {
    run(milliseconds(1000));
    take();
    for (int k = 0; k < 5; ++k) {
      finish(inHand[settled++]);
    }
  }
  // After half a minute, then after a half, one, two and four minutes more.
  EXPECT_LE(one_->stats().rereads, 6U);
  EXPECT_LE(one_->stats().forwarded, static_cast<std::uint64_t>(6 * kBacklog));
}

TEST_F(Rereading, OnceNothingIsOldAnyMoreTheNextLossIsFoundAsSoonAsTheFirst) {
  for (int loss = 0; loss < 5; ++loss) {
    const auto orders = admit(1);
    run();
    fakes_->queue.loseMessages(false);
    run(kStale + milliseconds(9000));
    const auto found = take();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].admission.order, orders[0]);
    finish(found[0]);
    run(milliseconds(5000));
  }
}

TEST_F(Rereading, BetweenSettlingAndDeletingOneLookIsNoProof) {
  admit(1);
  run();
  const auto delivered = take();
  run(kStale + milliseconds(3000));
  settle(delivered[0], SettleKind::Done);
  const auto looks = [this] { return fakes_->queue.faults.calls("stats"); };
  for (const std::size_t before = looks(); looks() == before;) {
    run(milliseconds(0));
  }
  erase(delivered[0].journal);
  run(minutes(2));
  EXPECT_EQ(one_->stats().rereads, 1U);
}

TEST_F(Rereading, DeadLettersInMemoryKeepTheirEntriesAndAreNotForwardedAgain) {
  use(memoryQueue());
  admit(3);
  run();
  const auto delivered = take();
  settle(delivered[0], SettleKind::DeadLetter);
  finish(delivered[1]);
  finish(delivered[2]);
  run(minutes(30));
  EXPECT_EQ(queued(), 0);
  EXPECT_EQ(one_->stats().rereads, 1U) << "what an operator has to decide is not old";
  // Another one becomes leader here, with the same queue: it must not forward it either.
  ASSERT_TRUE(one_->resign(soon()));
  run(milliseconds(3000));
  EXPECT_EQ(one_->stats().rereads, 2U);
  EXPECT_EQ(queued(), 0);
  const auto letter = fakes_->queue.deadLetters("", 10, soon()).value().at(0);
  EXPECT_EQ(letter.journal, delivered[0].journal);
  ASSERT_TRUE(fakes_->queue.replayDeadLetter(letter.id, soon()));
  run(minutes(1));
  EXPECT_THAT(takeOrders(), ElementsAre(delivered[0].admission.order)) << "once";
}

TEST_F(Rereading, DeadLettersThatDiedWithTheirProcessAreForwardedAgain) {
  use(memoryQueue());
  const auto orders = admit(1);
  run();
  settle(take().at(0), SettleKind::DeadLetter);
  fakes_->reopen();
  ASSERT_TRUE(fakes_->qualifier.start(soon()));
  ASSERT_TRUE(fakes_->queue.start(soon()));
  const auto next = make("next life");
  run(*next, kLease * 2);
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
}

TEST_F(Rereading, WhileTheDeadLettersCannotBeReadNothingIsReadFromTheStart) {
  use(memoryQueue());
  fakes_->queue.faults.always("deadLetters", ErrorCode::Unavailable);
  admit(2);
  run(milliseconds(5000));
  EXPECT_EQ(queued(), 0);
  fakes_->queue.faults.heal();
  run(milliseconds(3000));
  EXPECT_EQ(queued(), 2);
}

TEST_F(Rereading, BehindManyDeadLettersAnOldEntryIsFound) {
  use(memoryQueue());
  admit(1500);
  run();
  for (const Delivery& delivery : take()) {
    settle(delivery, SettleKind::DeadLetter);
  }
  const auto orders = admit(1);
  run();
  fakes_->queue.loseMessages(false);
  run(minutes(1));
  EXPECT_THAT(takeOrders(), ElementsAreArray(orders));
}

TEST_F(Rereading, WithoutLossThereIsNothingToFind) {
  for (int round = 0; round < 200; ++round) {
    admit(20);
    run(milliseconds(1000));
    for (const Delivery& delivery : take()) {
      finish(delivery);
    }
  }
  EXPECT_EQ(one_->stats().rereads, 1U);
  EXPECT_EQ(one_->stats().forwarded, 4000U);
  EXPECT_THAT(takeOrders(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
