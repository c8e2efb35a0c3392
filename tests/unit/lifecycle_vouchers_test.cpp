// Vouchers and dead letters over the fakes: the order of steps, every race that has a name, every failing
// call.
#include <gtest/gtest.h>

#include "sluice/operations.h"

#include "support/sale.h"

namespace sluice {
namespace {

using test::FakeQueueOptions;
using test::FaultMoment;
using test::Sale;
using test::soon;

constexpr UserId kAnn(1);
constexpr UserId kBob(2);

VoucherSettings with(VoucherSettings settings, std::int64_t allocated, std::int32_t limit = 1) {
  settings.allocated = allocated;
  settings.limitPerUser = limit;
  return settings;
}

// Store and Redis say the same.
void expectInStep(Sale& sale) {
  const Voucher stored = sale.stored();
  const VoucherSnapshot redis = sale.redis();
  EXPECT_EQ(redis.version, stored.version);
  EXPECT_EQ(redis.allocated, stored.settings.allocated);
  EXPECT_EQ(redis.state, stored.settings.state);
  EXPECT_EQ(sale.fakes.brokenLaws(), "");
}

TEST(CreateVoucher, ChecksItsSettingsFirst) {
  Sale sale;
  Vouchers vouchers(sale.parts());
  VoucherSettings settings = sale.stored().settings;
  const auto created = vouchers.create(VoucherId(7), settings, soon());
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(vouchers.create(VoucherId(7), settings, soon()).error().code, ErrorCode::Conflict);
  settings.title.clear();
  EXPECT_EQ(vouchers.create(VoucherId(8), settings, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(vouchers.update(VoucherId(7), 1, settings, soon()).error().code, ErrorCode::InvalidArgument);
}

TEST(UpdateVoucher, MoreStockGoesToTheStoreFirst) {
  Sale sale;
  sale.fakes.qualifier.faults.onCall([&](std::string_view call) {
    if (call == "sync") {
      EXPECT_EQ(sale.stored().settings.allocated, 15);
    }
  });
  const auto updated =
      Vouchers(sale.parts()).update(sale.voucher, 1, with(sale.stored().settings, 15), soon());
  ASSERT_TRUE(updated.ok()) << updated.error().text;
  EXPECT_EQ(updated.value().version, 2);
  EXPECT_EQ(sale.redis().stock, 15);
  expectInStep(sale);
}

TEST(UpdateVoucher, LessStockGoesToRedisFirstSoThatQueuedOrdersKeepTheirPlace) {
  Sale sale;
  for (std::int64_t user = 1; user <= 4; ++user) {
    sale.admit(UserId(user));  // none is stored: the store alone would accept any stock
  }
  Vouchers vouchers(sale.parts());
  const auto refused = vouchers.update(sale.voucher, 1, with(sale.stored().settings, 3), soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
  EXPECT_EQ(refused.error().text,
            "more pieces of voucher 1 are held or sold than the new stock of 3; nothing was changed");
  EXPECT_EQ(sale.stored().version, 1);
  expectInStep(sale);
  ASSERT_TRUE(vouchers.update(sale.voucher, 1, with(sale.stored().settings, 4), soon()).ok());
  sale.storeWaiting();
  EXPECT_EQ(sale.fakes.store.totals(VoucherId(), 10, soon()).value()[0].livePieces, 4);
  expectInStep(sale);
}

TEST(UpdateVoucher, LessStockThanTheRowsIsRefusedBeforeRedisIsAsked) {
  Sale sale;
  sale.buy(kAnn);
  sale.buy(kBob);
  sale.fakes.qualifier.flushAll();
  EXPECT_EQ(
      Vouchers(sale.parts()).update(sale.voucher, 1, with(sale.stored().settings, 1), soon()).error().code,
      ErrorCode::Conflict);
  EXPECT_EQ(sale.fakes.qualifier.faults.calls("sync"), 0U);
  EXPECT_TRUE(Vouchers(sale.parts()).update(sale.voucher, 1, with(sale.stored().settings, 2), soon()).ok());
}

TEST(UpdateVoucher, ALimitIsLoweredInRedisFirstAndRaisedInTheStoreFirst) {
  Sale sale(10, 2);
  std::int32_t storeLimit = 0;
  sale.fakes.qualifier.faults.onCall([&](std::string_view call) {
    if (call == "sync") storeLimit = sale.stored().settings.limitPerUser;
  });
  Vouchers vouchers(sale.parts());
  ASSERT_TRUE(vouchers.update(sale.voucher, 1, with(sale.stored().settings, 10, 1), soon()).ok());
  EXPECT_EQ(storeLimit, 2);
  ASSERT_TRUE(vouchers.update(sale.voucher, 2, with(sale.stored().settings, 10, 3), soon()).ok());
  EXPECT_EQ(storeLimit, 3);
  expectInStep(sale);
}

TEST(UpdateVoucher, WhatTightensAndWidensAtOnceIsTwoVersions) {
  Sale sale;
  const auto updated =
      Vouchers(sale.parts()).update(sale.voucher, 1, with(sale.stored().settings, 5, 3), soon());
  ASSERT_TRUE(updated.ok()) << updated.error().text;
  EXPECT_EQ(updated.value().version, 3);
  EXPECT_EQ(updated.value().settings.limitPerUser, 3);
  expectInStep(sale);
}

TEST(UpdateVoucher, AnOutdatedVersionIsAConflict) {
  Sale sale;
  Vouchers vouchers(sale.parts());
  EXPECT_EQ(vouchers.update(sale.voucher, 7, sale.stored().settings, soon()).error().code,
            ErrorCode::Conflict);
  EXPECT_EQ(vouchers.update(VoucherId(99), 1, sale.stored().settings, soon()).error().code,
            ErrorCode::NotFound);
}

TEST(UpdateVoucher, WithRedisAwayWidensTheStoreSaysSoAndSyncFinishesIt) {
  Sale sale;
  Vouchers vouchers(sale.parts());
  sale.fakes.qualifier.faults.always("*", ErrorCode::Unavailable);
  const auto half = vouchers.update(sale.voucher, 1, with(sale.stored().settings, 15), soon());
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().code, ErrorCode::Unavailable);
  EXPECT_NE(half.error().text.find("the store has version 2 of voucher 1, Redis not yet: run sync"),
            std::string::npos);
  EXPECT_EQ(vouchers.sync(sale.voucher, soon()).error().code, ErrorCode::Unavailable);
  sale.fakes.qualifier.faults.heal();
  EXPECT_EQ(vouchers.sync(sale.voucher, soon()).value(), SyncOutcome::Applied);
  expectInStep(sale);
  EXPECT_EQ(vouchers.sync(sale.voucher, soon()).value(), SyncOutcome::NotNewer);
}

TEST(UpdateVoucher, WithRedisAwayDoesNotTighten) {
  Sale sale;
  sale.fakes.qualifier.faults.next("sync", ErrorCode::Unavailable);
  const auto refused =
      Vouchers(sale.parts()).update(sale.voucher, 1, with(sale.stored().settings, 5), soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  expectInStep(sale);
}

TEST(UpdateVoucher, AfterAHalfMadeTighteningTheSameChangeMayBeRepeatedOrTakenBack) {
  for (const bool repeat : {true, false}) {
    for (const FaultMoment moment : {FaultMoment::Before, FaultMoment::After}) {
      Sale sale;
      sale.admit(kAnn);
      Vouchers vouchers(sale.parts());
      const VoucherSettings less = with(sale.stored().settings, 5);
      sale.fakes.store.faults.next("updateVoucher", ErrorCode::OutcomeUnknown, moment);
      const auto half = vouchers.update(sale.voucher, 1, less, soon());
      ASSERT_FALSE(half.ok());
      EXPECT_EQ(half.error().code, ErrorCode::OutcomeUnknown);
      EXPECT_EQ(sale.redis().allocated, 5);  // the tighter of the two
      if (repeat) {
        ASSERT_TRUE(vouchers.update(sale.voucher, sale.stored().version, less, soon()).ok());
        EXPECT_EQ(sale.stored().settings.allocated, 5);
      } else {
        ASSERT_TRUE(vouchers.sync(sale.voucher, soon()).ok());
        EXPECT_EQ(sale.stored().settings.allocated, moment == FaultMoment::After ? 5 : 10);
      }
      expectInStep(sale);
    }
  }
}

TEST(UpdateVoucher, AHalfMadeTighteningNeverLendsItsVersionToOtherSettings) {
  Sale sale(10, 3);
  Vouchers vouchers(sale.parts());
  sale.fakes.store.faults.next("updateVoucher", ErrorCode::Unavailable);
  ASSERT_FALSE(vouchers.update(sale.voucher, 1, with(sale.stored().settings, 10, 1), soon()).ok());
  VoucherSettings renamed = sale.stored().settings;
  renamed.title = "renamed";
  // Redis cannot be asked for its version just then, and the store gives version 2 to the new title.
  sale.fakes.qualifier.faults.next("snapshot", ErrorCode::Unavailable);
  const auto updated = vouchers.update(sale.voucher, 1, renamed, soon());
  ASSERT_TRUE(updated.ok()) << updated.error().text;
  EXPECT_GT(updated.value().version, 2);
  EXPECT_EQ(sale.fakes.ask(sale.voucher, OrderId(50), kAnn, 3).verdict,
            Verdict::Admitted);  // the limit is 3 again
  expectInStep(sale);
}

TEST(UpdateVoucher, OfTwoAtTheSameTimeOneWinsAndRedisFollowsIt) {
  Sale sale;
  Vouchers vouchers(sale.parts());
  bool once = false;
  sale.fakes.store.faults.onCall([&](std::string_view call) {
    if (call != "updateVoucher" || std::exchange(once, true)) return;
    VoucherSettings other = with(sale.stored().settings, 20);
    ASSERT_TRUE(sale.fakes.store.updateVoucher(sale.voucher, 1, other, soon()).ok());
  });
  const auto lost = vouchers.update(sale.voucher, 1, with(sale.stored().settings, 5), soon());
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, ErrorCode::Conflict);
  EXPECT_EQ(sale.stored().settings.allocated, 20);
  expectInStep(sale);
}

TEST(UpdateVoucher, RefusesARedisThatBelongsToAnotherStore) {
  Sale sale;
  Voucher foreign = sale.stored();
  foreign.version = 5000;
  ASSERT_TRUE(sale.fakes.qualifier.sync(foreign, soon()).ok());
  Vouchers vouchers(sale.parts());
  EXPECT_EQ(vouchers.update(sale.voucher, 1, with(sale.stored().settings, 5), soon()).error().code,
            ErrorCode::Misconfigured);
  EXPECT_EQ(vouchers.sync(sale.voucher, soon()).error().code, ErrorCode::Misconfigured);
}

TEST(UpdateVoucher, SaysWhereRedisHoldsMoreThanTheStoresStock) {
  Sale sale;
  for (std::int64_t user = 1; user <= 4; ++user) {
    sale.admit(UserId(user));
  }
  ASSERT_TRUE(sale.fakes.store.updateVoucher(sale.voucher, 1, with(sale.stored().settings, 2), soon()).ok());
  Vouchers vouchers(sale.parts());
  EXPECT_EQ(vouchers.sync(sale.voucher, soon()).value(), SyncOutcome::StockTooLow);
  const auto refused = vouchers.update(sale.voucher, 2, with(sale.stored().settings, 3), soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("Redis holds more pieces than its stock"), std::string::npos);
  EXPECT_EQ(vouchers.close(sale.voucher, soon()).error().code, ErrorCode::Conflict);
  EXPECT_TRUE(
      vouchers.update(sale.voucher, sale.stored().version, with(sale.stored().settings, 4), soon()).ok());
  expectInStep(sale);
}

TEST(SyncVoucher, AnswersNotLoadedAndUnknown) {
  Sale sale;
  sale.fakes.qualifier.flushAll();
  EXPECT_EQ(Vouchers(sale.parts()).sync(sale.voucher, soon()).value(), SyncOutcome::NotLoaded);
  EXPECT_EQ(Vouchers(sale.parts()).sync(VoucherId(99), soon()).error().code, ErrorCode::NotFound);
}

TEST(CloseVoucher, InBothTwiceAndAgainstAnUpdateAtTheSameTime) {
  Sale sale;
  bool once = false;
  sale.fakes.store.faults.onCall([&](std::string_view call) {
    if (call != "updateVoucher" || std::exchange(once, true)) return;
    ASSERT_TRUE(
        sale.fakes.store.updateVoucher(sale.voucher, 1, with(sale.stored().settings, 20), soon()).ok());
  });
  Vouchers vouchers(sale.parts());
  for (int k = 0; k < 2; ++k) {
    const auto closed = vouchers.close(sale.voucher, soon());
    ASSERT_TRUE(closed.ok()) << closed.error().text;
    EXPECT_EQ(closed.value().settings.state, VoucherState::Closed);
  }
  EXPECT_EQ(sale.stored().settings.allocated, 20);
  EXPECT_EQ(sale.fakes.ask(sale.voucher, OrderId(9), kAnn).verdict, Verdict::Ended);
  expectInStep(sale);
  sale.fakes.qualifier.faults.next("sync", ErrorCode::Unavailable);
  EXPECT_EQ(vouchers.close(sale.voucher, soon()).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(vouchers.close(VoucherId(99), soon()).error().code, ErrorCode::NotFound);
}

TEST(ShowVouchers, WithoutASnapshotWhereRedisIsAwayAskingOnlyOnce) {
  Sale sale;
  for (int k = 0; k < 4; ++k) {
    sale.fakes.sell(1);
  }
  Vouchers vouchers(sale.parts());
  EXPECT_TRUE(vouchers.show(sale.voucher, soon()).value().snapshot);
  EXPECT_EQ(vouchers.show(VoucherId(99), soon()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(vouchers.list(VoucherId(1), 2, soon()).value().size(), 2U);
  sale.fakes.qualifier.faults.always("snapshot", ErrorCode::Unavailable);
  const std::size_t before = sale.fakes.qualifier.faults.calls("snapshot");
  const auto list = vouchers.list(VoucherId(), 100, soon());
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list.value().size(), 5U);
  EXPECT_FALSE(list.value()[0].snapshot);
  EXPECT_EQ(sale.fakes.qualifier.faults.calls("snapshot"), before + 1);
  sale.fakes.store.faults.next("listVouchers", ErrorCode::Unavailable);
  EXPECT_FALSE(vouchers.list(VoucherId(), 100, soon()).ok());
}

TEST(AddEligible, InPagesAlsoBeforeTheLoad) {
  Sale sale;
  std::vector<UserId> users;
  for (std::int64_t user = 1; user <= 2500; ++user) {
    users.emplace_back(user);
  }
  Vouchers vouchers(sale.parts());
  ASSERT_TRUE(vouchers.addEligible(sale.voucher, users, soon()).ok());
  EXPECT_EQ(sale.fakes.store.faults.calls("addEligible"), 3U);
  sale.fakes.qualifier.flushAll();
  EXPECT_TRUE(vouchers.addEligible(sale.voucher, users, soon()).ok());
  EXPECT_EQ(vouchers.addEligible(VoucherId(99), users, soon()).error().code, ErrorCode::NotFound);
  sale.fakes.qualifier.faults.next("addEligible", ErrorCode::OutcomeUnknown);
  EXPECT_EQ(vouchers.addEligible(sale.voucher, users, soon()).error().code, ErrorCode::OutcomeUnknown);
}

// --- load ---

// Finds nothing in Redis to release, and believes it done.
void cancelWhileItLoads(Sale& sale, OrderId order) {
  const CancelRequest request{{order, kAnn, sale.voucher, 1, sale.fakes.clock.now()}, DeadReason::ByUser};
  ASSERT_TRUE(sale.fakes.store.cancel(request, sale.fakes.clock.now(), soon()).ok());
  ASSERT_TRUE(sale.fakes.store.markReleased({&order, 1}, sale.fakes.clock.now(), soon()).ok());
}

TEST(LoadVoucher, RebuildsWhatRedisLostFromTheRows) {
  Sale sale(3000);
  for (std::int64_t user = 1; user <= 1300; ++user) {
    sale.admit(UserId(user));
  }
  sale.storeWaiting();
  for (std::int64_t user = 1; user <= 1100;
       ++user) {  // more than a page of dead rows before the first live one
    const auto rows =
        sale.fakes.store.listOrders(sale.voucher, UserId(user), std::nullopt, OrderId(), 1, soon());
    ASSERT_TRUE(Orders(sale.parts())
                    .cancel(rows.value()[0].id, sale.voucher, UserId(user), DeadReason::ByUser, soon())
                    .ok());
  }
  sale.fakes.qualifier.flushAll();
  const auto loaded = Vouchers(sale.parts()).load(sale.voucher, soon());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text;
  EXPECT_EQ(loaded.value().snapshot->held, 200);
  EXPECT_EQ(loaded.value().snapshot->stock, 2800);
  expectInStep(sale);
}

TEST(LoadVoucher, RefusesWithWhatToDo) {
  Sale sale;
  Vouchers vouchers(sale.parts());
  EXPECT_EQ(vouchers.load(VoucherId(99), soon()).error().code, ErrorCode::NotFound);
  const auto exists = vouchers.load(sale.voucher, soon());
  ASSERT_FALSE(exists.ok());
  EXPECT_EQ(exists.error().code, ErrorCode::Conflict);
  EXPECT_NE(exists.error().text.find("use sync"), std::string::npos);
  sale.fakes.qualifier.flushAll();
  sale.fakes.qualifier.appendJournal({OrderId(5), kAnn, sale.voucher, 1, sale.fakes.clock.now()});
  const auto journal = vouchers.load(sale.voucher, soon());
  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::Conflict);
  EXPECT_NE(journal.error().text.find("let a worker"), std::string::npos);
  sale.storeWaiting();
  EXPECT_TRUE(vouchers.load(sale.voucher, soon()).ok());
  EXPECT_EQ(sale.redis().held, 1);
}

TEST(LoadVoucher, WaitsForAQueueBesideTheJournalAndForDeadLetters) {
  Sale sale(FakeQueueOptions{});
  sale.fakes.qualifier.setJournal(false);
  const OrderId order = sale.admit(kAnn);
  sale.fakes.qualifier.flushAll();
  Vouchers vouchers(sale.parts());
  const auto full = vouchers.load(sale.voucher, soon());
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().text,
            "the queue is not drained, 1 orders are on their way to the store: let a worker finish them, "
            "then load");
  test::deadLetterOne(sale.parts());
  const auto letters = vouchers.load(sale.voucher, soon());
  ASSERT_FALSE(letters.ok());
  EXPECT_EQ(letters.error().code, ErrorCode::Conflict);
  EXPECT_NE(letters.error().text.find("replay or drop"), std::string::npos);
  DeadLetters dead(sale.parts());
  ASSERT_TRUE(dead.drop(dead.list("", 10, soon()).value()[0].id, soon()).ok());
  EXPECT_TRUE(vouchers.load(sale.voucher, soon()).ok());
  EXPECT_EQ(sale.row(order)->reason, DeadReason::DeadLetter);
  EXPECT_EQ(sale.redis().held, 0);
}

TEST(LoadVoucher, CatchesUpWithWhatChangedWhileItRan) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  sale.fakes.qualifier.flushAll();
  Vouchers vouchers(sale.parts());
  VoucherSettings settings = with(sale.stored().settings, 12);
  settings.eligibleOnly = true;
  bool once = false;
  // Between reading the rows and the end of the load, everything that finds nothing in Redis and believes it
  // done.
  sale.fakes.store.faults.onCall([&](std::string_view call) {
    if (call != "listEligible" || std::exchange(once, true)) return;
    cancelWhileItLoads(sale, order);
    ASSERT_TRUE(sale.fakes.store.updateVoucher(sale.voucher, 1, settings, soon()).ok());
  });
  sale.fakes.qualifier.faults.onCall([&](std::string_view call) {
    if (call != "sync") return;
    ASSERT_TRUE(sale.fakes.store.addEligible(sale.voucher, {&kBob, 1}, soon()).ok());
  });
  const auto loaded = vouchers.load(sale.voucher, soon());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text;
  EXPECT_EQ(sale.redis().stock, 12);
  expectInStep(sale);
  EXPECT_EQ(sale.fakes.ask(sale.voucher, OrderId(50), kBob).verdict, Verdict::Admitted);
  EXPECT_EQ(sale.fakes.ask(sale.voucher, OrderId(51), UserId(3)).verdict, Verdict::NotEligible);
}

TEST(LoadVoucher, OfAClosedOneAnswersEndedAndKeepsItsWinners) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  Vouchers vouchers(sale.parts());
  ASSERT_TRUE(vouchers.close(sale.voucher, soon()).ok());
  sale.fakes.qualifier.flushAll();
  ASSERT_TRUE(vouchers.load(sale.voucher, soon()).ok());
  EXPECT_EQ(sale.fakes.ask(sale.voucher, OrderId(50), kBob).verdict, Verdict::Ended);
  const Decision again = sale.fakes.ask(sale.voucher, OrderId(51), kAnn);
  EXPECT_EQ(again.verdict, Verdict::AlreadyOrdered);
  EXPECT_EQ(again.order, order);
}

TEST(LoadVoucher, PassesOnEveryFailureAndStaysRepeatableUntilItIsLoaded) {
  for (const ErrorCode code :
       {ErrorCode::Unavailable, ErrorCode::OutcomeUnknown, ErrorCode::Stopped, ErrorCode::Misconfigured}) {
    for (const char* call : {"findVoucher", "listOrders", "listEligible"}) {
      Sale sale;
      sale.fakes.qualifier.flushAll();
      sale.fakes.store.faults.next(call, code);
      const auto failed = Vouchers(sale.parts()).load(sale.voucher, soon());
      ASSERT_FALSE(failed.ok());
      EXPECT_EQ(failed.error().code, code);
      EXPECT_TRUE(Vouchers(sale.parts()).load(sale.voucher, soon()).ok());
    }
    for (const char* call : {"stats", "deadLetters"}) {
      Sale sale{FakeQueueOptions{}};
      sale.fakes.qualifier.flushAll();
      sale.fakes.queue.faults.next(call, code);
      EXPECT_EQ(Vouchers(sale.parts()).load(sale.voucher, soon()).error().code, code);
    }
    for (const char* call : {"findOrders", "release", "sync", "addEligible"}) {
      Sale sale;
      const OrderId order = sale.buy(kAnn);
      ASSERT_TRUE(Vouchers(sale.parts()).addEligible(sale.voucher, {&kBob, 1}, soon()).ok());
      sale.fakes.qualifier.flushAll();
      sale.fakes.qualifier.faults.onCall([&](std::string_view now) {
        if (now != "load") return;
        const bool ofStore = std::string_view(call) == "findOrders";
        (ofStore ? sale.fakes.store.faults : sale.fakes.qualifier.faults).next(call, code);
      });
      sale.fakes.store.faults.onCall([&](std::string_view now) {
        if (now == "listEligible") cancelWhileItLoads(sale, order);
      });
      const auto failed = Vouchers(sale.parts()).load(sale.voucher, soon());
      ASSERT_FALSE(failed.ok()) << call;
      EXPECT_EQ(failed.error().code, code);
      EXPECT_NE(failed.error().text.find("loaded, but"), std::string::npos);
    }
  }
}

TEST(LoadVoucher, WhoseAnswerWasLostCatchesUpAllTheSame) {
  for (const FaultMoment moment : {FaultMoment::Before, FaultMoment::After}) {
    Sale sale;
    const OrderId order = sale.buy(kAnn);
    sale.fakes.qualifier.flushAll();
    sale.fakes.store.faults.onCall([&](std::string_view now) {
      if (now == "listEligible") cancelWhileItLoads(sale, order);
    });
    sale.fakes.qualifier.faults.next("load", ErrorCode::OutcomeUnknown, moment);
    const auto loaded = Vouchers(sale.parts()).load(sale.voucher, soon());
    EXPECT_EQ(loaded.ok(), moment == FaultMoment::After);
    if (moment == FaultMoment::Before) {
      EXPECT_EQ(loaded.error().code, ErrorCode::OutcomeUnknown);
      ASSERT_TRUE(Vouchers(sale.parts()).load(sale.voucher, soon()).ok());
    }
    EXPECT_EQ(sale.redis().stock, 10);
  }
}

// --- dead letters ---

struct WithLetter : Sale {
  OrderId order;
  std::string letter;
  WithLetter() {
    order = admit(kAnn);
    test::deadLetterOne(parts());
    letter = DeadLetters(parts()).list("", 10, soon()).value().at(0).id;
  }
};

TEST(DeadLetter, IsShownListedAndReplayedOnce) {
  WithLetter sale;
  DeadLetters dead(sale.parts());
  EXPECT_EQ(dead.show(sale.letter, soon()).value().admission->order, sale.order);
  EXPECT_EQ(dead.list(sale.letter, 10, soon()).value().size(), 0U);
  EXPECT_EQ(dead.list("", 0, soon()).value().size(), 1U);
  EXPECT_EQ(dead.list("", 1000000, soon()).value().size(), 1U);
  ASSERT_TRUE(dead.replay(sale.letter, soon()).ok());
  sale.storeWaiting();
  EXPECT_EQ(sale.row(sale.order)->status, OrderStatus::PendingPayment);
  for (const Status& gone : {dead.replay(sale.letter, soon()), dead.drop(sale.letter, soon())}) {
    ASSERT_FALSE(gone.ok());
    EXPECT_EQ(gone.error().code, ErrorCode::NotFound);
    EXPECT_NE(gone.error().text.find("replayed or dropped"), std::string::npos);
  }
}

TEST(DeadLetter, DropWritesTheDeadRowReleasesAndForgets) {
  WithLetter sale;
  DeadLetters dead(sale.parts());
  ASSERT_TRUE(dead.drop(sale.letter, soon()).ok());
  EXPECT_EQ(sale.row(sale.order)->status, OrderStatus::Cancelled);
  EXPECT_EQ(sale.row(sale.order)->reason, DeadReason::DeadLetter);
  EXPECT_TRUE(sale.row(sale.order)->releasedAt);
  EXPECT_EQ(sale.redis().held, 0);
  EXPECT_TRUE(dead.list("", 10, soon()).value().empty());
}

TEST(DeadLetter, DropOfAStoredOrderForgetsTheLetterOnly) {
  WithLetter sale;
  const Admission admission{sale.order, kAnn, sale.voucher, 1, sale.fakes.clock.now()};
  ASSERT_TRUE(
      sale.fakes.store.persist({&admission, 1}, sale.fakes.clock.now(), sale.fakes.clock.now(), soon()).ok());
  DeadLetters dead(sale.parts());
  ASSERT_TRUE(dead.drop(sale.letter, soon()).ok());
  EXPECT_EQ(sale.row(sale.order)->status, OrderStatus::PendingPayment);
  EXPECT_EQ(sale.redis().held, 1);
  EXPECT_TRUE(dead.list("", 10, soon()).value().empty());
}

TEST(DeadLetter, DropOfACancelledOrderReleasesItIfNobodyDid) {
  WithLetter sale;
  const Admission admission{sale.order, kAnn, sale.voucher, 1, sale.fakes.clock.now()};
  ASSERT_TRUE(sale.fakes.store.cancel({admission, DeadReason::ByUser}, sale.fakes.clock.now(), soon()).ok());
  ASSERT_TRUE(DeadLetters(sale.parts()).drop(sale.letter, soon()).ok());
  EXPECT_EQ(sale.row(sale.order)->reason, DeadReason::ByUser);
  EXPECT_EQ(sale.redis().held, 0);
}

TEST(DeadLetter, DropOfOneWhoseIdBelongsToAnotherOrderLeavesThatOrderAlone) {
  WithLetter sale;
  const Admission other{sale.order, kBob, sale.voucher, 1, sale.fakes.clock.now()};
  ASSERT_TRUE(
      sale.fakes.store.persist({&other, 1}, sale.fakes.clock.now(), sale.fakes.clock.now(), soon()).ok());
  ASSERT_TRUE(DeadLetters(sale.parts()).drop(sale.letter, soon()).ok());
  EXPECT_EQ(sale.row(sale.order)->user, kBob);
  EXPECT_EQ(sale.row(sale.order)->status, OrderStatus::PendingPayment);
  EXPECT_EQ(sale.fakes.qualifier.releasesCounted(), 0U);
}

TEST(DeadLetter, OfAnUnknownVoucherIsKeptWithTheReason) {
  Sale sale(FakeQueueOptions{});
  const QueueMessage message{{OrderId(5), kAnn, VoucherId(99), 1, sale.fakes.clock.now()}, {}};
  ASSERT_TRUE(sale.fakes.queue.publish({&message, 1}, soon()).ok());
  test::deadLetterOne(sale.parts());
  DeadLetters dead(sale.parts());
  const Status kept = dead.drop(dead.list("", 1, soon()).value().at(0).id, soon());
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, ErrorCode::Conflict);
  EXPECT_NE(kept.error().text.find("does not know voucher 99"), std::string::npos);
  EXPECT_EQ(dead.list("", 1, soon()).value().size(), 1U);
}

TEST(DeadLetter, ThatDoesNotDecodeCanOnlyBeDropped) {
  Sale sale;
  sale.fakes.queue.injectUndecodable("rubbish");
  DeadLetters dead(sale.parts());
  const std::string id = dead.list("", 1, soon()).value().at(0).id;
  const Status replayed = dead.replay(id, soon());
  ASSERT_FALSE(replayed.ok());
  EXPECT_EQ(replayed.error().code, ErrorCode::Corrupt);
  ASSERT_TRUE(dead.drop(id, soon()).ok());
  EXPECT_EQ(sale.fakes.store.faults.calls("cancel"), 0U);
}

TEST(DeadLetter, DropMayBeRepeatedAfterEveryFailure) {
  for (const ErrorCode code :
       {ErrorCode::Unavailable, ErrorCode::OutcomeUnknown, ErrorCode::Stopped, ErrorCode::Internal}) {
    for (const FaultMoment moment : {FaultMoment::Before, FaultMoment::After}) {
      for (const char* call :
           {"findDeadLetter", "findOrder", "cancel", "removeDeadLetter", "replayDeadLetter"}) {
        WithLetter sale;
        DeadLetters dead(sale.parts());
        const bool ofStore = std::string_view(call) == "findOrder" || std::string_view(call) == "cancel";
        (ofStore ? sale.fakes.store.faults : sale.fakes.queue.faults).next(call, code, moment);
        if (std::string_view(call) == "replayDeadLetter") {
          EXPECT_EQ(dead.replay(sale.letter, soon()).error().code, code);
          continue;
        }
        const Status failed = dead.drop(sale.letter, soon());
        ASSERT_FALSE(failed.ok()) << call;
        EXPECT_EQ(failed.error().code, code);
        const Status again = dead.drop(sale.letter, soon());
        EXPECT_TRUE(again.ok() || again.error().code == ErrorCode::NotFound) << again.error().text;
        EXPECT_EQ(sale.row(sale.order)->reason, DeadReason::DeadLetter);
        EXPECT_EQ(sale.redis().stock, 10);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
