// OrderQueue: carries admissions from the gate to fulfilment, at least once.
//
// Role:     implemented by the queue plugins; called by the gate or the forwarder (publish), by fulfilment
//           (receive, settle) and by operators (dead letters). Where the trait readsJournal is set, the
//           queue is the journal's consumer group: the qualify script has already put the admission there,
//           and the gate publishes nothing.
// Threads:  publish, reserve, stats and the dead-letter calls from any thread. receive, settle and extend
//           take a `slot`, 0 .. consumers-1 (QueueContext): each slot is used by one thread at a time,
//           different slots at the same time.
// Lifetime: construction is inert. start -> ... -> drain -> close. close is idempotent, may be called while a
//           receive blocks, and after it every call answers Stopped. The destructor closes.
// Blocking: every call is bounded by its Deadline; receive on an empty queue returns an empty batch when it
//           passes.
// Delivery: at least once. A message comes again when it was not settled before its holder died, its lease
//           ran out or its connection was lost, so a success may be seen twice; the store's row per order id
//           makes that harmless. `deliveries` counts hand-overs (also rises when a process dies), `failures`
//           counts RetryLater settlements that were failures of the message. From
//           limits::kIsolateFromDelivery deliveries on a message comes alone in its batch. Bytes that do not
//           decode are dead-lettered inside the plugin (reason "undecodable: ...") and never delivered.
// Order:    first deliveries to one slot come in the order of publishing. A message that comes again has lost
//           its place: it may come before or after those that still wait, which keep theirs.
// Errors:   Unavailable, OutcomeUnknown (publish or settle may have happened; repeat it), Overloaded (full,
//           nothing taken), Unsupported (trait not claimed), Misconfigured, Stopped. A lost queue is
//           rebuilt inside; stats().dataLost counts it.
// Limits:   limits::kReceiveBatchMax messages in a batch, limits::kReasonBytesMax of a reason (cut),
//           limits::kPageMax in a page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/clock.h"
#include "sluice/limits.h"
#include "sluice/order.h"
#include "sluice/result.h"

namespace sluice {

// What an implementation promises beyond the contract. An unclaimed one makes its calls answer Unsupported.
struct QueueTraits {
  bool durable = false;       // what publish accepted survives the death of this process
  bool readsJournal = false;  // the journal itself is the queue
  bool reserves = false;      // places are reserved before qualification (reserve, unreserve)
  bool delayedRetry = false;  // RetryLater with a delay above 0
  bool leaseExtend = false;   // extend()
  bool multiProcess = false;  // several processes share it
  bool inspectable = false;   // dead letters are visible to other processes too
  bool retriesFirst = false;  // what is sent back without a delay comes before what waits
  bool buriesAtOnce = false;  // a dead letter leaves the queue in the step that puts it aside; where that is
                              // unclaimed, a death in between leaves the message in both places
  bool prefetches = false;    // messages are brought here ahead of receive, which may hand them out while the
                              // server is away
};

// Names one delivery to its queue; meaningless to others. After a reconnect settle may answer Stale.
struct DeliveryToken {
  std::uint64_t epoch = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  friend bool operator==(const DeliveryToken&, const DeliveryToken&) = default;
};

// What is published. `journal`: its entry, none where there is no journal; the queue keeps it with the admission
// through retries, dead letters and replay, so that who settles the message can settle the entry.
struct QueueMessage {
  Admission admission;
  JournalId journal;
  friend bool operator==(const QueueMessage&, const QueueMessage&) = default;
};

// `journal` as it was published; none where the queue reads the journal itself, and settles the entry itself.
struct Delivery {
  DeliveryToken token;
  Admission admission;
  JournalId journal;
  std::uint32_t deliveries = 1;
  std::uint32_t failures = 0;
};

enum class SettleKind : std::uint8_t {
  Done,        // decided in the store; forget it
  RetryLater,  // hand it out again after `delay`
  DeadLetter   // put it aside with `reason`
};

struct Settlement {
  DeliveryToken token;
  SettleKind kind = SettleKind::Done;
  milliseconds delay{0};
  bool countsAsFailure =
      true;            // RetryLater: false when the store was away (or on drain), so that no budget is spent
  std::string reason;  // DeadLetter: for people; no personal data
};

enum class SettleOutcome : std::uint8_t {
  Settled,
  Stale  // not ours any more (already settled, taken over, older connection); harmless
};

struct DeadLetter {
  std::string id;                      // names it in this queue's list; ids sort by time
  std::optional<Admission> admission;  // none where the bytes do not decode
  JournalId journal;                   // as it was published
  std::string bytes;                   // as they were queued, at most limits::kDeadBytesMax
  std::string reason;
  std::uint32_t deliveries = 0;
  std::uint32_t failures = 0;
  UtcTime deadAt;
};

// At rest these equal what one finds behind the plugin's back.
struct QueueStats {
  std::int64_t ready = 0;     // waiting for a first or next delivery
  std::int64_t inFlight = 0;  // delivered, not settled
  std::int64_t deadLetters = 0;
  std::int64_t deadMax = 0;       // dead letters kept (option dead.max); 0: not known
  milliseconds oldestAge{0};      // of the oldest message not settled
  std::uint64_t redelivered = 0;  // since start
  std::uint64_t deadLettered = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t dataLost = 0;  // times the queue, stream or group was found gone and rebuilt
  std::uint64_t vanished = 0;  // messages in flight that somebody deleted behind the queue's back
};

class OrderQueue {
 public:
  virtual ~OrderQueue();

