// The fakes keep the contract well enough to test an engine against them.
#include "support/fakes.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

TEST(Fakes, AnAdmittedOrderTravelsThroughTheJournalIntoTheStore) {
  Fakes fakes;
  const Voucher voucher = fakes.sell(2);
  EXPECT_EQ(fakes.ask(voucher.id, OrderId(10), UserId(1)).verdict, Verdict::Admitted);
  EXPECT_EQ(fakes.ask(voucher.id, OrderId(11), UserId(1)).verdict, Verdict::AlreadyOrdered);
  const auto batch = fakes.queue.receive(0, 10, soon()).value();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0].deliveries, 1U);
  const auto outcomes =
      fakes.store.persist({&batch[0].admission, 1}, fakes.clock.now(), fakes.clock.now(), soon()).value();
  EXPECT_EQ(outcomes[0].kind, PersistKind::Stored);
  const Settlement done{batch[0].token, SettleKind::Done, milliseconds(0), true, {}};
  EXPECT_EQ(fakes.queue.settle(0, {&done, 1}, soon()).value()[0], SettleOutcome::Settled);
  EXPECT_EQ(fakes.queue.settle(0, {&done, 1}, soon()).value()[0], SettleOutcome::Stale);
  EXPECT_EQ(fakes.qualifier.readJournal("", 10, soon()).value().size(), 0U);
  EXPECT_EQ(fakes.brokenLaws(voucher.id), "");
}

TEST(Fakes, AFailureAfterTheWorkLosesOnlyTheAnswer) {
  Fakes fakes;
  const Voucher voucher = fakes.sell(2);
  fakes.qualifier.faults.next("decide", ErrorCode::OutcomeUnknown, FaultMoment::After);
  EXPECT_EQ(fakes.ask(voucher.id, OrderId(10), UserId(1)).verdict, Verdict::Unavailable);
  const Decision again = fakes.ask(voucher.id, OrderId(10), UserId(1));
  EXPECT_EQ(again.verdict, Verdict::Admitted);
  EXPECT_FALSE(again.fresh);
  EXPECT_EQ(fakes.qualifier.snapshot(voucher.id, soon()).value().stock, 1);
}

TEST(Fakes, AMessageComesAloneFromItsThirdDeliveryOn) {
  Fakes fakes;
  const Voucher voucher = fakes.sell(5);
  for (std::int64_t user = 1; user <= 3; ++user) {
    (void)fakes.ask(voucher.id, OrderId(10 + user), UserId(user));
  }
  for (std::size_t delivery = 1; delivery < limits::kIsolateFromDelivery; ++delivery) {
    EXPECT_EQ(fakes.queue.receive(0, 10, soon()).value().size(), 3U);
    fakes.queue.abandon();
  }
  EXPECT_EQ(fakes.queue.receive(0, 10, soon()).value().size(), 1U);
}

TEST(Fakes, ARestartedServerIsNotTrustedAndAFlushedOneKnowsNothing) {
  Fakes fakes;
  const Voucher voucher = fakes.sell(5);
  fakes.qualifier.restart(true);
  EXPECT_EQ(fakes.ask(voucher.id, OrderId(1), UserId(1)).verdict, Verdict::Unavailable);
  fakes.qualifier.trust(fakes.qualifier.probe(soon()).value().identity);
  EXPECT_EQ(fakes.ask(voucher.id, OrderId(1), UserId(1)).verdict, Verdict::Admitted);
  fakes.qualifier.flushAll();
  EXPECT_EQ(fakes.ask(voucher.id, OrderId(2), UserId(2)).verdict, Verdict::NotFound);
  EXPECT_TRUE(fakes.queue.receive(0, 10, Deadline::in(milliseconds(1))).value().empty());
}

TEST(Fakes, AReservingQueueTakesOnlyWhatWasReserved) {
  FakeQueueOptions options;
  options.traits = {.reserves = true};
  options.capacity = 2;
  Fakes fakes(options);
  const Admission admission{OrderId(1), UserId(1), VoucherId(1), 1, fakes.clock.now()};
  EXPECT_EQ(fakes.queue.publish({&admission, 1}, soon()).error().code, ErrorCode::Internal);
  EXPECT_EQ(fakes.queue.reserve(5).value(), 2U);
  EXPECT_TRUE(fakes.queue.publish({&admission, 1}, soon()));
  fakes.queue.unreserve(1);
  EXPECT_EQ(fakes.queue.reserve(5).value(), 1U);
}

}  // namespace
}  // namespace sluice::test
