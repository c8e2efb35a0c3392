// The fakes keep the contract well enough to test an engine against them.
#include "support/fakes.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/laws.h"
#include "support/places.h"

namespace sluice::test {
namespace {

// --- the table of calls ---

// The functions that a header declares virtual, without destructors.
std::vector<std::string> virtualCalls(const std::string& header) {
  std::ifstream file(places::source() + "/core/include/sluice/" + header);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  const std::regex call(R"(\bvirtual\b[^;~]*?\b(\w+)\()");
  std::vector<std::string> names;
  for (std::sregex_iterator it(content.begin(), content.end(), call), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

std::vector<std::string> namesOf(std::span<const CallName> calls) {
  std::vector<std::string> names;
  for (const CallName& call : calls) {
    names.emplace_back(call.name);
  }
  return names;
}

TEST(Faults, NameEveryVirtualCallOfTheThreeInterfaces) {
  using ::testing::UnorderedElementsAreArray;
  EXPECT_THAT(namesOf(qualifierCalls()), UnorderedElementsAreArray(virtualCalls("qualifier.h")));
  EXPECT_THAT(namesOf(queueCalls()), UnorderedElementsAreArray(virtualCalls("order_queue.h")));
  EXPECT_THAT(namesOf(storeCalls()), UnorderedElementsAreArray(virtualCalls("order_store.h")));
}

TEST(Faults, NameEveryErrorCode) {
  // The last code; one behind it would have to be named here, and in the list.
  EXPECT_EQ(std::size(kErrorCodes), static_cast<std::size_t>(ErrorCode::Internal) + 1);
  for (std::size_t k = 0; k < std::size(kErrorCodes); ++k) {
    EXPECT_EQ(static_cast<std::size_t>(kErrorCodes[k]), k);
  }
}

TEST(Faults, RefuseACallThatTheInterfaceDoesNotHave) {
  Faults faults(storeCalls());
  EXPECT_THROW(faults.next("persit", ErrorCode::Internal), std::logic_error);
  EXPECT_THROW((void)faults.calls("decide"), std::logic_error);
}

TEST(Faults, StrikeAfterSoManyGoodCallsAndNotAgain) {
  Faults faults(storeCalls());
  faults.next("pay", ErrorCode::Conflict, FaultMoment::Before, 2, 1);
  std::string course;
  for (int k = 0; k < 5; ++k) {
    course += faults.run("pay", [] { return Status(); }) ? "+" : "-";
  }
  EXPECT_EQ(course, "+--++");
  EXPECT_EQ(faults.struck(), 2U);
}

// --- the laws ---

// A law that no test can break proves nothing.
TEST(Laws, AreFoundBroken) {
  Fakes fakes;
  Laws laws(fakes);
  const VoucherId voucher = fakes.sell(3).id;
  EXPECT_EQ(laws.broken(), "");
  fakes.qualifier.rememberHold(voucher, {UserId(1), OrderId(1), 1});
  fakes.qualifier.rememberHold(voucher, {UserId(1), OrderId(1), 1});
  EXPECT_THAT(laws.broken(), ::testing::HasSubstr("CONSERVE_REDIS: order held twice"));
  fakes.qualifier.setStock(voucher, 3);
  EXPECT_THAT(laws.broken(), ::testing::HasSubstr("CONSERVE_REDIS: stock"));
  fakes.qualifier.setStock(voucher, -1);
  EXPECT_THAT(laws.broken(), ::testing::HasSubstr("NEVER_NEGATIVE"));
}

TEST(Laws, OfRowsNeedTheirHistory) {
  Fakes fakes;
  Laws laws(fakes);
  const VoucherId voucher = fakes.sell(3).id;
  const Admission admission{OrderId(7), UserId(1), voucher, 1, fakes.clock.now()};
  (void)fakes.store.persist({&admission, 1}, fakes.clock.now(), fakes.clock.now(), soon());
  EXPECT_EQ(laws.broken(), "");
  fakes.store.overwrite(OrderId(7), OrderStatus::Paid);
  EXPECT_EQ(laws.broken(), "");
  fakes.store.overwrite(OrderId(7), OrderStatus::Cancelled);
  const std::string broken = laws.broken();
  for (const char* law : {"PAID_FINAL", "MONOTONIC_STATE", "ONE_WINNER", "CONSERVE_STORE"}) {
    EXPECT_THAT(broken, ::testing::HasSubstr(law));
  }
}

// --- the fakes themselves ---

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
  EXPECT_EQ(fakes.qualifier.readJournal({}, 10, soon()).value().size(), 0U);
  EXPECT_EQ(fakes.brokenLaws(), "");
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
  const QueueMessage message{{OrderId(1), UserId(1), VoucherId(1), 1, fakes.clock.now()}, {}};
  EXPECT_EQ(fakes.queue.publish({&message, 1}, soon()).error().code, ErrorCode::Internal);
  EXPECT_EQ(fakes.queue.reserve(5).value(), 2U);
  EXPECT_TRUE(fakes.queue.publish({&message, 1}, soon()));
  fakes.queue.unreserve(1);
  EXPECT_EQ(fakes.queue.reserve(5).value(), 1U);
}

}  // namespace
}  // namespace sluice::test
