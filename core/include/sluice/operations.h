// What people do with orders, vouchers and dead letters; the same code behind HTTP and the command line.
//
// Role:     each class ties the three interfaces together for one subject and owns nothing.
// Threads:  every call from any thread; the parts outlive the object. Blocking: bounded by the Deadline.
// Errors:   those of the interfaces, with texts for people. Rules R2 to R4 hold: a hold is released only
//           after its dead row exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/dead_filter.h"
#include "sluice/log.h"
#include "sluice/order_queue.h"
#include "sluice/order_store.h"
#include "sluice/qualifier.h"

namespace sluice {

struct Parts {
  Qualifier& qualifier;
  OrderQueue& queue;
  OrderStore& store;
  const Clock& clock;
  Random& random;
  Log& log;
};

// An order as its user sees it: from the store, else from the hold.
struct OrderView {
  OrderId id;
  VoucherId voucher;
  UserId user;
  std::int32_t quantity = 1;
  std::string_view status;   // "queued" or orderStatusName
  bool delayed = false;      // queued and dead-lettered: an operator has to look
  std::optional<Order> row;  // where the store has it
};

class Orders {
 public:
  explicit Orders(Parts parts) : parts_(parts) {}
  // Found in the store, else in the user's hold; NotFound where both say no, and where it is another user's
  // (user none: an operator, sees all). Unavailable where the store does not answer: the caller says
  // "unknown", never "not found".
  [[nodiscard]] Result<OrderView> find(OrderId order, VoucherId voucher, UserId user, Deadline deadline);
  // Also while queued (rule R3), and releases at once where it can. Conflict where the row's state forbids it
  // (paid, refunded). Cancelling what is cancelled answers the row.
  [[nodiscard]] Result<OrderView> cancel(OrderId order, VoucherId voucher, UserId user, DeadReason reason,
                                         Deadline deadline);
  // Only the user's own order. Paying what is paid answers the row.
  [[nodiscard]] Result<OrderView> pay(OrderId order, UserId user, Deadline deadline);
  // For operators. Refunding what is refunded answers the row.
  [[nodiscard]] Result<OrderView> refund(OrderId order, Deadline deadline);

 private:
  Result<std::optional<OrderView>> findStored(OrderId order, UserId user, Deadline deadline);
  Result<std::optional<OrderView>> findHeld(OrderId order, VoucherId voucher, UserId user, Deadline deadline);
  Error missing(OrderId order, VoucherId voucher, UserId user, Deadline deadline);
  Parts parts_;
};

// Releases the holds of dead rows and marks them; one step of the outbox. Answers how many rows were marked.
[[nodiscard]] Result<std::size_t> releaseStep(Parts parts, std::size_t max, Deadline deadline);

// Repairs what a restarted Redis may have lost: applies again the releases of recent dead rows, re-creates
// the holds of recent live rows. Answers what was done, for the log.
struct RecoveryReport {
  std::size_t rowsSeen = 0;
  std::size_t holdsRestored = 0;
  std::size_t holdsReleased = 0;
};
[[nodiscard]] Result<RecoveryReport> recoverHolds(Parts parts, milliseconds window, Deadline deadline);

struct VoucherView {
  Voucher voucher;
  std::optional<VoucherSnapshot> snapshot;  // none where Redis does not answer
};

class Vouchers {
 public:
  explicit Vouchers(Parts parts) : parts_(parts) {}
  [[nodiscard]] Result<Voucher> create(VoucherId id, const VoucherSettings& settings, Deadline deadline);
  // Stores the new settings, then syncs them to Redis. When only the store took them, the answer says so
  // (text of Unavailable) and sync() finishes it.
  [[nodiscard]] Result<Voucher> update(VoucherId id, std::int64_t expectedVersion,
                                       const VoucherSettings& settings, Deadline deadline);
  [[nodiscard]] Result<SyncOutcome> sync(VoucherId id, Deadline deadline);
  // Preheat and rebuild: brings a voucher into Redis with the holds of its live rows. Conflict where keys
  // exist or the queue is not drained, with what to do.
  [[nodiscard]] Result<VoucherView> load(VoucherId id, Deadline deadline);
  // State Closed, in both. Closing twice is fine.
  [[nodiscard]] Result<Voucher> close(VoucherId id, Deadline deadline);
  [[nodiscard]] Status addEligible(VoucherId id, std::span<const UserId> users, Deadline deadline);
  [[nodiscard]] Result<VoucherView> show(VoucherId id, Deadline deadline);
  [[nodiscard]] Result<std::vector<VoucherView>> list(VoucherId after, std::size_t max, Deadline deadline);

 private:
  Parts parts_;
};

class DeadLetters {
 public:
  explicit DeadLetters(Parts parts) : parts_(parts) {}
  [[nodiscard]] Result<std::vector<DeadLetter>> list(const std::string& afterId, std::size_t max,
                                                     Deadline deadline);
  // At most `max` of those that the filter means, oldest first. Looks at no more than limits::kDeadScanMax
  // letters, so a page may be short, or empty, although there are more: go on after its `next`.
  [[nodiscard]] Result<DeadPage> find(const DeadFilter& filter, const std::string& afterId, std::size_t max,
                                      Deadline deadline);
  // Counts, replays or drops at most `max` of them, bounded as find(). Ends early, and says where to go on,
  // at the deadline, and where queue, store or Redis would refuse the next one as well. What is put aside
  // after this call began is not touched: a letter that fails again does not come round. Who goes on with
  // further calls gives all of them the same `until`.
  [[nodiscard]] Result<DeadSweep> sweep(const DeadFilter& filter, DeadDeed deed, const std::string& afterId,
                                        std::size_t max, Deadline deadline);
  [[nodiscard]] Result<DeadLetter> show(const std::string& id, Deadline deadline);
  [[nodiscard]] Status replay(const std::string& id, Deadline deadline);
  // Writes the dead row (rule R3), releases the hold, deletes its journal entry, then forgets the letter. A letter that does not decode
  // is only forgotten.
  [[nodiscard]] Status drop(const std::string& id, Deadline deadline);

 private:
  // One letter of a sweep. False: what failed would fail for the next as well.
  bool handle(const DeadLetter& letter, DeadDeed deed, DeadSweep& sweep, Deadline deadline);
  Parts parts_;
};

}  // namespace sluice
