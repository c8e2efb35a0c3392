// OrderStore: decides each order once, in a transaction, and keeps vouchers and rows.
//
// Role:     implemented by the store plugins; called by fulfilment (persist), lifecycle (cancel, expire,
//           release marks), operators and the audit. The row is the outbox: a dead row whose releasedAt is
//           empty still owes its stock to Redis.
// Threads:  every call from any thread. Lifetime: construction is inert; start() opens; close() is
//           idempotent. The destructor closes. Blocking: every call is bounded by its Deadline. Delivery: a
//           call that answers ok is committed, as durable as durability() says.
// Errors:   Unavailable (nothing happened, repeat it: lock, deadlock, server away, read-only, disk full),
//           OutcomeUnknown (the commit's answer was lost; repeating the call is safe), Misconfigured
//           (schema missing, newer or foreign), InvalidArgument, NotFound, Conflict, Stopped. No text holds
//           row values or passwords.
// Limits:   1 to limits::kReceiveBatchMax rows in a persist; at most limits::kPageMax in a page, more are
//           InvalidArgument.
// Law:      R1 exactly one row an order id, decided once; a refusal is a row too. R3 cancelling what has no
//           row inserts the dead row. Same lock order (vouchers by id) in persist, cancel, expire, refund.
//           Conservation: remaining + live pieces = allocated, remaining >= 0, a user's live pieces <=
//           limit, in every committed state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/clock.h"
#include "sluice/order.h"
#include "sluice/result.h"
#include "sluice/voucher.h"

namespace sluice {

enum class PersistKind : std::uint8_t {
  Stored,    // a new live row
  Rejected,  // a new dead row; `reason` says why
  Already,   // the id has a row; `status` and `reason` are its own (rule R5: a success)
  Conflict,  // the id has a row of another user, voucher or quantity: the message is wrong, nothing changed
  UnknownVoucher  // the store has no such voucher: a fault of configuration, nothing was changed
};

struct PersistOutcome {
  PersistKind kind = PersistKind::Stored;
  OrderStatus status = OrderStatus::PendingPayment;
  DeadReason reason = DeadReason::None;
  bool released = false;  // the row is dead and its hold was released before
  friend bool operator==(const PersistOutcome&, const PersistOutcome&) = default;
};

// The answer of a change by compare-and-set: the row as it is now, and whether this call changed it.
struct Change {
  Order order;
  bool changed = false;
};

// A place in the order of changes: that of a row is {updatedAt, id}.
struct ChangePoint {
  UtcTime at;
  OrderId order;
};

// What cancel does where the id has no row yet (rule R3): it inserts the dead row from these facts.
struct CancelRequest {
  Admission admission;  // user, voucher and quantity must equal the row's where one exists, else Conflict
  DeadReason reason = DeadReason::ByUser;
};

// A process number is held by lease. `since` is the first instant whose ids are its holder's: above every id
// issued under the number before. `name` is the holder's host and address, for people.
struct ProcessLease {
  std::int32_t number = 0;
  std::string name;
  std::string token;
  UtcTime since;
  UtcTime expiresAt;
};

// Totals of one voucher, from one consistent read.
struct VoucherTotals {
  Voucher voucher;
  std::int64_t livePieces = 0;
  std::int64_t rows = 0;  // all rows, live and dead
  // Users whose live pieces exceed the limit; 0 unless a defect or a lowered limit.
  std::int64_t usersOverLimit = 0;
  std::int64_t unreleasedRows = 0;     // dead rows whose stock Redis has not got back
  std::int64_t countedAdmissions = 0;  // what the servers counted, see renewProcess
};

// One voucher's admissions of one process, since its lease began; absolute, so that repeating is harmless.
struct AdmissionCount {
  VoucherId voucher;
  std::int64_t admitted = 0;
};

class OrderStore {
 public:
  virtual ~OrderStore();

  // Opens, checks the schema's version. Misconfigured where migrate() is due or the schema is newer than this
  // program.
  [[nodiscard]] virtual Status start(Deadline deadline) = 0;
  // Brings the schema to this program's version, stepwise; safe when several processes do it at once, and
  // when repeated.
  [[nodiscard]] virtual Status migrate(Deadline deadline) = 0;
  virtual void close() noexcept = 0;
  // What a commit means at the settings in force, for people: "WAL, synchronous=FULL".
  [[nodiscard]] virtual Result<std::string> durability(Deadline deadline) = 0;

  // --- vouchers ---
  // A new voucher with remaining = allocated. Id none: the next free one. Conflict where the id exists.
  [[nodiscard]] virtual Result<Voucher> createVoucher(VoucherId id, const VoucherSettings& settings,
                                                      Deadline deadline) = 0;
  // New settings where the version still is `expectedVersion`, else Conflict. remaining moves with allocated;
  // Conflict where it would fall below 0. Answers the voucher with its new version.
  [[nodiscard]] virtual Result<Voucher> updateVoucher(VoucherId id, std::int64_t expectedVersion,
                                                      const VoucherSettings& settings, Deadline deadline) = 0;
  [[nodiscard]] virtual Result<std::optional<Voucher>> findVoucher(VoucherId id, Deadline deadline) = 0;
  // By id, after `after`.
  [[nodiscard]] virtual Result<std::vector<Voucher>> listVouchers(VoucherId after, std::size_t max,
                                                                  Deadline deadline) = 0;
  [[nodiscard]] virtual Status addEligible(VoucherId voucher, std::span<const UserId> users,
                                           Deadline deadline) = 0;
  [[nodiscard]] virtual Result<std::vector<UserId>> listEligible(VoucherId voucher, UserId after,
                                                                 std::size_t max, Deadline deadline) = 0;

