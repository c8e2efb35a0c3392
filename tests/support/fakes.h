// In-memory Qualifier, OrderQueue and OrderStore that obey the contract headers, and fail when a test says
// so.
//
// They are exact where the contract is exact (verdict order, rules R1 to R5, conservation, isolation, limits)
// and instant otherwise. Like the real ones they answer Unavailable before start() and Stopped after stop()
// or close().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/operations.h"
#include "sluice/order_queue.h"
#include "sluice/order_store.h"
#include "sluice/qualifier.h"

#include "support/faults.h"
#include "support/manual_clock.h"

namespace sluice::test {

class FakeQualifier final : public Qualifier {
 public:
  Faults faults{qualifierCalls()};

  [[nodiscard]] Status start(Deadline deadline) override;
  void stop() noexcept override;
  [[nodiscard]] Result<QualifierHealth> probe(Deadline deadline) override;
  void trust(const std::string& identity) override;
  [[nodiscard]] bool keepsJournal() const noexcept override;
  [[nodiscard]] Status decide(VoucherId voucher, std::span<const QualifyRequest> requests, UtcTime now,
                              std::span<Decision> decisions, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<ReleaseOutcome>> release(std::span<const Admission> orders,
                                                            Deadline deadline) override;
  [[nodiscard]] Status takeBack(VoucherId voucher, std::span<const QualifyRequest> requests,
                                Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> restore(std::span<const Order> liveOrders, Deadline deadline) override;
  [[nodiscard]] Result<LoadOutcome> load(const VoucherLoad& load, Deadline deadline) override;
  [[nodiscard]] Result<SyncOutcome> sync(const Voucher& voucher, Deadline deadline) override;
  [[nodiscard]] Result<VoucherSnapshot> snapshot(VoucherId voucher, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Hold>> holdsOf(VoucherId voucher, UserId user, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Hold>> scanHolds(VoucherId voucher, std::string& cursor,
                                                    Deadline deadline) override;
  [[nodiscard]] Status addEligible(VoucherId voucher, std::span<const UserId> users,
                                   Deadline deadline) override;
  [[nodiscard]] Result<std::vector<JournalEntry>> readJournal(JournalId after, std::size_t max,
                                                              Deadline deadline) override;
  [[nodiscard]] Result<std::vector<JournalEntry>> awaitJournal(JournalId after, std::size_t max,
                                                               Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> setAside(std::span<const JournalEntry> entries,
                                             Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> settleJournal(std::span<const JournalId> ids, Deadline deadline) override;
  [[nodiscard]] Result<Lead> lead(const std::string& owner, milliseconds lease, Deadline deadline) override;
  [[nodiscard]] Status resign(const std::string& owner, Deadline deadline) override;
  [[nodiscard]] QualifierStats stats() const noexcept override;

  // What tests do behind its back.
  void useClock(const Clock& clock);  // for leases; else the machine's
  void setPatient(bool patient);      // false: awaitJournal does not wait, so that a simulation costs no time
  void appendUndecodable(const std::string& bytes);
  [[nodiscard]] std::vector<std::string> aside() const;  // bytes of what was put aside, oldest first
  void setJournal(bool on, std::size_t max = 1000000);
  void setDurability(Durability level);
  void setClockSkew(milliseconds skew);
  void restart(bool keepsData);                     // another identity, not trusted until trust() names it
  void flushAll();                                  // FLUSHALL: same identity, no keys
  void forgetHold(VoucherId voucher, UserId user);  // as if Redis had lost its last seconds
  void forgetHold(VoucherId voucher, OrderId order);
  void rememberHold(VoucherId voucher, const Hold& hold);  // as if Redis had lost its release
  void setStock(VoucherId voucher, std::int64_t stock);    // breaks conservation
  void reopen();                                           // another process' object for the same server
  // Every law that the counters and holds break, one a line; empty when all hold.
  [[nodiscard]] std::string brokenLaws() const;
  [[nodiscard]] std::vector<Hold> holds(VoucherId voucher) const;
  [[nodiscard]] VoucherSnapshot peek(VoucherId voucher) const;  // snapshot() without its failures
  // Every order that was admitted freshly, ever.
  [[nodiscard]] std::set<OrderId> admittedEver() const;
  // What a queue that reads the journal does; no scripted failure applies.
  void appendJournal(const Admission& admission);
  [[nodiscard]] std::vector<std::pair<std::uint64_t, Admission>> journalAfter(std::uint64_t entry) const;
  void eraseJournal(std::uint64_t entry);
  [[nodiscard]] std::uint64_t journalEpoch() const;     // rises when the journal was lost
  [[nodiscard]] std::uint64_t releasesCounted() const;  // holds that release() removed

 private:
  struct Sale {
    Voucher voucher;
    std::int64_t stock = 0;
    std::int64_t held = 0;
    std::map<UserId, std::vector<Hold>> holds;
    std::set<UserId> eligible;
    std::map<std::pair<UserId, std::string>, Hold> keys;
    std::map<OrderId, UserId> released;  // whose hold was given back
    [[nodiscard]] bool frozen() const {
      return stock < 0 || held < 0 || stock + held != voucher.settings.allocated;
    }
  };
  Decision decideOne(Sale& sale, const QualifyRequest& request, UtcTime now);
  ReleaseOutcome releaseOne(Sale& sale, UserId user, OrderId order);
  static std::optional<Decision> repeated(const Sale& sale, const QualifyRequest& request);
  static std::optional<Verdict> refusal(const Sale& sale, const QualifyRequest& request, UtcTime now);
  void append(const Admission& admission);
  [[nodiscard]] VoucherSnapshot snapshotOf(VoucherId voucher) const;
  [[nodiscard]] std::vector<JournalEntry> entriesAfter(JournalId after, std::size_t max) const;
  template <typename Work>
  auto call(std::string_view name, Deadline deadline, Work work) -> decltype(work()) {
    return faults.run(name, [&]() -> decltype(work()) {
      const std::lock_guard lock(mutex_);
      if (stopped_) return Error{ErrorCode::Stopped, "qualifier is stopped"};
      if (!started_) return Error{ErrorCode::Unavailable, "qualifier is not started"};
      if (deadline.passed()) return Error{ErrorCode::Unavailable, "the deadline has passed"};
      return work();
    });
  }

  mutable std::mutex mutex_;
  bool started_ = false;
  bool stopped_ = false;
  bool journalOn_ = true;
  std::size_t journalMax_ = 1000000;
  std::uint64_t generation_ = 1;
  std::string trusted_;
  Durability durability_ = Durability::L1;
  milliseconds clockSkew_{0};
  std::map<VoucherId, Sale> sales_;
  std::map<std::uint64_t, Admission> journal_;
  std::uint64_t lastEntry_ = 0;
  std::uint64_t journalEpoch_ = 1;
  std::uint64_t releases_ = 0;
  std::set<OrderId> admitted_;
  std::map<std::uint64_t, std::string> undecodable_;  // entries of the journal, by their number
  std::vector<std::string> aside_;
  bool patient_ = true;
  const Clock* clock_ = &systemClock();
  std::string leader_;      // the forwarder's lease
  std::string lastLeader_;  // who had it last
  SteadyTime leaderUntil_{};
  QualifierStats stats_;
};

struct FakeQueueOptions {
  QueueTraits traits{.durable = true,
                     .delayedRetry = true,
                     .leaseExtend = true,
                     .multiProcess = true,
                     .inspectable = true,
                     .retriesFirst = true,
                     .buriesAtOnce = true};
  std::size_t capacity = 1000000;
  FakeQualifier* journal = nullptr;  // required by, and only with, traits.readsJournal
};

class FakeQueue final : public OrderQueue {
 public:
  Faults faults{queueCalls()};
  explicit FakeQueue(const Clock& clock, FakeQueueOptions options = {}) : clock_(clock), options_(options) {}

  [[nodiscard]] const QueueTraits& traits() const noexcept override { return options_.traits; }
  [[nodiscard]] Status start(Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> reserve(std::size_t wanted) override;
  void unreserve(std::size_t places) noexcept override;
  [[nodiscard]] Status publish(std::span<const QueueMessage> messages, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Delivery>> receive(std::size_t slot, std::size_t max,
                                                      Deadline deadline) override;
  [[nodiscard]] Result<std::vector<SettleOutcome>> settle(std::size_t slot,
                                                          std::span<const Settlement> settlements,
                                                          Deadline deadline) override;
  [[nodiscard]] Status extend(std::size_t slot, std::span<const DeliveryToken> tokens,
                              Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> drain(Deadline deadline) override;
  void close() noexcept override;
  [[nodiscard]] Result<QueueStats> stats(Deadline deadline) override;
  [[nodiscard]] Result<std::vector<DeadLetter>> deadLetters(const std::string& afterId, std::size_t max,
                                                            Deadline deadline) override;
  [[nodiscard]] Result<std::optional<DeadLetter>> findDeadLetter(const std::string& id,
                                                                 Deadline deadline) override;
  [[nodiscard]] Status replayDeadLetter(const std::string& id, Deadline deadline) override;
  [[nodiscard]] Status removeDeadLetter(const std::string& id, Deadline deadline) override;

  // What tests do behind its back.
  void abandon();  // the holder died: what was delivered comes again, old tokens are stale
  // All but the dead letters are gone (with `which`: those of these orders), and the queue notices it or not.
  void loseMessages(bool said, const std::optional<std::set<OrderId>>& which = std::nullopt);
  void hideInFlight(bool hidden);  // stats() shows none, as where consumers elsewhere have them
  void injectUndecodable(const std::string& bytes);  // dead-lettered, as a plugin does
  void reopen();  // another process' object for the same server; what only this one held is gone
  void setPatient(bool patient);  // false: receive does not wait, so that a simulation costs no time
  [[nodiscard]] std::size_t reserved() const;

 private:
  struct Message {
    QueueMessage content;
    std::uint64_t journalEntry = 0;  // of a queue that reads the journal itself
    std::uint32_t deliveries = 0;
    std::uint32_t failures = 0;
    SteadyTime due{};
    UtcTime queuedAt{};
  };
  std::vector<Delivery> takeDue(std::size_t slot, std::size_t max);
  SettleOutcome settleOne(std::size_t slot, const Settlement& settlement);
  void bury(const Message& message, const std::string& reason);
  void pullJournal();
  std::size_t handBack();
  template <typename Work>
  auto call(std::string_view name, Work work) -> decltype(work());

  const Clock& clock_;
  const FakeQueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  bool draining_ = false;
  bool closed_ = false;
  bool patient_ = true;
  bool hidesInFlight_ = false;
  std::size_t reserved_ = 0;
  std::deque<Message> ready_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<std::size_t, Message>>
      inFlight_;  // (epoch, number) -> slot, message
  std::uint64_t epoch_ = 1;
  std::uint64_t lastToken_ = 0;
  std::map<std::string, DeadLetter> dead_;
  std::uint64_t lastDead_ = 0;
  std::uint64_t journalCursor_ = 0;
  std::uint64_t journalEpoch_ = 1;
  QueueStats stats_;
};

class FakeStore final : public OrderStore {
 public:
  Faults faults{storeCalls()};

  [[nodiscard]] Status start(Deadline deadline) override;
  [[nodiscard]] Status migrate(Deadline deadline) override;
  void close() noexcept override;
  [[nodiscard]] Result<std::string> durability(Deadline deadline) override;

  [[nodiscard]] Result<Voucher> createVoucher(VoucherId id, const VoucherSettings& settings,
                                              Deadline deadline) override;
  [[nodiscard]] Result<Voucher> updateVoucher(VoucherId id, std::int64_t expectedVersion,
                                              const VoucherSettings& settings, Deadline deadline) override;
  [[nodiscard]] Result<std::optional<Voucher>> findVoucher(VoucherId id, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Voucher>> listVouchers(VoucherId after, std::size_t max,
                                                          Deadline deadline) override;
  [[nodiscard]] Status addEligible(VoucherId voucher, std::span<const UserId> users,
                                   Deadline deadline) override;
  [[nodiscard]] Result<std::vector<UserId>> listEligible(VoucherId voucher, UserId after, std::size_t max,
                                                         Deadline deadline) override;

  [[nodiscard]] Result<std::vector<PersistOutcome>> persist(std::span<const Admission> admissions,
                                                            UtcTime now, UtcTime payBy,
                                                            Deadline deadline) override;
  [[nodiscard]] Result<Change> pay(OrderId order, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<Change> cancel(const CancelRequest& request, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<Change> refund(OrderId order, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> expire(UtcTime now, std::size_t max, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> unreleased(std::size_t max, Deadline deadline) override;
  [[nodiscard]] Status markReleased(std::span<const OrderId> orders, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<std::optional<Order>> findOrder(OrderId order, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> findOrders(std::span<const OrderId> orders,
                                                      Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> listOrders(VoucherId voucher, UserId user,
                                                      std::optional<OrderStatus> status, OrderId after,
                                                      std::size_t max, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> recentOrders(milliseconds window, ChangePoint after,
                                                        std::size_t max, Deadline deadline) override;

  [[nodiscard]] Result<ProcessLease> leaseProcess(const std::string& name, milliseconds duration, UtcTime now,
                                                  Deadline deadline) override;
  [[nodiscard]] Result<ProcessLease> renewProcess(const ProcessLease& lease, milliseconds duration,
                                                  UtcTime now, std::span<const AdmissionCount> counts,
                                                  Deadline deadline) override;
  [[nodiscard]] Status endProcess(const ProcessLease& lease, UtcTime now,
                                  std::span<const AdmissionCount> counts, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<ProcessLease>> listProcesses(Deadline deadline) override;
  [[nodiscard]] Result<std::vector<VoucherTotals>> totals(VoucherId after, std::size_t max,
                                                          Deadline deadline) override;

  // What tests do behind its back.
  void setSchema(bool migrated) {
    migrated_ = migrated;
  }  // false: start() answers Misconfigured until migrate()
  void poison(OrderId order,
              bool poisoned = true);  // a persist with this order in its batch answers Internal
  void overwrite(OrderId order, OrderStatus status);  // breaks whatever law stands against it
  void stealLease(std::int32_t number, UtcTime now);  // another holder took the number
  // Every law of the header that the rows break, one a line; empty when all hold.
  [[nodiscard]] std::string brokenLaws() const;
  void reopen();  // another process' object for the same database
  [[nodiscard]] std::map<OrderId, Order> rows() const;
  [[nodiscard]] bool knows(VoucherId voucher) const;
  [[nodiscard]] std::vector<ProcessLease> leases() const;  // listProcesses() without its failures
  // Every status that each row has had, in order.
  [[nodiscard]] std::map<OrderId, std::vector<OrderStatus>> lives() const;

 private:
  PersistOutcome persistOne(const Admission& admission, UtcTime now, UtcTime payBy);
  Order& insert(const Admission& admission, OrderStatus status, DeadReason reason, UtcTime now);
  void die(Order& row, OrderStatus status, DeadReason reason, UtcTime now);
  Change change(Order& row, OrderStatus from, OrderStatus to, DeadReason reason, UtcTime now);
  std::int64_t livePieces(VoucherId voucher, UserId user) const;
  VoucherTotals totalsOf(const Voucher& voucher) const;
  void record(const ProcessLease& lease, std::span<const AdmissionCount> counts);
  [[nodiscard]] std::vector<ProcessLease> listLeases() const;
  template <typename Work>
  auto call(std::string_view name, Work work) -> decltype(work()) {
    return faults.run(name, [&]() -> decltype(work()) {
      const std::lock_guard lock(mutex_);
      if (closed_) return Error{ErrorCode::Stopped, "store is closed"};
      if (!started_) return Error{ErrorCode::Unavailable, "store is not started"};
      return work();
    });
  }

  mutable std::mutex mutex_;
  bool started_ = false;
  bool closed_ = false;
  bool migrated_ = true;
  std::map<VoucherId, Voucher> vouchers_;
  std::map<VoucherId, std::set<UserId>> eligible_;
  std::map<OrderId, Order> orders_;
  std::map<OrderId, std::vector<OrderStatus>> lives_;
  std::set<OrderId> poisoned_;
  std::map<std::int32_t, ProcessLease> processes_;
  std::uint64_t lastLease_ = 0;
  std::map<std::pair<std::string, VoucherId>, std::int64_t> admitted_;  // by lease token
};

// A queue that reads the journal, as queue_stream does.
[[nodiscard]] FakeQueueOptions journalQueue(FakeQualifier& qualifier);

// All three together, started, with a manual clock.
struct Fakes {
  ManualClock clock;
  SeededRandom random{1};
  FakeQualifier qualifier;
  FakeStore store;
  FakeQueue queue;

  // The queue reads the journal, as queue_stream does; `start` false leaves all three unstarted.
  explicit Fakes(bool start = true);
  explicit Fakes(FakeQueueOptions options, bool start = true);

  [[nodiscard]] Parts parts(Log& log = noLog()) { return {qualifier, queue, store, clock, random, log}; }
  // A voucher on sale now, in store and qualifier.
  Voucher sell(std::int64_t allocated, std::int32_t limitPerUser = 1);
  // Asks the qualifier for one order; publishes what was admitted where the queue does not read the journal.
  Decision ask(VoucherId voucher, OrderId order, UserId user, std::int32_t quantity = 1);
  // What always holds (docs/guarantees.md), of store and qualifier; one broken law a line, empty when all
  // hold. Laws that need a memory are in laws.h.
  [[nodiscard]] std::string brokenLaws() const;
  // Another process on the same servers: all three are unstarted, what the former one had in hand comes
  // again.
  void reopen();
};

[[nodiscard]] inline Deadline soon() noexcept { return Deadline::in(milliseconds(5000)); }

}  // namespace sluice::test
