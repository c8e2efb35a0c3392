// See lane_table.h.
#include "admission/lane_table.h"

#include <utility>

namespace sluice::admission {

LaneTable::Use::~Use() {
  if (stranger_ != nullptr) table_->giveBack(*stranger_);
}

LaneTable::Use LaneTable::use(VoucherId voucher) {
  const auto findKnown = [voucher](const Lanes& lanes) -> Lane* {
    const auto found = lanes.find(voucher);
    return found == lanes.end() ? nullptr : found->second.get();
  };
  if (Lane* const known = known_.read(findKnown)) return Use(*known);
  const std::lock_guard lock(mutex_);
  // Once more: it may have become known, and its lane moved, before the lock was ours.
  if (Lane* const known = known_.read(findKnown)) return Use(*known);
  auto entry = strangers_.find(voucher);
  if (entry == strangers_.end()) {
    if (strangers_.size() >= kStrangersMax) return {};
    entry = strangers_.emplace(voucher, Stranger{std::make_shared<Lane>(voucher), 0}).first;
  }
  ++entry->second.users;
  return {*this, entry->second.lane};
}

void LaneTable::giveBack(const Lane& stranger) noexcept {
  const std::lock_guard lock(mutex_);
  const auto entry = strangers_.find(stranger.voucher());
  if (entry == strangers_.end()) return;  // known by now
  // A lane that has admitted is a real voucher's; its count waits for the catalog to know it.
  if (--entry->second.users == 0 && stranger.admitted.load() == 0) strangers_.erase(entry);
}

void LaneTable::know(std::span<const VoucherId> vouchers) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Lanes> next;
  for (const VoucherId voucher : vouchers) {
    if (known_.read([voucher](const Lanes& lanes) { return lanes.contains(voucher); })) continue;
    if (next == nullptr)
      next = std::make_shared<Lanes>(known_.read([](const Lanes& lanes) { return lanes; }));
    const auto stranger = strangers_.find(voucher);
    next->emplace(voucher,
                  stranger == strangers_.end() ? std::make_shared<Lane>(voucher) : stranger->second.lane);
  }
  if (next == nullptr) return;
  known_.publish(next);
  for (const VoucherId voucher : vouchers) {
    strangers_.erase(voucher);
  }
}

std::vector<AdmissionCount> LaneTable::admitted() const {
  std::vector<AdmissionCount> counts;
  const auto add = [&counts](const Lane& lane) {
    const std::int64_t admitted = lane.admitted.load();
    if (admitted > 0) counts.push_back({lane.voucher(), admitted});
  };
  const std::lock_guard lock(mutex_);
  known_.read([&add](const Lanes& lanes) {
    for (const auto& [voucher, lane] : lanes) {
      add(*lane);
    }
  });
  for (const auto& [voucher, stranger] : strangers_) {
    add(*stranger.lane);
  }
  return counts;
}

}  // namespace sluice::admission
