// Qualifier: decides at once and atomically who gets one, and keeps the holds and the journal.
//
// Role:     called by the gate (decide), by fulfilment and lifecycle (release), by operators (load, sync),
//           by the audit and the forwarder. The only implementation is LuaQualifier: scripts in Redis.
// Threads:  every call from any thread. Lifetime: construction is inert; start() connects; stop() is
//           idempotent and makes blocked calls answer Stopped (OutcomeUnknown where a change was asked for
//           already). Blocking: every call is bounded by its Deadline. Delivery: when decide() answers
//           Admitted, hold and journal entry exist, as durable as probe() says. Asking again with the same
//           order id gives the first answer, also when its hold was released meanwhile, so after
//           OutcomeUnknown the same question may be repeated.
// Errors:   Unavailable (nothing happened), OutcomeUnknown (it may have), Misconfigured (an operator must
//           act: version, policy, password), Corrupt (a reply or key of a wrong shape), Stopped. A decision
//           against a request is a verdict, not an error.
// Limits:   limits::kQualifyBatchMax requests in a decide; limits::kPageMax elements in any page.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/clock.h"
#include "sluice/ids.h"
#include "sluice/order.h"
#include "sluice/result.h"
#include "sluice/verdict.h"
#include "sluice/voucher.h"

namespace sluice {

// One request as the gate asks it. `order` is the id it gets if admitted. The key is empty or 16 to 64 of
// [A-Za-z0-9_-].
struct QualifyRequest {
  OrderId order;
  UserId user;
  std::int32_t quantity = 1;
  std::string_view idempotencyKey;
};

// `order`: with Admitted the admitted id (the first one where the question was repeated), with AlreadyOrdered
// the user's newest live order, else none. `fresh` is true only where this very call took stock.
struct Decision {
  Verdict verdict = Verdict::Unavailable;
  OrderId order;
  bool fresh = false;
};

// A reservation in Redis.
struct Hold {
  UserId user;
  OrderId order;
  std::int32_t quantity = 1;
  friend bool operator==(const Hold&, const Hold&) = default;
};

// What Redis knows of a voucher, read in one step. Numbers are as found: `stock` and `held` may break
// conservation.
struct VoucherSnapshot {
  bool loaded = false;
  std::int64_t version = 0;
  std::int64_t allocated = 0;
  std::int64_t stock = 0;
  std::int64_t held = 0;
  VoucherState state = VoucherState::Closed;
  std::int64_t holders = 0;  // users that have at least one hold
  [[nodiscard]] bool conserved() const noexcept {
    return stock + held == allocated && stock >= 0 && held >= 0;
  }
};

enum class ReleaseOutcome : std::uint8_t {
  Released,  // the hold was there; its pieces are stock again
  Absent,    // no such hold: released before, or lost with Redis
  NotLoaded  // the voucher is not in Redis
};

enum class LoadOutcome : std::uint8_t {
  Loaded,
  KeysExist,  // a voucher is loaded only where nothing of it exists
  NotDrained  // the journal still has admissions of it; they must reach the store first
};

enum class SyncOutcome : std::uint8_t { Applied, NotNewer, NotLoaded, StockTooLow };

// What a load brings. Each source gives the next page and an empty one at the end; they are asked only after
// the checks.
struct VoucherLoad {
  Voucher voucher;
  std::function<Result<std::vector<Order>>()> nextLiveOrders;
  std::function<Result<std::vector<UserId>>()> nextEligible;
};

struct JournalEntry {
  JournalId id;
  Result<Admission> admission;  // Corrupt where the entry does not decode
};

// Who moves the journal into a queue that does not read it: the forwarder, one at a time among all processes.
struct Lead {
  bool ours = false;  // the lease is the asker's
  bool taken =
      false;  // by this very call, and the one who had it last is another, or the server has forgotten him
  std::string owner;  // who has it
};

// L0 memory only, L1 append-only file synced every second, L2 synced before the answer.
enum class Durability : std::uint8_t { L0 = 0, L1 = 1, L2 = 2 };
[[nodiscard]] std::string_view durabilityName(Durability level) noexcept;  // "L0", ...

struct QualifierHealth {
  std::string identity;  // changes when the server restarted or another one took over: data may be missing
  bool trusted = false;  // trust(identity) was called for this identity
  Durability durability = Durability::L0;  // the lower one where it cannot be seen
  milliseconds clockSkew{0};               // Redis' clock minus ours
  std::int64_t journalDepth = 0;           // entries
  std::int64_t asideDepth = 0;             // entries of the partition's dead letters, see setAside()
  std::int64_t usedMemoryBytes = 0;
  std::vector<std::string> warnings;  // for people: settings that weaken what was promised
};

// Figures since start, for metrics. Durations in nanoseconds.
struct QualifierStats {
  std::uint64_t batches = 0;
  std::uint64_t requests = 0;
  std::uint64_t scriptNanoseconds = 0;  // summed over batches, from sending to full reply
  std::uint64_t reconnects = 0;
  std::uint64_t errors = 0;
};

class Qualifier {
 public:
  virtual ~Qualifier();

  // Connects, checks the server (version, policy), loads and tries every script. May be called again after
  // Unavailable.
  [[nodiscard]] virtual Status start(Deadline deadline) = 0;
  virtual void stop() noexcept = 0;

