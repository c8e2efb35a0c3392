// See process_lease.h.
#include "lifecycle/process_lease.h"

#include <algorithm>
#include <utility>

namespace sluice::lifecycle {

ProcessLeaseKeeper::ProcessLeaseKeeper(OrderStore& store, const Clock& clock, Log& log,
                                       admission::OrderIdGenerator& ids, std::string name,
                                       milliseconds duration)
    : store_(store), clock_(clock), log_(log), ids_(ids), name_(std::move(name)), duration_(duration) {}

// Never before the last id: where the wall clock was set back, the lease must still cover what was issued.
UtcTime ProcessLeaseKeeper::now() const {
  return lease_ ? std::max(clock_.now(), ids_.floor()) : clock_.now();
}

Status ProcessLeaseKeeper::step(const std::vector<AdmissionCount>& admitted, Deadline deadline) {
  // By the steady clock as well: the store's idea of time goes on while a wall clock set back stands still.
  if (lease_ && clock_.steady() >= goodUntil_) ids_.revoke();
  return lease_ ? renew(admitted, deadline) : take(deadline);
}

Status ProcessLeaseKeeper::take(Deadline deadline) {
  const SteadyTime asked = clock_.steady();
  auto lease = store_.leaseProcess(name_, duration_, now(), deadline);
  if (!lease) return lease.error().during("lease a process number");
  lease_ = std::move(lease).take();
  base_ = reported_;
  goodUntil_ = asked + duration_;
  ids_.grant(*lease_);
  log_.info("lease", "process number " + std::to_string(lease_->number));
  return {};
}

Status ProcessLeaseKeeper::renew(const std::vector<AdmissionCount>& admitted, Deadline deadline) {
  const SteadyTime asked = clock_.steady();
  auto renewed = store_.renewProcess(*lease_, duration_, now(), sinceLease(admitted), deadline);
  const bool recorded = renewed.ok() || errorTraits(renewed.error().code).mayHaveHappened;
  for (const AdmissionCount& count : admitted) {
    // Unknown counts as recorded: too few is harmless, the same admission under two leases would be one too
    // many.
    if (recorded) reported_[count.voucher] = count.admitted;
  }
  if (!renewed) {
    if (renewed.error().code == ErrorCode::Conflict) lose();
    return renewed.error().during("renew the lease of the process number");
  }
  lease_ = std::move(renewed).take();
  goodUntil_ = asked + duration_;
  // After a revocation by the steady clock as well; ids go on behind the last one.
  ids_.extend(lease_->expiresAt);
  return {};
}

void ProcessLeaseKeeper::lose() noexcept {
  ids_.revoke();
  log_.warning("lease", "the process number was taken over by another holder; another one is taken");
  lease_.reset();
}

std::vector<AdmissionCount> ProcessLeaseKeeper::sinceLease(
    const std::vector<AdmissionCount>& admitted) const {
  std::vector<AdmissionCount> counts;
  for (const AdmissionCount& count : admitted) {
    const auto base = base_.find(count.voucher);
    const std::int64_t since = count.admitted - (base == base_.end() ? 0 : base->second);
    if (since > 0) counts.push_back({count.voucher, since});
  }
  return counts;
}

Status ProcessLeaseKeeper::end(const std::vector<AdmissionCount>& admitted, Deadline deadline) {
  if (!lease_) return {};
  ids_.revoke();
  Status ended = store_.endProcess(*lease_, now(), sinceLease(admitted), deadline);
  lease_.reset();
  return ended;
}

}  // namespace sluice::lifecycle
