// The journal of the fake qualifier as its readers use it, and the forwarder's lease; see fakes.h.
#include <thread>

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

void FakeQualifier::setPatient(bool patient) {
  const std::lock_guard lock(mutex_);
  patient_ = patient;
}

bool FakeQualifier::keepsJournal() const noexcept {
  const std::lock_guard lock(mutex_);
  return journalOn_;
}

void FakeQualifier::appendUndecodable(const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  undecodable_[++lastEntry_] = bytes;
}

std::vector<std::string> FakeQualifier::aside() const {
  const std::lock_guard lock(mutex_);
  return aside_;
}

std::vector<JournalEntry> FakeQualifier::entriesAfter(JournalId after, std::size_t max) const {
  std::vector<JournalEntry> entries;
  auto good = journal_.upper_bound(after.ms);
  auto bad = undecodable_.upper_bound(after.ms);
  while (entries.size() < max && (good != journal_.end() || bad != undecodable_.end())) {
    if (bad == undecodable_.end() || (good != journal_.end() && good->first < bad->first)) {
      entries.push_back({{good->first, 0}, good->second});
      ++good;
    } else {
      entries.push_back({{bad->first, 0}, Error{ErrorCode::Corrupt, "entry does not decode"}});
      ++bad;
    }
  }
  return entries;
}

Result<std::vector<JournalEntry>> FakeQualifier::readJournal(JournalId after, std::size_t max,
                                                             Deadline deadline) {
  return call("readJournal", deadline,
              [&]() -> Result<std::vector<JournalEntry>> { return entriesAfter(after, max); });
}

// In slices: the journal changes without a notice.
Result<std::vector<JournalEntry>> FakeQualifier::awaitJournal(JournalId after, std::size_t max,
                                                              Deadline deadline) {
  auto page = call("awaitJournal", deadline,
                   [&]() -> Result<std::vector<JournalEntry>> { return entriesAfter(after, max); });
  while (page && page.value().empty() && !deadline.passed()) {
    {
      const std::lock_guard lock(mutex_);
      if (!patient_) return page;
      if (stopped_) return Error{ErrorCode::Stopped, "qualifier is stopped"};
      page = entriesAfter(after, max);
    }
    if (page.value().empty()) std::this_thread::sleep_for(milliseconds(1));
  }
  return page;
}

Result<std::size_t> FakeQualifier::setAside(std::span<const JournalEntry> entries, Deadline deadline) {
  return call("setAside", deadline, [&]() -> Result<std::size_t> {
    std::size_t moved = 0;
    for (const JournalEntry& entry : entries) {
      const auto found = undecodable_.find(entry.id.ms);
      if (entry.admission || found == undecodable_.end() || aside_.size() >= limits::kAsideMax) continue;
      aside_.push_back(found->second.substr(0, limits::kDeadBytesMax));
      undecodable_.erase(found);
      ++moved;
    }
    return moved;
  });
}

Result<std::size_t> FakeQualifier::settleJournal(std::span<const JournalId> ids, Deadline deadline) {
  return call("settleJournal", deadline, [&]() -> Result<std::size_t> {
    std::size_t existed = 0;
    for (const JournalId id : ids) {
      if (id.sequence == 0) existed += journal_.erase(id.ms) + undecodable_.erase(id.ms);
    }
    return existed;
  });
}

Result<Lead> FakeQualifier::lead(const std::string& owner, milliseconds lease, Deadline deadline) {
  return call("lead", deadline, [&]() -> Result<Lead> {
    if (Status sound = checkOwner(owner); !sound) return sound.error();
    if (lease.count() < 1) return {ErrorCode::InvalidArgument, "a lease lasts a millisecond or longer"};
    const SteadyTime now = clock_->steady();
    if (now >= leaderUntil_) leader_.clear();
    if (!leader_.empty() && leader_ != owner) return Lead{false, false, leader_};
    const bool taken = lastLeader_ != owner;
    leader_ = lastLeader_ = owner;
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
