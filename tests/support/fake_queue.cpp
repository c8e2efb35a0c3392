// The queue in memory: counters, isolation, leases that a test ends by hand, dead letters; see fakes.h.
#include <algorithm>

#include "support/fakes.h"

namespace sluice::test {

template <typename Work>
auto FakeQueue::call(std::string_view name, Work work) -> decltype(work()) {
  return faults.run(name, [&]() -> decltype(work()) {
    const std::lock_guard lock(mutex_);
    if (closed_) return Error{ErrorCode::Stopped, "queue is closed"};
    if (!started_) return Error{ErrorCode::Unavailable, "queue is not started"};
    return work();
  });
}

Status FakeQueue::start(Deadline) {
  return faults.run("start", [&]() -> Status {
    const std::lock_guard lock(mutex_);
    if (closed_) return {ErrorCode::Stopped, "queue is closed"};
    started_ = true;
    return {};
  });
}

Result<std::size_t> FakeQueue::reserve(std::size_t wanted) {
  return call("reserve", [&]() -> Result<std::size_t> {
    if (!options_.traits.reserves) return {ErrorCode::Unsupported, "this queue does not reserve"};
    const std::size_t used = std::min(options_.capacity, ready_.size() + inFlight_.size() + reserved_);
    const std::size_t granted = std::min(wanted, options_.capacity - used);
    reserved_ += granted;
    return granted;
  });
}

void FakeQueue::unreserve(std::size_t places) noexcept {
  faults.note("unreserve");
  const std::lock_guard lock(mutex_);
  reserved_ -= std::min(reserved_, places);
}

Status FakeQueue::publish(std::span<const QueueMessage> messages, Deadline) {
  return call("publish", [&]() -> Status {
    if (options_.traits.readsJournal) return {ErrorCode::Unsupported, "the journal is the queue"};
    if (options_.traits.reserves) {
      if (reserved_ < messages.size()) return {ErrorCode::Internal, "published without a reserved place"};
      reserved_ -= messages.size();
    } else if (ready_.size() + inFlight_.size() + messages.size() > options_.capacity) {
      return {ErrorCode::Overloaded, "queue is full"};
    }
    for (const QueueMessage& message : messages) {
      ready_.push_back({message, 0, 0, 0, clock_.steady(), clock_.now()});
    }
    changed_.notify_all();
    return {};
  });
}

void FakeQueue::pullJournal() {
  if (options_.journal == nullptr) return;
  if (const std::uint64_t epoch = options_.journal->journalEpoch(); epoch != journalEpoch_) {
    ready_.clear();
    inFlight_.clear();
    dead_.clear();
    journalCursor_ = 0;
    journalEpoch_ = epoch;
    ++epoch_;
    ++stats_.dataLost;
  }
  for (const auto& [entry, admission] : options_.journal->journalAfter(journalCursor_)) {
    journalCursor_ = entry;
    ready_.push_back({{admission, {}}, entry, 0, 0, clock_.steady(), clock_.now()});
  }
}

std::vector<Delivery> FakeQueue::takeDue(std::size_t slot, std::size_t max) {
  std::vector<Delivery> batch;
  for (auto message = ready_.begin(); message != ready_.end() && batch.size() < max;) {
    const bool alone = message->deliveries + 1 >= limits::kIsolateFromDelivery;
    if (message->due > clock_.steady() || (alone && !batch.empty())) {
      ++message;
      continue;
    }
    if (++message->deliveries > 1) ++stats_.redelivered;
    const DeliveryToken token{epoch_, ++lastToken_, 0};
    batch.push_back({token, message->content.admission, message->content.journal, message->deliveries,
                     message->failures});
    inFlight_[{token.epoch, token.a}] = {slot, *message};
    message = ready_.erase(message);
    if (alone) break;
  }
  return batch;
}

Result<std::vector<Delivery>> FakeQueue::receive(std::size_t slot, std::size_t max, Deadline deadline) {
  return faults.run("receive", [&]() -> Result<std::vector<Delivery>> {
    if (max == 0 || max > limits::kReceiveBatchMax)
      return {ErrorCode::InvalidArgument, "max must be 1 to 500"};
    std::unique_lock lock(mutex_);
    for (;;) {
      if (closed_) return {ErrorCode::Stopped, "queue is closed"};
      if (!started_) return {ErrorCode::Unavailable, "queue is not started"};
      if (draining_) return std::vector<Delivery>();
      pullJournal();
      std::vector<Delivery> batch = takeDue(slot, max);
      if (!batch.empty() || !patient_ || deadline.passed()) return batch;
      // In slices: the journal and a manual clock change without a notice.
      changed_.wait_until(lock, std::min(deadline.at(), Deadline::in(milliseconds(2)).at()));
    }
  });
}

SettleOutcome FakeQueue::settleOne(std::size_t slot, const Settlement& settlement) {
  const auto found = inFlight_.find({settlement.token.epoch, settlement.token.a});
  if (found == inFlight_.end() || found->second.first != slot) return SettleOutcome::Stale;
  Message message = found->second.second;
  inFlight_.erase(found);
  if (settlement.kind == SettleKind::RetryLater) {
    if (settlement.countsAsFailure) ++message.failures;
    message.due = clock_.steady() + settlement.delay;
    ready_.push_back(message);
    return SettleOutcome::Settled;
  }
  if (settlement.kind == SettleKind::DeadLetter) bury(message, settlement.reason);
  if (options_.journal != nullptr) options_.journal->eraseJournal(message.journalEntry);
  return SettleOutcome::Settled;
}

void FakeQueue::bury(const Message& message, const std::string& reason) {
  std::string id = std::to_string(++lastDead_);
  id.insert(0, 10 - std::min<std::size_t>(10, id.size()), '0');
  dead_[id] = {id,
               message.content.admission,
               message.content.journal,
               encodeAdmission(message.content.admission),
               reason.substr(0, limits::kReasonBytesMax),
               message.deliveries,
               message.failures,
               clock_.now()};
  ++stats_.deadLettered;
}

Result<std::vector<SettleOutcome>> FakeQueue::settle(std::size_t slot,
                                                     std::span<const Settlement> settlements, Deadline) {
  return call("settle", [&]() -> Result<std::vector<SettleOutcome>> {
    for (const Settlement& settlement : settlements) {
      const bool delayed = settlement.kind == SettleKind::RetryLater && settlement.delay.count() > 0;
      if (delayed && !options_.traits.delayedRetry)
        return {ErrorCode::Unsupported, "this queue does not delay"};
    }
    pullJournal();
    std::vector<SettleOutcome> outcomes;
    for (const Settlement& settlement : settlements) {
      outcomes.push_back(settleOne(slot, settlement));
    }
    changed_.notify_all();
    return outcomes;
  });
}

Status FakeQueue::extend(std::size_t, std::span<const DeliveryToken>, Deadline) {
  return call("extend", [&]() -> Status {
    if (!options_.traits.leaseExtend) return {ErrorCode::Unsupported, "this queue has no lease"};
    return {};
  });
}

std::size_t FakeQueue::handBack() {
  const std::size_t count = inFlight_.size();
  for (const auto& [token, entry] : inFlight_) {
    ready_.push_back(entry.second);
    ready_.back().due = clock_.steady();
  }
  inFlight_.clear();
  return count;
}

Result<std::size_t> FakeQueue::drain(Deadline) {
  return call("drain", [&]() -> Result<std::size_t> {
    draining_ = true;
    changed_.notify_all();
    return handBack();
  });
}

void FakeQueue::close() noexcept {
  faults.note("close");
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  faults.unblock();
}

Result<QueueStats> FakeQueue::stats(Deadline) {
  return call("stats", [&]() -> Result<QueueStats> {
    pullJournal();
    QueueStats seen = stats_;
    seen.ready = static_cast<std::int64_t>(ready_.size());
    seen.inFlight = hidesInFlight_ ? 0 : static_cast<std::int64_t>(inFlight_.size());
    seen.deadLetters = static_cast<std::int64_t>(dead_.size());
    for (const Message& message : ready_) {
      seen.oldestAge = std::max(seen.oldestAge, clock_.now() - message.queuedAt);
    }
    for (const auto& [token, entry] : inFlight_) {
      seen.oldestAge = std::max(seen.oldestAge, clock_.now() - entry.second.queuedAt);
    }
    return seen;
  });
}

Result<std::vector<DeadLetter>> FakeQueue::deadLetters(const std::string& afterId, std::size_t max,
                                                       Deadline) {
  return call("deadLetters", [&]() -> Result<std::vector<DeadLetter>> {
    if (max == 0 || max > limits::kPageMax) return {ErrorCode::InvalidArgument, "max must be 1 to 1000"};
    pullJournal();
    std::vector<DeadLetter> page;
    for (auto letter = dead_.upper_bound(afterId); letter != dead_.end() && page.size() < max; ++letter) {
      page.push_back(letter->second);
    }
    return page;
  });
}

Result<std::optional<DeadLetter>> FakeQueue::findDeadLetter(const std::string& id, Deadline) {
  return call("findDeadLetter", [&]() -> Result<std::optional<DeadLetter>> {
    pullJournal();
    const auto letter = dead_.find(id);
    return letter == dead_.end() ? std::nullopt : std::optional(letter->second);
  });
}

Status FakeQueue::replayDeadLetter(const std::string& id, Deadline) {
  return call("replayDeadLetter", [&]() -> Status {
    const auto letter = dead_.find(id);
    if (letter == dead_.end()) return {ErrorCode::NotFound, "no dead letter " + id};
    if (!letter->second.admission) return {ErrorCode::Corrupt, "its bytes do not decode"};
    if (options_.journal != nullptr) {
      options_.journal->appendJournal(*letter->second.admission);
    } else {
      ready_.push_back(
          {{*letter->second.admission, letter->second.journal}, 0, 0, 0, clock_.steady(), clock_.now()});
    }
    dead_.erase(letter);
    changed_.notify_all();
    return {};
  });
}

Status FakeQueue::removeDeadLetter(const std::string& id, Deadline) {
  return call("removeDeadLetter", [&]() -> Status {
    if (dead_.erase(id) == 0) return {ErrorCode::NotFound, "no dead letter " + id};
    return {};
  });
}

void FakeQueue::abandon() {
  const std::lock_guard lock(mutex_);
  ++epoch_;
  (void)handBack();
  changed_.notify_all();
}

void FakeQueue::reopen() {
  const std::lock_guard lock(mutex_);
  started_ = closed_ = draining_ = false;
  reserved_ = 0;
  ++epoch_;
  (void)handBack();
  if (options_.traits.durable) return;
  ready_.clear();
  dead_.clear();
}

void FakeQueue::setPatient(bool patient) {
  const std::lock_guard lock(mutex_);
  patient_ = patient;
}

void FakeQueue::loseMessages(bool said, const std::optional<std::set<OrderId>>& which) {
  const std::lock_guard lock(mutex_);
  const auto goes = [&which](const Message& message) {
    return !which || which->contains(message.content.admission.order);
  };
  std::erase_if(ready_, goes);
  std::erase_if(inFlight_, [&goes](const auto& entry) { return goes(entry.second.second); });
  if (said) ++stats_.dataLost;
}

void FakeQueue::hideInFlight(bool hidden) {
  const std::lock_guard lock(mutex_);
  hidesInFlight_ = hidden;
}

void FakeQueue::injectUndecodable(const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  bury({}, "undecodable: scripted");
  DeadLetter& letter = dead_.rbegin()->second;
  letter.admission.reset();
  letter.bytes = bytes.substr(0, limits::kDeadBytesMax);
}

std::size_t FakeQueue::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

}  // namespace sluice::test
