// See turns.h.
#include "admission/turns.h"

#include "admission/lane.h"

namespace sluice::admission {

bool Turns::takeFree() noexcept {
  std::size_t free = free_.load();
  while (free > 0) {
    if (free_.compare_exchange_weak(free, free - 1)) return true;
  }
  return false;
}

void Turns::append(Lane& lane) noexcept {
  std::shared_ptr<Lane>& end = first_ == nullptr ? first_ : last_->nextInLine;
  end = lane.shared_from_this();
  last_ = &lane;
}

bool Turns::takeOrQueue(Lane& lane) noexcept {
  if (takeFree()) return true;
  const std::lock_guard lock(mutex_);
  if (takeFree()) return true;
  append(lane);
  return false;
}

std::shared_ptr<Lane> Turns::passOn(Lane* again) noexcept {
  const std::lock_guard lock(mutex_);
  if (again != nullptr) append(*again);
  if (first_ == nullptr) {
    ++free_;
    return nullptr;
  }
  std::shared_ptr<Lane> next = std::move(first_);
  first_ = std::move(next->nextInLine);
  return next;
}

}  // namespace sluice::admission
