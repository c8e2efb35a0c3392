// The audit over the fakes: no alarm where all is well, also beside a running sale; each damage found by its
// own invariant.
#include "sluice/audit.h"

#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "support/sale.h"

namespace sluice {
namespace {

using test::FakeQueueOptions;
using test::Sale;
using test::soon;

constexpr UserId kAnn(1);
constexpr UserId kBob(2);

AuditReport auditOf(Sale& sale) {
  auto report = audit(sale.parts(), soon());
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().text);
  return report.ok() ? std::move(report).take() : AuditReport();
}

std::string violationsOf(const AuditReport& report) {
  std::string all;
  for (const Violation& violation : report.violations) {
    all += violation.invariant + ": " + violation.text + "\n";
  }
  return all;
}

// Exactly this invariant is broken, and none beside it.
void expectOnly(Sale& sale, const std::string& invariant) {
  const AuditReport report = auditOf(sale);
  std::set<std::string> broken;
  for (const Violation& violation : report.violations) {
    broken.insert(violation.invariant);
  }
  EXPECT_EQ(broken, std::set<std::string>{invariant}) << violationsOf(report);
}

void expectClean(Sale& sale) { EXPECT_EQ(violationsOf(auditOf(sale)), ""); }

Order rowOf(Sale& sale, OrderId order, UserId user, std::int32_t quantity = 1) {
  Order row;
  row.id = order;
  row.user = user;
  row.voucher = sale.voucher;
  row.quantity = quantity;
  return row;
}

void persist(Sale& sale, OrderId order, UserId user, std::int32_t quantity = 1) {
  const Admission admission{order, user, sale.voucher, quantity, sale.fakes.clock.now()};
  const auto stored =
      sale.fakes.store.persist({&admission, 1}, sale.fakes.clock.now(), sale.fakes.clock.now(), soon());
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(stored.value()[0].kind, PersistKind::Stored);
}

void cancelInStore(Sale& sale, OrderId order, UserId user) {
  const CancelRequest request{{order, user, sale.voucher, 1, sale.fakes.clock.now()}, DeadReason::ByUser};
  ASSERT_TRUE(sale.fakes.store.cancel(request, sale.fakes.clock.now(), soon()).ok());
}

void count(Sale& sale, std::int64_t admissions) {
  const auto lease =
      sale.fakes.store.leaseProcess("test", milliseconds(10000), sale.fakes.clock.now(), soon());
  ASSERT_TRUE(lease.ok());
  const AdmissionCount counted{sale.voucher, admissions};
  ASSERT_TRUE(sale.fakes.store.endProcess(lease.value(), sale.fakes.clock.now(), {&counted, 1}, soon()).ok());
}

// --- all is well ---

TEST(Audit, OfASaleAtRestIsCleanAndSaysSo) {
  Sale sale(10);
  const OrderId first = sale.buy(kAnn);
  sale.buy(kBob);
  ASSERT_TRUE(Orders(sale.parts()).cancel(first, sale.voucher, kAnn, DeadReason::ByUser, soon()).ok());
  count(sale, 2);
  const AuditReport report = auditOf(sale);
  EXPECT_EQ(violationsOf(report), "");
  EXPECT_TRUE(report.atRest);
  ASSERT_EQ(report.vouchers.size(), 1U);
  const VoucherAudit& summary = report.vouchers[0];
  EXPECT_TRUE(summary.loaded);
  EXPECT_FALSE(summary.syncDue);
  EXPECT_EQ(summary.allocated, 10);
  EXPECT_EQ(summary.stock, 9);
  EXPECT_EQ(summary.held, 1);
  EXPECT_EQ(summary.remaining, 9);
  EXPECT_EQ(summary.livePieces, 1);
  EXPECT_EQ(summary.rows, 2);
  EXPECT_EQ(summary.countedAdmissions, 2);
  EXPECT_EQ(summary.waiting + summary.lost + summary.unaccounted + summary.unreleased, 0);
}

TEST(Audit, CallsQueuedDeadLetteredAndUnreleasedOrdersWaiting) {
  Sale sale;
  const OrderId stored = sale.buy(kAnn);
  sale.admit(kBob);
  test::deadLetterOne(sale.parts());
  sale.admit(UserId(3));
  cancelInStore(sale, stored, kAnn);
  count(sale, 3);
  const AuditReport report = auditOf(sale);
  EXPECT_EQ(violationsOf(report), "");
  EXPECT_FALSE(report.atRest);
  EXPECT_EQ(report.vouchers[0].waiting, 2);
  EXPECT_EQ(report.vouchers[0].deadLettered, 1);
  EXPECT_EQ(report.vouchers[0].unreleased, 1);
  EXPECT_TRUE(report.lost.empty());
}

TEST(Audit, ALetterNobodyDecidedKeepsTheSaleFromRest) {
  Sale sale;
  sale.admit(kAnn);
  test::deadLetterOne(sale.parts());
  EXPECT_FALSE(auditOf(sale).atRest);
  DeadLetters dead(sale.parts());
  ASSERT_TRUE(dead.drop(dead.list("", 1, soon()).value().at(0).id, soon()).ok());
  EXPECT_TRUE(auditOf(sale).atRest);
  sale.fakes.queue.injectUndecodable("rubbish");
  expectClean(sale);
}

TEST(Audit, OfAVoucherThatIsNotInRedisJudgesTheStoreAlone) {
  Sale sale;
  sale.buy(kAnn);
  sale.fakes.qualifier.flushAll();
  const AuditReport report = auditOf(sale);
  EXPECT_EQ(violationsOf(report), "");
  EXPECT_FALSE(report.vouchers[0].loaded);
}

TEST(Audit, DifferentVersionsMeanThatASyncIsDue) {
  Sale sale;
  VoucherSettings settings = sale.stored().settings;
  settings.allocated = 20;
  ASSERT_TRUE(sale.fakes.store.updateVoucher(sale.voucher, 1, settings, soon()).ok());
  const AuditReport report = auditOf(sale);
  EXPECT_EQ(violationsOf(report), "");
  EXPECT_TRUE(report.vouchers[0].syncDue);
}

TEST(Audit, PagesThroughManyVouchersHoldsRowsAndWaitingOnes) {
  Sale sale(5000);
  for (std::int64_t user = 1; user <= 2300; ++user) {
    sale.admit(UserId(user));
  }
  sale.storeWaiting();
  for (std::int64_t user = 3001; user <= 4200; ++user) {
    sale.admit(UserId(user));
  }
  for (int k = 0; k < 1100; ++k) {
    sale.fakes.sell(1);
  }
  const AuditReport report = auditOf(sale);
  EXPECT_EQ(violationsOf(report), "");
  EXPECT_EQ(report.vouchers.size(), 1101U);
  EXPECT_EQ(report.vouchers[0].held, 3500);
  EXPECT_EQ(report.vouchers[0].waiting, 1200);
}

// --- what a process or a queue beside the journal may carry ---

TEST(Audit, WaitsForWhatAQueueBesideTheJournalMayCarry) {
  Sale sale{FakeQueueOptions{}};
  sale.fakes.qualifier.setJournal(false);
  sale.admit(kAnn);  // published
  count(sale, 1);
  const AuditReport queued = auditOf(sale);
  EXPECT_EQ(violationsOf(queued), "");
  EXPECT_EQ(queued.vouchers[0].waiting, 1);
  EXPECT_FALSE(queued.atRest);
  sale.storeWaiting();
  EXPECT_TRUE(auditOf(sale).atRest);
}

TEST(Audit, WaitsForTheMemoryOfAProcessUntilItsLeaseEnds) {
  Sale sale{FakeQueueOptions{}};
  sale.fakes.qualifier.setJournal(false);
  const auto lease =
      sale.fakes.store.leaseProcess("server", milliseconds(10000), sale.fakes.clock.now(), soon());
  ASSERT_TRUE(lease.ok());
  sale.fakes.clock.advance(milliseconds(5));
  const OrderId order = test::orderId(sale.fakes.clock, 1, lease.value().number);
  const QualifyRequest request{order, kAnn, 1, {}};
  Decision decision;
  ASSERT_TRUE(
      sale.fakes.qualifier.decide(sale.voucher, {&request, 1}, sale.fakes.clock.now(), {&decision, 1}, soon())
          .ok());
  EXPECT_EQ(auditOf(sale).vouchers[0].waiting, 1);
  expectClean(sale);
  sale.fakes.clock.advance(milliseconds(20000));
  const AuditReport report = auditOf(sale);
  ASSERT_EQ(report.lost.size(), 1U);
  EXPECT_EQ(report.lost[0].order, order);
  EXPECT_EQ(report.lost[0].user, kAnn);
  EXPECT_EQ(report.vouchers[0].lost, 1);
  expectOnly(sale, "NO_LOST_ADMISSION");
}

TEST(Audit, AnOrderOfTheNumbersFormerHolderIsNotInTheNewOnesMemory) {
  Sale sale{FakeQueueOptions{}};
  sale.fakes.qualifier.setJournal(false);
  const OrderId before = test::orderId(sale.fakes.clock, 1, 0);
  const QualifyRequest request{before, kAnn, 1, {}};
  Decision decision;
  ASSERT_TRUE(
      sale.fakes.qualifier.decide(sale.voucher, {&request, 1}, sale.fakes.clock.now(), {&decision, 1}, soon())
          .ok());
  sale.fakes.clock.advance(milliseconds(5));
  ASSERT_EQ(sale.fakes.store.leaseProcess("next", milliseconds(10000), sale.fakes.clock.now(), soon())
                .value()
                .number,
            0);
  expectOnly(sale, "NO_LOST_ADMISSION");
}

// --- negative controls: an audit that never cried proves nothing ---

TEST(AuditFinds, AnOverwrittenCounter) {
  Sale sale;
  sale.buy(kAnn);
  sale.fakes.qualifier.setStock(sale.voucher, 8);
  expectOnly(sale, "CONSERVE_REDIS");
}

TEST(AuditFinds, ANegativeStock) {
  Sale sale(1);
  const OrderId first = sale.buy(kAnn);
  // The only piece was admitted again after the first hold was lost. The repair takes no more than is left;
  // only who writes to the keys past the scripts brings the stock below zero.
  sale.fakes.qualifier.forgetHold(sale.voucher, kAnn);
  sale.admit(kBob);
  const Order lost = rowOf(sale, first, kAnn);
  EXPECT_EQ(sale.fakes.qualifier.restore({&lost, 1}, soon()).value(), 0U);
  sale.fakes.qualifier.rememberHold(sale.voucher, {kAnn, first, 1});
  expectOnly(sale, "NEVER_NEGATIVE");
  sale.storeWaiting();  // the store refuses the second, and its release heals the counter
  ASSERT_TRUE(releaseStep(sale.parts(), 10, soon()).ok());
  expectClean(sale);
}

TEST(AuditFinds, AJournalEntryThatVanished) {
  Sale sale;
  const OrderId order = sale.admit(kAnn);
  sale.fakes.qualifier.eraseJournal(1);
  const AuditReport report = auditOf(sale);
  ASSERT_EQ(report.lost.size(), 1U);
  EXPECT_EQ(report.lost[0].order, order);
  expectOnly(sale, "NO_LOST_ADMISSION");
}

TEST(AuditFinds, AQueueThatAcknowledgedBeforeItStored) {
  Sale sale;
  for (std::int64_t user = 1; user <= 5; ++user) {
    sale.admit(UserId(user));
  }
  const auto batch = sale.fakes.queue.receive(0, 2, soon());
  for (const Delivery& delivery : batch.value()) {
    const Settlement done{delivery.token, SettleKind::Done, milliseconds(0), true, {}};
    ASSERT_TRUE(sale.fakes.queue.settle(0, {&done, 1}, soon()).ok());
  }
  sale.storeWaiting();
  EXPECT_EQ(auditOf(sale).vouchers[0].lost, 2);
  expectOnly(sale, "NO_LOST_ADMISSION");
}

TEST(AuditFinds, CountedAdmissionsThatNothingKnows) {
  Sale sale;
  sale.buy(kAnn);
  sale.admit(kBob);
  count(sale, 5);
  EXPECT_EQ(auditOf(sale).vouchers[0].unaccounted, 3);
  expectOnly(sale, "NO_LOST_ADMISSION");
}

TEST(AuditFinds, AHoldThatRedisLost) {
  Sale sale;
  sale.buy(kAnn);
  sale.fakes.qualifier.forgetHold(sale.voucher, kAnn);
  expectOnly(sale, "NO_PHANTOM");
  ASSERT_TRUE(recoverHolds(sale.parts(), milliseconds(60000), soon()).ok());
  expectClean(sale);
}

TEST(AuditFinds, ARowThatWasNeverAdmitted) {
  Sale sale;
  persist(sale, OrderId(77), kAnn);
  const AuditReport report = auditOf(sale);
  ASSERT_EQ(report.violations.size(), 1U);
  EXPECT_NE(report.violations[0].text.find("one is order 77"), std::string::npos);
  expectOnly(sale, "NO_PHANTOM");
}

TEST(AuditFinds, AnOrderWithOtherPiecesInRedisThanInTheStore) {
  Sale sale(10, 3);
  const OrderId order = sale.buy(kAnn, 2);
  sale.fakes.qualifier.forgetHold(sale.voucher, kAnn);
  const Order wrong = rowOf(sale, order, kAnn, 3);
  ASSERT_TRUE(sale.fakes.qualifier.restore({&wrong, 1}, soon()).ok());
  expectOnly(sale, "NO_PHANTOM");
}

TEST(AuditFinds, AnOrderHeldByTwoUsers) {
  for (const bool stored : {true, false}) {
    Sale sale;
    const OrderId order = sale.admit(kAnn);
    if (stored) sale.storeWaiting();
    const Order twin = rowOf(sale, order, kBob);
    ASSERT_TRUE(sale.fakes.qualifier.restore({&twin, 1}, soon()).ok());
    const AuditReport report = auditOf(sale);
    EXPECT_NE(violationsOf(report).find("CONSERVE_REDIS: voucher 1: 1 orders are held by more than one user"),
              std::string::npos)
        << violationsOf(report);
  }
}

TEST(AuditFinds, AReleaseThatWasMarkedAndNeverMade) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  cancelInStore(sale, order, kAnn);
  expectClean(sale);
  ASSERT_TRUE(sale.fakes.store.markReleased({&order, 1}, sale.fakes.clock.now(), soon()).ok());
  expectOnly(sale, "RELEASE_ONCE");
}