  [[nodiscard]] virtual const QueueTraits& traits() const noexcept = 0;

  // Connects and declares what is needed. May be called again after Unavailable.
  [[nodiscard]] virtual Status start(Deadline deadline) = 0;

  // Takes up to `wanted` free places, answers how many (0 when full). Each is used by one published message
  // or given back. Places are this process' own: nobody is asked, so no answer is ever lost on the way.
  [[nodiscard]] virtual Result<std::size_t> reserve(std::size_t wanted) = 0;
  virtual void unreserve(std::size_t places) noexcept = 0;

  // Appends in order; all or none unless OutcomeUnknown. With the trait `reserves` the places were reserved
  // before, an error leaves them reserved, and the outcome is never unknown.
  [[nodiscard]] virtual Status publish(std::span<const QueueMessage> messages, Deadline deadline) = 0;

  // Waits until something is there or the deadline passes; returns at most `max` (1 .. kReceiveBatchMax).
  [[nodiscard]] virtual Result<std::vector<Delivery>> receive(std::size_t slot, std::size_t max,
                                                              Deadline deadline) = 0;

  // One outcome for each settlement. On Unavailable or OutcomeUnknown settle again or let the messages come
  // back.
  [[nodiscard]] virtual Result<std::vector<SettleOutcome>> settle(std::size_t slot,
                                                                  std::span<const Settlement> settlements,
                                                                  Deadline deadline) = 0;

  // Renews the lease of deliveries still being handled. Tokens that are not ours any more are skipped.
  [[nodiscard]] virtual Status extend(std::size_t slot, std::span<const DeliveryToken> tokens,
                                      Deadline deadline) = 0;

  // No delivery after this call began; hands everything delivered and not settled back for others at once.
  // Answers how many.
  [[nodiscard]] virtual Result<std::size_t> drain(Deadline deadline) = 0;
  virtual void close() noexcept = 0;

  [[nodiscard]] virtual Result<QueueStats> stats(Deadline deadline) = 0;

  // Dead letters, oldest first, after `afterId` ("" from the start).
  [[nodiscard]] virtual Result<std::vector<DeadLetter>> deadLetters(const std::string& afterId,
                                                                    std::size_t max, Deadline deadline) = 0;
  [[nodiscard]] virtual Result<std::optional<DeadLetter>> findDeadLetter(const std::string& id,
                                                                         Deadline deadline) = 0;
  // Back into the queue with both counters at 0, same admission; one atomic step. NotFound where it is gone,
  // Corrupt where its bytes do not decode.
  [[nodiscard]] virtual Status replayDeadLetter(const std::string& id, Deadline deadline) = 0;
  // Forgets it. Requires (rule R3): where it has an admission, the store has a row for that order.
  [[nodiscard]] virtual Status removeDeadLetter(const std::string& id, Deadline deadline) = 0;
};

}  // namespace sluice
