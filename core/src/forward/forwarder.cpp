// See forwarder.h: the lease, the round, reading and publishing. What makes it read again stands in rereading.cpp.
#include "forward/forwarder.h"

#include <algorithm>
#include <iterator>

#include "sluice/limits.h"

namespace sluice::forward {
namespace {

constexpr milliseconds kLeaseWithin{1000};
constexpr milliseconds kPublishWithin{2000};
// A read needs this much time even where the lease is due sooner.
constexpr milliseconds kReadWithinMin{20};
constexpr milliseconds kPauseBase{10};
constexpr milliseconds kAskAgainSoon{100};
// A queue of this process that is full has room again a moment later; a server that is away is noticed within a
// second; what an operator must mend need not be asked that often.
constexpr milliseconds kFullPauseMax{100};
constexpr milliseconds kAwayPauseMax{1000};
constexpr milliseconds kAlarmPauseMax{5000};
// A lease is renewed after a third of its length, so that two renewals may fail.
constexpr int kRenewalsInLease = 3;

milliseconds until(SteadyTime at, SteadyTime now) {
  return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(at - now));
}

milliseconds longestPause(ErrorCode code) noexcept {
  if (code == ErrorCode::Overloaded) return kFullPauseMax;
  return errorTraits(code).mayRetry ? kAwayPauseMax : kAlarmPauseMax;
}

}  // namespace

Forwarder::Forwarder(Parts parts, ForwarderOptions options, std::function<bool()> mayLead)
    : parts_(parts), options_(std::move(options)), mayLead_(std::move(mayLead)) {
  stats_.runs = true;
}

milliseconds Forwarder::step(milliseconds wait) {
  const SteadyTime now = parts_.clock.steady();
  if (!lead(now)) return until(askAt_, now);
  if (now >= lookAt_) look(now);
  if (now < pausedUntil_) return until(std::min(pausedUntil_, askAt_), now);
  if (batch_.empty() &&
      !read(std::clamp(until(askAt_, now), kReadWithinMin, std::max(wait, kReadWithinMin)), now))
    return milliseconds(0);
  publish(now);
  return milliseconds(0);
}

// --- the lease ---

// Whether this process leads, asked as often as the lease needs it.
bool Forwarder::lead(SteadyTime now) {
  if (now < askAt_) return now < leadsUntil_;
  if (now >= leadsUntil_ && !mayLead_()) {
    askAt_ = now + kAskAgainSoon;
    const std::lock_guard lock(mutex_);
    stats_.leads = false;
    return false;
  }
  const auto answer = parts_.qualifier.lead(options_.owner, options_.lease, Deadline::in(kLeaseWithin));
  if (!answer) {
    // What is certain of the lease stays so: nobody else has it before its end.
    askAt_ = now + backoff(askedInVain_++, kPauseBase, options_.lease / kRenewalsInLease, parts_.random);
    parts_.log.repeated(LogLevel::Warning, "forwarder", "lease not renewed", answer.error().text);
    if (now >= leadsUntil_) lose({});
    return now < leadsUntil_;
  }
  askedInVain_ = 0;
  askAt_ = now + options_.lease / kRenewalsInLease;
  if (!answer.value().ours) {
    lose(answer.value().owner);
    return false;
  }
  leadsUntil_ = now + options_.lease;
  // Taken although it was ours a moment ago: another one led meanwhile, or Redis lost its data and perhaps the journal,
  // whose ids may begin anew. A lease that only ran out, in a call that took long, is no reason.
  if (answer.value().taken || !cursorIsOurs_) startOver("this process leads");
  cursorIsOurs_ = true;
  const std::lock_guard lock(mutex_);
  stats_.leads = true;
  stats_.leader = options_.owner;
  return true;
}

void Forwarder::lose(const std::string& leader) {
  leadsUntil_ = {};
  cursorIsOurs_ = false;
  batch_.clear();
  const std::lock_guard lock(mutex_);
  if (stats_.leads) parts_.log.warning("forwarder", "this process leads no more");
  stats_.leads = false;
  stats_.leader = leader;
  stats_.oldestAge = {};
  stats_.pausedWhy.clear();
}

