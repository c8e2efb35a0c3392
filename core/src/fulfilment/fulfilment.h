// Fulfilment: takes admissions from the queue, has the store decide them, settles them.
//
// Role:     one object for each queue slot; a thread drives it in the program, a test drives it with a
//           manual clock.
// Threads:  step() from one thread at a time; pause() from any.
// Law:      a dead row's hold is released before its message is settled (R4). While store, queue or Redis
//           are away the messages in hand are kept, their lease renewed and no retry spent; it goes on by
//           itself. Only what is wrong with a message counts as its failure; one that fails too often, or
//           kills too many processes, becomes a dead letter.
// Journal:  where a forwarder brought a message, its entry is deleted once the queue has settled it for good: when it
//           is done (also when it was not ours any more: its row decides), and when it is a dead letter of a queue
//           that outlives this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sluice/histogram.h"
#include "sluice/operations.h"

#include "forward/settled_entries.h"

namespace sluice::fulfilment {

struct FulfilmentOptions {
  std::size_t batchMax = 500;
  milliseconds payWithin{15 * 60 * 1000};
  std::uint32_t failuresMax = 5;
  std::uint32_t deliveriesMax = 10;
  milliseconds retryBase{1000};  // see backoff() in clock.h
  milliseconds retryMax{60000};
  milliseconds orderPace{0};
};

// Figures of all slots together.
struct FulfilmentCounts {
  std::atomic<std::uint64_t> stored{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<std::uint64_t> already{0};
  std::atomic<std::uint64_t> released{0};
  std::atomic<std::uint64_t> deadLettered{0};
  std::atomic<std::uint64_t> retried{0};
  Histogram storeNanoseconds{32000};
  Histogram storeBatchSizes{1};
};

enum class PauseKind : std::uint8_t {
  None,
  Away,  // a server is away; it will come back
  Alarm  // an operator must look: unknown voucher, nothing but rejections, wrong configuration
};

struct Pause {
  PauseKind kind = PauseKind::None;
  std::string why;
};

class Fulfilment {
 public:
  Fulfilment(Parts parts, FulfilmentOptions options, std::size_t slot, FulfilmentCounts& counts);

  // One round: receive (waiting at most `receiveWait`), store, release, settle. Answers how long to rest
  // before the next.
  milliseconds step(milliseconds receiveWait);

  // The last word before the end: deletes the entries that are still to be deleted. Answers how many stay.
  [[nodiscard]] std::size_t eraseSettled(Deadline deadline) { return entries_.eraseBy(deadline); }

  [[nodiscard]] Pause pause() const;
  // Messages received and not settled yet.
  [[nodiscard]] std::size_t inHand() const noexcept { return items_.size() + settlements_.size(); }

 private:
  struct Item {
    Delivery delivery;
    std::optional<PersistOutcome> outcome;
    std::optional<Settlement> settlement;  // what becomes of it, once that is certain
  };

  bool receive(milliseconds wait);
  bool paced();
  void handle();
  void buryExhausted();
  bool storeAll();
  bool store(std::span<Item* const> group);
  Result<std::vector<PersistOutcome>> persist(std::span<Item* const> group);
  bool judge(Item& item, const PersistOutcome& outcome);
  void fail(Item& item, const Error& error);
  bool releaseDead();
  bool release(std::span<Item* const> dead);
  void postpone(Item& item);
  void moveSettled();
  bool settle();
  void noteSettled(std::span<const SettleOutcome> outcomes);
  void renewLeases();
  void beginPause(PauseKind kind, const std::string& why);
  void endPause();
  [[nodiscard]] milliseconds retryDelay(std::uint32_t failures) const;

  Parts parts_;
  const FulfilmentOptions options_;
  const std::size_t slot_;
  FulfilmentCounts& counts_;
  std::vector<Item> items_;
  std::vector<Settlement> settlements_;
  std::vector<JournalId> journal_;  // the entry of each settlement
  forward::SettledEntries entries_;
  std::optional<SteadyTime> pacedUntil_;
  SteadyTime pausedUntil_{};
  SteadyTime renewedAt_{};
  std::uint32_t pausesInRow_ = 0;
  std::uint64_t rejectedInRow_ = 0;
  mutable std::mutex mutex_;
  Pause pause_;  // guarded by mutex_
};

}  // namespace sluice::fulfilment