TEST(AuditFinds, AReleaseWithoutADeadRow) {
  Sale sale;
  const OrderId order = sale.buy(kAnn);
  const Admission admission{order, kAnn, sale.voucher, 1, sale.fakes.clock.now()};
  ASSERT_TRUE(sale.fakes.qualifier.release({&admission, 1}, soon()).ok());
  expectOnly(sale, "NO_PHANTOM");
}

TEST(AuditFinds, AUserAboveTheLimit) {
  Sale sale(10, 2);
  sale.buy(kAnn, 2);
  VoucherSettings settings = sale.stored().settings;
  settings.limitPerUser = 1;
  ASSERT_TRUE(Vouchers(sale.parts()).update(sale.voucher, 1, settings, soon()).ok());
  expectOnly(sale, "ONE_PER_USER");
}

TEST(AuditFinds, AStockThatDiffersInTheSameVersion) {
  Sale sale;
  Voucher foreign = sale.stored();
  foreign.version = 2;
  foreign.settings.allocated = 30;
  ASSERT_TRUE(sale.fakes.qualifier.sync(foreign, soon()).ok());
  expectClean(sale);  // a sync is due
  VoucherSettings settings = sale.stored().settings;
  settings.allocated = 20;
  ASSERT_TRUE(sale.fakes.store.updateVoucher(sale.voucher, 1, settings, soon()).ok());
  expectOnly(sale, "CONSERVE_REDIS");
}