Status Forwarder::resign(Deadline deadline) {
  if (!cursorIsOurs_) return {};
  lose({});
  return parts_.qualifier.resign(options_.owner, deadline);
}

// --- reading and publishing ---

// False: there is nothing to publish now.
bool Forwarder::read(milliseconds wait, SteadyTime now) {
  if (lettersDue_) {
    if (Status done = readLetters(); !done) {
      pause(done.error().during("read the dead letters"), kAwayPauseMax, now);
      return false;
    }
  }
  const auto page = parts_.qualifier.awaitJournal(cursor_, limits::kReceiveBatchMax, Deadline::in(wait));
  if (!page) {
    pause(page.error(), longestPause(page.error().code), now);
    return false;
  }
  bool garbage = false;
  for (const JournalEntry& entry : page.value()) {
    cursor_ = entry.id;
    garbage = garbage || !entry.admission;
    if (!entry.admission || letters_.contains(entry.admission.value().order)) continue;
    batch_.push_back({entry.admission.value(), entry.id});
  }
  // Where it fails, a later look finds them at the head of the journal.
  if (garbage) (void)putAside(page.value());
  if (page.value().empty()) goOn();
  return !batch_.empty();
}

Status Forwarder::putAside(std::span<const JournalEntry> entries) {
  const auto moved = parts_.qualifier.setAside(entries, Deadline::in(kLeaseWithin));
  if (!moved) {
    parts_.log.repeated(LogLevel::Error, "forwarder", "undecodable entries stay", moved.error().text);
    return moved.error();
  }
  const auto garbage = static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](const JournalEntry& e) { return !e.admission; }));
  parts_.log.repeated(LogLevel::Error, "forwarder", "undecodable entries",
                      std::to_string(garbage) + " entries of the journal do not decode; " +
                          std::to_string(moved.value()) + " were put aside beside it");
  const std::lock_guard lock(mutex_);
  stats_.setAside += moved.value();
  return {};
}

// How many of the batch the queue takes now.
Result<std::size_t> Forwarder::places() {
  if (!parts_.queue.traits().reserves) return batch_.size();
  auto granted = parts_.queue.reserve(batch_.size());
  if (granted && granted.value() == 0) return Error{ErrorCode::Overloaded, "the queue is full"};
  return granted;
}

void Forwarder::publish(SteadyTime now) {
  const auto count = places();
  if (!count) return pause(count.error().during("queue"), longestPause(count.error().code), now);
  const std::span<const QueueMessage> messages(batch_.data(), count.value());
  const Status published = parts_.queue.publish(messages, Deadline::in(kPublishWithin));
  if (!published) {
    // The same again in any case: what the queue has already comes twice, which is harmless.
    if (parts_.queue.traits().reserves) parts_.queue.unreserve(count.value());
    return pause(published.error().during("queue"), longestPause(published.error().code), now);
  }
  batch_.erase(batch_.begin(), std::next(batch_.begin(), static_cast<std::ptrdiff_t>(count.value())));
  goOn();
  const std::lock_guard lock(mutex_);
  stats_.forwarded += count.value();
}

void Forwarder::pause(const Error& error, milliseconds most, SteadyTime now) {
  pausedUntil_ = now + backoff(pausesInRow_++, kPauseBase, most, parts_.random);
  // A full queue is what its cap is for.
  if (error.code != ErrorCode::Overloaded)
    parts_.log.repeated(LogLevel::Warning, "forwarder", "paused", error.text);
  const std::lock_guard lock(mutex_);
  stats_.pausedWhy = error.text;
}

void Forwarder::goOn() {
  if (pausesInRow_ == 0) return;
  pausesInRow_ = 0;
  const std::lock_guard lock(mutex_);
  stats_.pausedWhy.clear();
}

ForwarderStats Forwarder::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace sluice::forward
