// A lane: the requests for one voucher that wait to be asked together.
//
// There is no thread and no timer behind a lane. A request that finds a turn free leads at once: it takes
// itself and whoever waits, at most 64, asks the qualifier and gives the others their answers. Requests that
// find no turn free wait; whoever ends a turn makes one of them the next leader. So a lone request never
// waits, and batches grow by themselves as soon as asking is the bottleneck.
//
// A request lives on its caller's stack (Slot). It may leave at its deadline at any moment: waiting, nothing
// happened; taken, its outcome is unknown, and the leader, who copied everything it needs, finds its place
// empty.
//
// Threads:  any. The lock of a lane is held for list operations only, never while asking.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "sluice/engine.h"
#include "sluice/limits.h"

#include "admission/turns.h"

namespace sluice::admission {

enum class Stage : std::uint32_t {
  Waiting,
  Taken,    // in a leader's batch
  Leading,  // has a turn; still in its place among the waiting until it gathers
  Done      // the answer is there
};

struct Batch;

struct Slot {
  Slot(const QualifyRequest& asked, Deadline until) noexcept : request(asked), deadline(until) {}
  [[nodiscard]] Stage stage() const noexcept {
    return static_cast<Stage>(word.load(std::memory_order_acquire));
  }

  const QualifyRequest request;
  const Deadline deadline;
  std::atomic<std::uint32_t> word{
      static_cast<std::uint32_t>(Stage::Waiting)};  // a Stage; written under the lane's lock
  OrderAnswer answer;                               // written before Done

  // The lane's, under its lock.
  Slot* before = nullptr;
  Slot* after = nullptr;
  Batch* batch = nullptr;
  std::size_t place = 0;
};

// What one leader asks. Requests and keys are copies: their owners may leave.
struct Batch {
  std::size_t size = 0;
  std::array<QualifyRequest, limits::kQualifyBatchMax> requests;
  std::array<OrderAnswer, limits::kQualifyBatchMax> answers;
  std::array<Slot*, limits::kQualifyBatchMax> slots;  // under the lane's lock; null where the owner left
  std::array<std::array<char, limits::kIdempotencyKeyBytesMax>, limits::kQualifyBatchMax> keys;

  void add(Slot& slot) noexcept;
};

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  explicit Lane(VoucherId voucher) noexcept : voucher_(voucher) {}
  [[nodiscard]] VoucherId voucher() const noexcept { return voucher_; }

  // Lines up. True: the caller has a turn and leads.
  [[nodiscard]] bool enter(Slot& slot, Turns& turns);
  // Fills the leader's batch in order of arrival: the leader and those that wait, without those whose
  // deadline has passed.
  void gather(Batch& batch, Slot& leader);
  // Hands out the answers and wakes. Afterwards the batch may end.
  void deliver(Batch& batch, const Slot& leader);
  // The slot's deadline has passed: takes it out where that is still possible. Answers the stage it had.
  [[nodiscard]] Stage leave(Slot& slot);
  // A leader that will not lead goes.
  void decline(Slot& leader);
  // True: some wait and nobody has asked for a turn on their behalf; now the caller does.
  [[nodiscard]] bool claimTurn();
  // The lane has got a turn: makes the first that waits its leader and wakes it. False: nobody waits any
  // more.
  [[nodiscard]] bool promote();

  // Fresh admissions since the process started.
  std::atomic<std::int64_t> admitted{0};
  // The next of the lanes that wait for a turn; under the lock of Turns.
  std::shared_ptr<Lane> nextInLine;

 private:
  void append(Slot& slot) noexcept;
  void unlink(Slot& slot) noexcept;
  static void setStage(Slot& slot, Stage stage) noexcept {
    slot.word.store(static_cast<std::uint32_t>(stage), std::memory_order_release);
  }

  const VoucherId voucher_;
  std::mutex mutex_;
  Slot* first_ = nullptr;  // guarded by mutex_, as is all below
  Slot* last_ = nullptr;
  std::size_t waiting_ = 0;  // slots in stage Waiting
  bool queued_ = false;      // stands among those that wait for a turn
};

}  // namespace sluice::admission