TEST(AuditFinds, KeysThatCannotBeRead) {
  for (const char* call : {"snapshot", "scanHolds"}) {
    Sale sale;
    sale.buy(kAnn);
    sale.fakes.qualifier.faults.always(call, ErrorCode::Corrupt);
    expectOnly(sale, "CONSERVE_REDIS");
  }
}

TEST(Audit, AnswersEveryFailureOfItsParts) {
  for (const ErrorCode code :
       {ErrorCode::Unavailable, ErrorCode::OutcomeUnknown, ErrorCode::Stopped, ErrorCode::Misconfigured}) {
    for (const char* call : {"snapshot", "scanHolds", "readJournal"}) {
      Sale sale;
      sale.admit(kAnn);
      sale.fakes.qualifier.faults.next(call, code);
      EXPECT_EQ(audit(sale.parts(), soon()).error().code, code) << call;
    }
    for (const char* call : {"totals", "listOrders", "findOrders", "listProcesses"}) {
      Sale sale{FakeQueueOptions{}};
      sale.fakes.qualifier.setJournal(false);  // who has a journal need not ask for processes
      sale.fakes.qualifier.appendJournal({sale.admit(kAnn), kAnn, sale.voucher, 1, sale.fakes.clock.now()});
      sale.fakes.store.faults.next(call, code);
      EXPECT_EQ(audit(sale.parts(), soon()).error().code, code) << call;
    }
    for (const char* call : {"deadLetters", "stats"}) {
      Sale sale;
      sale.fakes.queue.faults.next(call, code);
      EXPECT_EQ(audit(sale.parts(), soon()).error().code, code) << call;
    }
  }
  Sale sale;
  sale.fakes.queue.faults.next("deadLetters", ErrorCode::Unsupported);
  expectClean(sale);
  EXPECT_EQ(audit(sale.parts(), Deadline::in(milliseconds(0))).error().code, ErrorCode::Unavailable);
}

