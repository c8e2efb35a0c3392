// See inproc_queue.h.
#include "inproc_queue.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace sluice::inproc {

namespace {

constexpr std::string_view kComponent = "queue_inproc";
constexpr QueueTraits kTraits = {
    .reserves = true, .delayedRetry = true, .retriesFirst = true, .buriesAtOnce = true};

// Twelve digits, so that ids also sort as text.
std::string deadId(std::uint64_t serial) {
  std::string digits = std::to_string(serial);
  return digits.size() < 12 ? std::string(12 - digits.size(), '0') + digits : digits;
}

// 0, which names no dead letter, for anything that deadId() did not write.
std::uint64_t parseDeadId(const std::string& id) {
  const std::size_t first = id.find_first_not_of('0');
  const auto number = first == std::string::npos ? std::nullopt : parsePositive(id.substr(first));
  return number && deadId(static_cast<std::uint64_t>(*number)) == id ? static_cast<std::uint64_t>(*number)
                                                                     : 0;
}

Error gone(const std::string& id) {
  return {ErrorCode::NotFound, "there is no dead letter " + id + "; it was replayed or removed"};
}

}  // namespace

InprocQueue::InprocQueue(Settings settings, Log& log, const Clock& clock)
    : settings_(settings), log_(log), clock_(clock) {}

InprocQueue::~InprocQueue() { InprocQueue::close(); }

const QueueTraits& InprocQueue::traits() const noexcept { return kTraits; }

Status InprocQueue::start(Deadline) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::Closed) return refusal();
  if (state_ == State::Inert) state_ = State::Running;
  return {};
}

Status InprocQueue::refusal() const {
  if (state_ == State::Closed) return {ErrorCode::Stopped, "the queue is closed"};
  if (state_ == State::Inert) return {ErrorCode::Unavailable, "the queue is not started"};
  return {};
}

std::size_t InprocQueue::used() const noexcept {
  return fresh_.size() + again_.size() + held_.size() + reserved_;
}

Result<std::size_t> InprocQueue::reserve(std::size_t wanted) {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(); !refused) return refused.error();
  const std::size_t granted = std::min(wanted, settings_.capacity - std::min(settings_.capacity, used()));
  reserved_ += granted;
  return granted;
}

void InprocQueue::unreserve(std::size_t places) noexcept {
  const std::lock_guard lock(mutex_);
  reserved_ -= std::min(places, reserved_);
}

void InprocQueue::append(const QueueMessage& content) {
  fresh_.push_back({.serial = nextSerial_++, .content = content, .enqueued = clock_.steady()});
}

Status InprocQueue::publish(std::span<const QueueMessage> messages, Deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (auto refused = refusal(); !refused) return refused;
    if (messages.size() > reserved_) {
      return {ErrorCode::Overloaded, std::to_string(messages.size()) + " messages for " +
                                         std::to_string(reserved_) +
                                         " reserved places; reserve a place for each before publishing"};
    }
    for (const QueueMessage& message : messages) {
      append(message);
    }
    reserved_ -= messages.size();
  }
  // One waiter takes up to a batch and wakes the next if something is left.
  changed_.notify_one();
  return {};
}

bool InprocQueue::againIsDue() const { return !again_.empty() && again_.begin()->first <= clock_.steady(); }

void InprocQueue::handOut(std::size_t slot, Message message, std::vector<Delivery>& batch) {
  ++message.deliveries;
  if (message.deliveries > 1) ++redelivered_;
  batch.push_back({.token = {.epoch = message.deliveries, .a = message.serial, .b = 0},
                   .admission = message.content.admission,
                   .journal = message.content.journal,
                   .deliveries = message.deliveries,
                   .failures = message.failures});
  held_.emplace(message.serial, Held{message, slot});
}

// Those to be repeated come first, in batches of their own. One that must be alone lets a fresh batch pass
// after it, so that a pile of poison slows the others down but never stops them.
void InprocQueue::takeBatch(std::size_t slot, std::size_t max, std::vector<Delivery>& batch) {
  const auto mustBeAlone = [](const Message& message) {
    return message.deliveries + 1 >= limits::kIsolateFromDelivery;
  };
  if (againIsDue() && !(lastWasAlone_ && !fresh_.empty())) {
    while (batch.size() < max && againIsDue()) {
      const bool alone = mustBeAlone(again_.begin()->second);
      if (alone && !batch.empty()) break;
      handOut(slot, again_.extract(again_.begin()).mapped(), batch);
      lastWasAlone_ = alone;
      if (alone) break;
    }
    return;
  }
  lastWasAlone_ = false;
  while (batch.size() < max && !fresh_.empty()) {
    handOut(slot, fresh_.front(), batch);
    fresh_.pop_front();
  }
}

