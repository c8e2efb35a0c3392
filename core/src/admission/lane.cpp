// See lane.h.
#include "admission/lane.h"

#include <algorithm>

#include "admission/park.h"

namespace sluice::admission {

void Batch::add(Slot& slot) noexcept {
  QualifyRequest& copy = requests[size] = slot.request;
  std::array<char, limits::kIdempotencyKeyBytesMax>& key = keys[size];
  std::copy(copy.idempotencyKey.begin(), copy.idempotencyKey.end(), key.begin());
  copy.idempotencyKey = std::string_view(key.data(), copy.idempotencyKey.size());
  slots[size] = &slot;
  slot.batch = this;
  slot.place = size++;
}

void Lane::append(Slot& slot) noexcept {
  slot.before = last_;
  (last_ == nullptr ? first_ : last_->after) = &slot;
  last_ = &slot;
  ++waiting_;
}

void Lane::unlink(Slot& slot) noexcept {
  (slot.before == nullptr ? first_ : slot.before->after) = slot.after;
  (slot.after == nullptr ? last_ : slot.after->before) = slot.before;
  slot.before = slot.after = nullptr;
  if (slot.stage() == Stage::Waiting) --waiting_;
}

bool Lane::enter(Slot& slot, Turns& turns) {
  const std::lock_guard lock(mutex_);
  append(slot);
  if (queued_) return false;
  // Under this lane's lock, so that a turn cannot arrive for it before queued_ says that it waits for one.
  queued_ = !turns.takeOrQueue(*this);
  if (queued_) return false;
  setStage(slot, Stage::Leading);
  --waiting_;
  return true;
}

void Lane::gather(Batch& batch, Slot& leader) {
  const SteadyTime now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  bool leaderIn = false;
  for (Slot* slot = first_; slot != nullptr && batch.size < batch.slots.size();) {
    Slot& current = *slot;
    slot = slot->after;
    const bool isLeader = &current == &leader;
    // Another leader takes itself; and one place is kept for this one.
    if (!isLeader && current.stage() == Stage::Leading) continue;
    if (!isLeader && !leaderIn && batch.size + 1 == batch.slots.size()) continue;
    if (!isLeader && current.deadline.at() <= now) continue;  // its owner is waking up and will leave
    unlink(current);
    batch.add(current);
    leaderIn = leaderIn || isLeader;
    if (!isLeader) setStage(current, Stage::Taken);
  }
}

void Lane::deliver(Batch& batch, const Slot& leader) {
  std::array<const std::atomic<std::uint32_t>*, limits::kQualifyBatchMax> sleepers;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < batch.size; ++k) {
      Slot* const slot = batch.slots[k];
      if (slot == nullptr || slot == &leader) continue;
      slot->answer = batch.answers[k];
      sleepers[count++] = &slot->word;
      setStage(*slot, Stage::Done);
    }
  }
  std::for_each(sleepers.begin(), sleepers.begin() + static_cast<std::ptrdiff_t>(count), unpark);
}

Stage Lane::leave(Slot& slot) {
  const std::lock_guard lock(mutex_);
  const Stage stage = slot.stage();
  if (stage == Stage::Waiting) unlink(slot);
  if (stage == Stage::Taken) slot.batch->slots[slot.place] = nullptr;
  return stage;
}

void Lane::decline(Slot& leader) {
  const std::lock_guard lock(mutex_);
  unlink(leader);
}

bool Lane::claimTurn() {
  const std::lock_guard lock(mutex_);
  if (waiting_ == 0 || queued_) return false;
  queued_ = true;
  return true;
}

bool Lane::promote() {
  const std::atomic<std::uint32_t>* sleeper = nullptr;
  {
    const std::lock_guard lock(mutex_);
    queued_ = false;
    Slot* slot = first_;
    while (slot != nullptr && (slot->stage() != Stage::Waiting || slot->deadline.passed())) {
      slot = slot->after;
    }
    if (slot == nullptr) return false;
    sleeper = &slot->word;
    --waiting_;
    setStage(*slot, Stage::Leading);
  }
  unpark(sleeper);
  return true;
}

}  // namespace sluice::admission