// --- beside a running sale ---

// Everything that moves an order, at once, until stopped.
class Storm {
 public:
  explicit Storm(Sale& sale) : sale_(sale) {
    for (const auto work : {&Storm::admit, &Storm::store, &Storm::change, &Storm::release,
                            &Storm::decideLetters, &Storm::resize}) {
      threads_.emplace_back([this, work] {
        while (!stop_)
          (this->*work)();
      });
    }
  }
  ~Storm() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  // The fakes count in linear time, so the storm ends.
  [[nodiscard]] bool exhausted() const { return issued_ >= 4000; }

 private:
  void admit() {
    if (exhausted()) return;
    std::this_thread::yield();
    const OrderId order = test::orderId(sale_.fakes.clock, ++issued_ % 4096);
    const UserId user(1 + issued_ % 500);
    sale_.fakes.clock.advance(milliseconds(1));
    (void)sale_.fakes.ask(sale_.voucher, order, user);
  }
  void store() {
    const auto batch = sale_.fakes.queue.receive(0, 20, Deadline::in(milliseconds(1)));
    std::vector<Admission> admissions;
    std::vector<Settlement> settlements;
    for (const Delivery& delivery : batch.value()) {
      if (delivery.admission.order.value() % 7 == 0) {
        settlements.push_back(
            {delivery.token, SettleKind::DeadLetter, milliseconds(0), true, "every seventh"});
        continue;
      }
      admissions.push_back(delivery.admission);
      settlements.push_back({delivery.token, SettleKind::Done, milliseconds(0), true, {}});
    }
    if (!admissions.empty()) {
      ASSERT_TRUE(
          sale_.fakes.store.persist(admissions, sale_.fakes.clock.now(), sale_.fakes.clock.now(), soon())
              .ok());
    }
    ASSERT_TRUE(sale_.fakes.queue.settle(0, settlements, soon()).ok());
  }
  void change() {
    const UserId user(1 + static_cast<std::int64_t>(random_.next() % 500));
    const auto holds = sale_.fakes.qualifier.holdsOf(sale_.voucher, user, soon());
    for (const Hold& hold : holds.value()) {
      Orders orders(sale_.parts());
      if (random_.next() % 3 == 0) (void)orders.pay(hold.order, user, soon());
      (void)orders.cancel(hold.order, sale_.voucher, user, DeadReason::ByUser, soon());
    }
  }
  void release() {
    (void)sale_.fakes.store.expire(sale_.fakes.clock.now() - milliseconds(50), 3, soon());
    (void)releaseStep(sale_.parts(), 10, soon());
  }
  void decideLetters() {
    DeadLetters dead(sale_.parts());
    const auto letters = dead.list("", 5, soon());
    for (const DeadLetter& letter : letters.value()) {
      (void)(random_.next() % 2 == 0 ? dead.drop(letter.id, soon()) : dead.replay(letter.id, soon()));
    }
  }
  void resize() {
    VoucherSettings settings = sale_.stored().settings;
    settings.allocated = 300 + static_cast<std::int64_t>(random_.next() % 100);
    (void)Vouchers(sale_.parts()).update(sale_.voucher, sale_.stored().version, settings, soon());
    std::this_thread::sleep_for(milliseconds(1));
  }

  Sale& sale_;
  test::SeededRandom random_{7};
  std::atomic<bool> stop_{false};
  std::atomic<std::int32_t> issued_{0};
  std::vector<std::thread> threads_;
};

TEST(Audit, BesideARunningSaleRaisesNoFalseAlarm) {
  Sale sale(300);
  {
    const Storm storm(sale);
    for (int k = 0; k < 12 || !storm.exhausted(); ++k) {
      EXPECT_EQ(violationsOf(auditOf(sale)), "");
    }
  }
  DeadLetters dead(sale.parts());
  while (true) {
    sale.storeWaiting();
    const auto letters = dead.list("", 100, soon());
    if (letters.value().empty()) break;
    for (const DeadLetter& letter : letters.value()) {
      ASSERT_TRUE(dead.drop(letter.id, soon()).ok());
    }
  }
  while (releaseStep(sale.parts(), 1000, soon()).value() > 0) {
  }
  const AuditReport report = auditOf(sale);
  EXPECT_EQ(violationsOf(report), "");
  EXPECT_TRUE(report.atRest);
}

}  // namespace
}  // namespace sluice