SteadyTime InprocQueue::wakeAt(Deadline deadline) const {
  if (again_.empty()) return deadline.at();
  // The delay runs on the queue's clock, the wait on the machine's.
  const auto untilDue =
      std::max(again_.begin()->first - clock_.steady(), SteadyTime::duration(milliseconds(1)));
  return std::min(deadline.at(), std::chrono::steady_clock::now() + untilDue);
}

Result<std::vector<Delivery>> InprocQueue::receive(std::size_t slot, std::size_t max, Deadline deadline) {
  if (max == 0 || max > limits::kReceiveBatchMax)
    return {ErrorCode::InvalidArgument, "receive takes 1 to 500 messages"};
  std::vector<Delivery> batch;
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto refused = refusal(); !refused) return refused.error();
    if (state_ == State::Draining) return batch;
    takeBatch(slot, max, batch);
    if (!batch.empty()) break;
    if (deadline.passed()) return batch;
    changed_.wait_until(lock, wakeAt(deadline));
  }
  const bool more = !fresh_.empty() || againIsDue();
  lock.unlock();
  if (more) changed_.notify_one();
  return batch;
}

InprocQueue::HeldMap::iterator InprocQueue::findHeld(std::size_t slot, const DeliveryToken& token) {
  const auto found = held_.find(token.a);
  const bool same = found != held_.end() && found->second.slot == slot &&
                    found->second.message.deliveries == token.epoch && token.b == 0;
  return same ? found : held_.end();
}

std::size_t InprocQueue::countDead(std::size_t slot, std::span<const Settlement> settlements) {
  return static_cast<std::size_t>(
      std::count_if(settlements.begin(), settlements.end(), [&](const Settlement& s) {
        return s.kind == SettleKind::DeadLetter && findHeld(slot, s.token) != held_.end();
      }));
}

void InprocQueue::bury(const Message& message, const std::string& reason) {
  DeadLetter letter;
  letter.admission = message.content.admission;
  letter.journal = message.content.journal;
  letter.bytes = encodeAdmission(message.content.admission);
  letter.reason = reason.substr(0, limits::kReasonBytesMax);
  letter.deliveries = message.deliveries;
  letter.failures = message.failures;
  letter.deadAt = clock_.now();
  // A serial of its own: dead letters sort by the time they died, not by arrival.
  const std::uint64_t serial = nextSerial_++;
  letter.id = deadId(serial);
  dead_.emplace(serial, std::move(letter));
  ++deadLettered_;
}

SettleOutcome InprocQueue::settleOne(std::size_t slot, const Settlement& settlement) {
  const auto found = findHeld(slot, settlement.token);
  if (found == held_.end()) return SettleOutcome::Stale;
  Message message = found->second.message;
  held_.erase(found);
  if (settlement.kind == SettleKind::RetryLater) {
    if (settlement.countsAsFailure) ++message.failures;
    again_.emplace(clock_.steady() + std::max(settlement.delay, milliseconds(0)), message);
  } else if (settlement.kind == SettleKind::DeadLetter) {
    bury(message, settlement.reason);
  }
  return SettleOutcome::Settled;
}

Result<std::vector<SettleOutcome>> InprocQueue::settle(std::size_t slot,
                                                       std::span<const Settlement> settlements, Deadline) {
  std::vector<SettleOutcome> outcomes;
  outcomes.reserve(settlements.size());
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    if (auto refused = refusal(); !refused) return refused.error();
    // A dead letter is somebody's order: none is dropped to make room, the consumer waits instead.
    if (dead_.size() + countDead(slot, settlements) > settings_.deadMax) {
      log_.repeated(LogLevel::Error, kComponent, "dead letters full",
                    "the dead letters are full; replay or drop some, orders wait meanwhile");
      return {ErrorCode::Overloaded,
              "the dead letters are full (queue.inproc.dead.max); replay or drop some"};
    }
    for (const Settlement& settlement : settlements) {
      outcomes.push_back(settleOne(slot, settlement));
      again = again || settlement.kind == SettleKind::RetryLater;
    }
  }
  // All, because each waiter has computed its own next instant.
  if (again) changed_.notify_all();
  return outcomes;
}

