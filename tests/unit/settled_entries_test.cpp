// Which journal entries fulfilment and the operators delete, and when.
#include "forward/settled_entries.h"

#include "fulfilment/fulfilment.h"
#include "unit/forward_fixture.h"

namespace sluice::test {
namespace {

using fulfilment::Fulfilment;
using fulfilment::FulfilmentCounts;
using fulfilment::FulfilmentOptions;
using fulfilment::PauseKind;

class SettledEntries : public ForwardFixture {
 protected:
  SettledEntries() { begin(brokerQueue()); }
  void begin(const FakeQueueOptions& options) {
    use(options);
    voucher_ = fakes_->sell(100'000).id;
    FulfilmentOptions small;
    small.failuresMax = 1;
    fulfilment_ = std::make_unique<Fulfilment>(fakes_->parts(), small, 0, counts_);
  }
  OrderId ask() {
    const QualifyRequest request{OrderId(++lastOrder_), UserId(lastOrder_), 1, {}};
    Decision decision;
    EXPECT_TRUE(
        fakes_->qualifier.decide(voucher_, {&request, 1}, fakes_->clock.now(), {&decision, 1}, soon()));
    return decision.order;
  }
  void work(milliseconds time = milliseconds(200)) {
    for (milliseconds passed{0}; passed <= time; passed += milliseconds(50)) {
      (void)one_->step(milliseconds(200));
      (void)fulfilment_->step(milliseconds(0));
      fakes_->clock.advance(milliseconds(50));
    }
  }
  std::size_t entries() { return fakes_->qualifier.readJournal({}, 1000, soon()).value().size(); }
  DeadLetter letter() { return fakes_->queue.deadLetters("", 10, soon()).value().at(0); }

  VoucherId voucher_;
  FulfilmentCounts counts_;
  std::unique_ptr<Fulfilment> fulfilment_;
};

TEST_F(SettledEntries, AreDeletedAfterTheQueueHasSettledTheirMessages) {
  std::vector<std::string> order;
  ask();
  ask();
  fakes_->queue.faults.onCall([&](std::string_view call) {
    if (call == "settle") order.emplace_back(call);
  });
  fakes_->qualifier.faults.onCall([&](std::string_view call) {
    if (call == "settleJournal") order.emplace_back(call);
  });
  work();
  EXPECT_THAT(order, testing::ElementsAre("settle", "settleJournal"));
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(counts_.stored, 2U);
}

TEST_F(SettledEntries, StayWhileTheQueueHasNotSettledTheirMessages) {
  fakes_->queue.faults.always("settle", ErrorCode::Unavailable);
  ask();
  work(milliseconds(3000));
  EXPECT_EQ(counts_.stored, 1U);
  EXPECT_EQ(entries(), 1U);
  fakes_->queue.faults.heal();
  work(milliseconds(3000));
  EXPECT_EQ(entries(), 0U);
}

TEST_F(SettledEntries, AreDeletedAlsoWhereTheMessageWasTakenOverBecauseTheRowDecides) {
  ask();
  fakes_->store.faults.onCall([&](std::string_view call) {
    if (call == "persist") fakes_->queue.abandon();
  });
  (void)one_->step(milliseconds(200));
  (void)fulfilment_->step(milliseconds(0));
  EXPECT_EQ(counts_.stored, 1U);
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(queued(), 1) << "it comes again, and finds its row";
}

TEST_F(SettledEntries, OfDeadLettersAreDeletedWhereTheQueueOutlivesUs) {
  fakes_->store.poison(ask());
  work();
  EXPECT_TRUE(letter().journal.valid());
  EXPECT_EQ(entries(), 0U);
  // The replay needs no entry.
  fakes_->store.poison(OrderId(lastOrder_), false);
  ASSERT_TRUE(DeadLetters(fakes_->parts()).replay(letter().id, soon()));
  work();
  EXPECT_EQ(counts_.stored, 1U);
}

TEST_F(SettledEntries, OfDeadLettersInMemoryStayUntilTheyAreReplayedOrDropped) {
  begin(memoryQueue());
  const OrderId replayed = ask();
  fakes_->store.poison(replayed);
  work();
  EXPECT_EQ(entries(), 1U);
  fakes_->store.poison(replayed, false);
  ASSERT_TRUE(DeadLetters(fakes_->parts()).replay(letter().id, soon()));
  work();
  EXPECT_EQ(entries(), 0U);

  const OrderId dropped = ask();
  fakes_->store.poison(dropped);
  work();
  EXPECT_EQ(entries(), 1U);
  fakes_->qualifier.faults.next("settleJournal", ErrorCode::Unavailable);
  EXPECT_FALSE(DeadLetters(fakes_->parts()).drop(letter().id, soon()))
      << "nobody but the letter knows its entry";
  ASSERT_TRUE(DeadLetters(fakes_->parts()).drop(letter().id, soon()));
  EXPECT_EQ(entries(), 0U);
  work(std::chrono::minutes(2));
  EXPECT_EQ(fakes_->store.rows().at(dropped).reason, DeadReason::DeadLetter);
  EXPECT_EQ(one_->stats().rereads, 1U);
}

TEST_F(SettledEntries, ThatCannotBeDeletedAreTriedAgainAndHoldNobodyUp) {
  fakes_->qualifier.faults.always("settleJournal", ErrorCode::Unavailable);
  for (int k = 0; k < 5; ++k) {
    ask();
    work();
  }
  EXPECT_EQ(counts_.stored, 5U);
  EXPECT_EQ(entries(), 5U);
  const std::size_t calls = fakes_->qualifier.faults.calls("settleJournal");
  work(milliseconds(20'000));
  EXPECT_LT(fakes_->qualifier.faults.calls("settleJournal") - calls, 200U) << "with pauses";
  fakes_->qualifier.faults.heal();
  work(milliseconds(2000));
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(one_->stats().rereads, 1U);
}

TEST_F(SettledEntries, ThatArePendingAreBoundedAndFulfilmentWaitsForRoom) {
  fakes_->qualifier.faults.always("settleJournal", ErrorCode::Unavailable);
  for (int k = 0; k < 12'000; ++k) {
    ask();
  }
  work(milliseconds(10'000));
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::Away);
  EXPECT_NE(fulfilment_->pause().why.find("journal entries"), std::string::npos);
  EXPECT_LE(counts_.stored, 10'000U + limits::kReceiveBatchMax);
  fakes_->qualifier.faults.heal();
  work(milliseconds(10'000));
  EXPECT_EQ(counts_.stored, 12'000U);
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(fulfilment_->pause().kind, PauseKind::None);
}

TEST_F(SettledEntries, ThatArePendingAtTheEndAreDeletedWithTheLastWord) {
  fakes_->qualifier.faults.always("settleJournal", ErrorCode::Unavailable);
  ask();
  work();
  EXPECT_EQ(fulfilment_->eraseSettled(soon()), 1U);
  fakes_->qualifier.faults.heal();
  EXPECT_EQ(fulfilment_->eraseSettled(soon()), 0U);
  EXPECT_EQ(entries(), 0U);
}

TEST_F(SettledEntries, ForwardedAgainAfterACrashInBetweenAreFoundToHaveARow) {
  fakes_->qualifier.faults.always("settleJournal", ErrorCode::Unavailable);
  ask();
  work();
  ASSERT_EQ(counts_.stored, 1U);
  fakes_->qualifier.faults.heal();
  fulfilment_ = std::make_unique<Fulfilment>(fakes_->parts(), FulfilmentOptions{}, 0, counts_);
  work(std::chrono::minutes(1));
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(counts_.already, 1U);
  EXPECT_EQ(fakes_->brokenLaws(), "");
}

}  // namespace
}  // namespace sluice::test