  // --- orders ---
  // One transaction: locks the vouchers of the batch in id order, reads which ids exist and what the users
  // hold live, decides in the order given (each seeing the earlier ones), inserts, subtracts what was
  // inserted. One outcome for each, same order. payBy counts from `now` (storing). Duplicates inside the
  // batch: the first decides, the others are Already.
  // A malformed admission (an id or quantity out of range) makes the whole batch InvalidArgument, with its
  // place in the text, and a row that the schema refuses makes it Internal: the caller parts the batch.
  [[nodiscard]] virtual Result<std::vector<PersistOutcome>> persist(std::span<const Admission> admissions,
                                                                    UtcTime now, UtcTime payBy,
                                                                    Deadline deadline) = 0;

  // PendingPayment -> Paid. Conflict in the row's state leaves it; the Change tells. NotFound where there is
  // no row.
  [[nodiscard]] virtual Result<Change> pay(OrderId order, UtcTime now, Deadline deadline) = 0;
  // PendingPayment -> Cancelled, stock back in the store; without a row a Cancelled row is inserted (changed
  // = true).
  [[nodiscard]] virtual Result<Change> cancel(const CancelRequest& request, UtcTime now,
                                              Deadline deadline) = 0;
  // Paid -> Refunded, stock back in the store.
  [[nodiscard]] virtual Result<Change> refund(OrderId order, UtcTime now, Deadline deadline) = 0;
  // Cancels (reason Unpaid) at most `max` PendingPayment rows whose payBy has passed; answers how many.
  [[nodiscard]] virtual Result<std::size_t> expire(UtcTime now, std::size_t max, Deadline deadline) = 0;

  // Dead rows whose hold was not released yet, oldest first. Then the mark, once Redis has it.
  [[nodiscard]] virtual Result<std::vector<Order>> unreleased(std::size_t max, Deadline deadline) = 0;
  [[nodiscard]] virtual Status markReleased(std::span<const OrderId> orders, UtcTime now,
                                            Deadline deadline) = 0;

  [[nodiscard]] virtual Result<std::optional<Order>> findOrder(OrderId order, Deadline deadline) = 0;
  // The rows of these ids that exist, in any order. At most limits::kPageMax ids.
  [[nodiscard]] virtual Result<std::vector<Order>> findOrders(std::span<const OrderId> orders,
                                                              Deadline deadline) = 0;
  // By id, after `after`; all users where `user` is none, all statuses where empty.
  [[nodiscard]] virtual Result<std::vector<Order>> listOrders(VoucherId voucher, UserId user,
                                                              std::optional<OrderStatus> status,
                                                              OrderId after, std::size_t max,
                                                              Deadline deadline) = 0;
  // Rows changed within `window` before the newest change of all: what a restarted Redis may have missed. By
  // time of change and id, after `after` (default: from the start of the window), so that a page costs what
  // it holds, however wide the window. A row that changes meanwhile comes again.
  [[nodiscard]] virtual Result<std::vector<Order>> recentOrders(milliseconds window, ChangePoint after,
                                                                std::size_t max, Deadline deadline) = 0;

  // --- processes ---
  // `name`: 1 to 200 bytes of UTF-8 without control characters. The lowest number whose lease has run out. Overloaded where all limits::kProcessNumbers are held.
  [[nodiscard]] virtual Result<ProcessLease> leaseProcess(const std::string& name, milliseconds duration,
                                                          UtcTime now, Deadline deadline) = 0;
  // Conflict where the lease was lost to another holder. Also records the counts, in the same transaction.
  [[nodiscard]] virtual Result<ProcessLease> renewProcess(const ProcessLease& lease, milliseconds duration,
                                                          UtcTime now, std::span<const AdmissionCount> counts,
                                                          Deadline deadline) = 0;
  // Ends the lease now; the number is free for ids after `now`. Records the counts.
  [[nodiscard]] virtual Status endProcess(const ProcessLease& lease, UtcTime now,
                                          std::span<const AdmissionCount> counts, Deadline deadline) = 0;
  // By number; those that have run out too.
  [[nodiscard]] virtual Result<std::vector<ProcessLease>> listProcesses(Deadline deadline) = 0;

  // --- audit ---
  // By voucher id, after `after`; each from one consistent read, without a scan of all orders where an index
  // can serve.
  [[nodiscard]] virtual Result<std::vector<VoucherTotals>> totals(VoucherId after, std::size_t max,
                                                                  Deadline deadline) = 0;
};

}  // namespace sluice