Status InprocQueue::extend(std::size_t, std::span<const DeliveryToken>, Deadline) {
  return {ErrorCode::Unsupported,
          "queue_inproc has no lease: what is handed out stays so until it is settled"};
}

Result<std::size_t> InprocQueue::drain(Deadline) {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (auto refused = refusal(); !refused) return refused.error();
    state_ = State::Draining;
    count = held_.size();
    for (const auto& [serial, held] : held_) {
      again_.emplace(clock_.steady(), held.message);
    }
    held_.clear();
  }
  changed_.notify_all();
  return count;
}

// Those that only this queue has; of the others the journal has an entry.
std::size_t InprocQueue::countLost() const noexcept {
  const auto isLost = [](const Message& message) { return !message.content.journal.valid(); };
  return static_cast<std::size_t>(
      std::count_if(fresh_.begin(), fresh_.end(), isLost) +
      std::count_if(again_.begin(), again_.end(), [&](const auto& entry) { return isLost(entry.second); }) +
      std::count_if(held_.begin(), held_.end(),
                    [&](const auto& entry) { return isLost(entry.second.message); }));
}

void InprocQueue::close() noexcept {
  std::size_t lost = 0;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::Closed) return;
    state_ = State::Closed;
    lost = countLost();
  }
  changed_.notify_all();
  if (lost > 0) {
    log_.warning(kComponent,
                 std::to_string(lost) +
                     " admissions were still in memory and are lost with this process; the audit shows them");
  }
}

Result<QueueStats> InprocQueue::stats(Deadline) {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(); !refused) return refused.error();
  QueueStats stats;
  stats.ready = static_cast<std::int64_t>(fresh_.size() + again_.size());
  stats.inFlight = static_cast<std::int64_t>(held_.size());
  stats.deadLetters = static_cast<std::int64_t>(dead_.size());
  stats.deadMax = static_cast<std::int64_t>(settings_.deadMax);
  SteadyTime oldest = clock_.steady();
  if (!fresh_.empty()) oldest = std::min(oldest, fresh_.front().enqueued);
  for (const auto& [due, message] : again_) {
    oldest = std::min(oldest, message.enqueued);
  }
  for (const auto& [serial, held] : held_) {
    oldest = std::min(oldest, held.message.enqueued);
  }
  stats.oldestAge = std::chrono::duration_cast<milliseconds>(clock_.steady() - oldest);
  stats.redelivered = redelivered_;
  stats.deadLettered = deadLettered_;
  return stats;
}

Result<std::vector<DeadLetter>> InprocQueue::deadLetters(const std::string& afterId, std::size_t max,
                                                         Deadline) {
  const std::uint64_t after = parseDeadId(afterId);
  if (after == 0 && !afterId.empty())
    return {ErrorCode::InvalidArgument, "not the id of a dead letter: " + afterId};
  if (max == 0 || max > limits::kPageMax)
    return {ErrorCode::InvalidArgument, "a page has 1 to 1000 dead letters"};
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(); !refused) return refused.error();
  std::vector<DeadLetter> page;
  for (auto at = dead_.upper_bound(after); at != dead_.end() && page.size() < max; ++at) {
    page.push_back(at->second);
  }
  return page;
}

Result<std::optional<DeadLetter>> InprocQueue::findDeadLetter(const std::string& id, Deadline) {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(); !refused) return refused.error();
  const auto found = dead_.find(parseDeadId(id));
  return found == dead_.end() ? std::optional<DeadLetter>() : std::optional(found->second);
}

Status InprocQueue::replayDeadLetter(const std::string& id, Deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (auto refused = refusal(); !refused) return refused;
    const auto found = dead_.find(parseDeadId(id));
    if (found == dead_.end()) return gone(id);
    if (used() >= settings_.capacity)
      return {ErrorCode::Overloaded, "the queue is full (queue.inproc.capacity)"};
    append({*found->second.admission, found->second.journal});
    dead_.erase(found);
  }
  changed_.notify_one();
  return {};
}

Status InprocQueue::removeDeadLetter(const std::string& id, Deadline) {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(); !refused) return refused;
  return dead_.erase(parseDeadId(id)) == 1 ? Status() : Status(gone(id));
}

}  // namespace sluice::inproc
