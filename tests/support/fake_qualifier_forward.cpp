// The forwarder's lease of the fake qualifier; see fakes.h.
#include "sluice/limits.h"

#include "support/fakes.h"

namespace sluice::test {
namespace {

Status checkOwner(const std::string& owner) {
  if (!owner.empty() && owner.size() <= limits::kOwnerBytesMax) return {};
  return {ErrorCode::InvalidArgument, "no owner"};
}

}  // namespace

void FakeQualifier::useClock(const Clock& clock) {
  const std::lock_guard lock(mutex_);
  clock_ = &clock;
}

Result<Lead> FakeQualifier::lead(const std::string& owner, milliseconds lease, Deadline deadline) {
  return call("lead", deadline, [&]() -> Result<Lead> {
    if (Status sound = checkOwner(owner); !sound) return sound.error();
    if (lease.count() < 1) return {ErrorCode::InvalidArgument, "a lease lasts a millisecond or longer"};
    const SteadyTime now = clock_->steady();
    if (now >= leaderUntil_) leader_.clear();
    if (!leader_.empty() && leader_ != owner) return Lead{false, false, leader_};
    const bool taken = leader_.empty();
    leader_ = owner;
    leaderUntil_ = now + lease;
    return Lead{true, taken, owner};
  });
}

Status FakeQualifier::resign(const std::string& owner, Deadline deadline) {
  return call("resign", deadline, [&]() -> Status {
    if (Status sound = checkOwner(owner); !sound) return sound;
    if (leader_ == owner) leader_.clear();
    return {};
  });
}

}  // namespace sluice::test