  // Asks the server how it is; also notices a changed identity. Called every second by the engine's health
  // step.
  [[nodiscard]] virtual Result<QualifierHealth> probe(Deadline deadline) = 0;
  // From now on a server of this identity may admit. Until then decide() answers Unavailable, all other calls
  // work: what a restarted server may have lost is repaired first (release and restore), then it is trusted.
  virtual void trust(const std::string& identity) = 0;

  // Whether decide() appends what it admits to the journal.
  [[nodiscard]] virtual bool keepsJournal() const noexcept = 0;

  // Decides requests of one voucher in order, each seeing the earlier ones. `now` is compared with the
  // voucher's window. Requires: 1 .. kQualifyBatchMax requests, decisions.size() == requests.size(). On error
  // no decision is set.
  [[nodiscard]] virtual Status decide(VoucherId voucher, std::span<const QualifyRequest> requests,
                                      UtcTime now, std::span<Decision> decisions, Deadline deadline) = 0;

  // Gives back the holds of orders, each at most once. Works when Redis' memory is full. One outcome for each
  // order. Requires (rule R2): the store has a dead row for each.
  [[nodiscard]] virtual Result<std::vector<ReleaseOutcome>> release(std::span<const Admission> orders,
                                                                    Deadline deadline) = 0;

  // Undoes admissions of decide() that reached nobody: gives their holds back and forgets their idempotency
  // keys, so that the same question is a new one. Only without a journal, where a publish certainly did not
  // happen (the one exception of rule R2). Requires: at most kQualifyBatchMax requests. May be repeated.
  [[nodiscard]] virtual Status takeBack(VoucherId voucher, std::span<const QualifyRequest> requests,
                                        Deadline deadline) = 0;

  // Re-creates holds of live rows that Redis may have lost. Existing holds and vouchers not loaded are left
  // alone. Answers how many were missing.
  [[nodiscard]] virtual Result<std::size_t> restore(std::span<const Order> liveOrders, Deadline deadline) = 0;

  [[nodiscard]] virtual Result<LoadOutcome> load(const VoucherLoad& load, Deadline deadline) = 0;
  // Applies newer settings: stock += new allocated - old allocated. StockTooLow where that would take stock
  // below 0; nothing is changed then.
  [[nodiscard]] virtual Result<SyncOutcome> sync(const Voucher& voucher, Deadline deadline) = 0;

  [[nodiscard]] virtual Result<VoucherSnapshot> snapshot(VoucherId voucher, Deadline deadline) = 0;
  [[nodiscard]] virtual Result<std::vector<Hold>> holdsOf(VoucherId voucher, UserId user,
                                                          Deadline deadline) = 0;
  // Pages through all holds of a voucher; start with cursor "0", ends when the cursor is "0" again. A hold
  // may come twice.
  [[nodiscard]] virtual Result<std::vector<Hold>> scanHolds(VoucherId voucher, std::string& cursor,
                                                            Deadline deadline) = 0;
  // Adds to the users that may order a voucher with eligibleOnly. The voucher must be loaded, else NotFound.
  [[nodiscard]] virtual Status addEligible(VoucherId voucher, std::span<const UserId> users,
                                           Deadline deadline) = 0;

  // Entries after `after` (none: from the start), oldest first, at most `max`.
  [[nodiscard]] virtual Result<std::vector<JournalEntry>> readJournal(JournalId after, std::size_t max,
                                                                      Deadline deadline) = 0;
  // The same, but waits until something is there: an empty page once the deadline has passed (at most a quarter
  // of a second late). A connection of its own; who asks beside another waits for him first.
  [[nodiscard]] virtual Result<std::vector<JournalEntry>> awaitJournal(JournalId after, std::size_t max,
                                                                       Deadline deadline) = 0;
  // Moves entries that do not decode (of `entries`, those with an error) to the dead letters of the partition: a
  // stream beside the journal, in the form of queue_stream's. Their bytes are kept up to limits::kDeadBytesMax.
  // Each is in exactly one of the two. Works when the server's memory is full. Answers how many were moved;
  // beyond limits::kAsideMax they stay where they are.
  [[nodiscard]] virtual Result<std::size_t> setAside(std::span<const JournalEntry> entries,
                                                     Deadline deadline) = 0;
  // Deletes entries that another queue has taken over for good. Answers how many existed.
  [[nodiscard]] virtual Result<std::size_t> settleJournal(std::span<const JournalId> ids,
                                                          Deadline deadline) = 0;

  // Takes the lease of the forwarder where nobody has it, renews it where it is the owner's, and leaves that of
  // another alone. It ends where it was not renewed for `lease` (1 ms or more), by the server's clock, and
  // with the data of a server that loses them. Works when the server's memory is full. `owner`: 1 to
  // limits::kOwnerBytesMax bytes that no other process uses. After OutcomeUnknown ask again.
  [[nodiscard]] virtual Result<Lead> lead(const std::string& owner, milliseconds lease,
                                          Deadline deadline) = 0;
  // Gives the lease up where it is the owner's, so that the next one need not wait for its end. May be repeated.
  [[nodiscard]] virtual Status resign(const std::string& owner, Deadline deadline) = 0;

  [[nodiscard]] virtual QualifierStats stats() const noexcept = 0;
};

}  // namespace sluice
