// See fulfilment.h: the round of receive, handle and settle, and the pauses. How a batch is stored stands in
// storing.cpp.
#include "fulfilment/fulfilment.h"

#include <algorithm>

namespace sluice::fulfilment {
namespace {

constexpr milliseconds kQueueWithin{2000};
constexpr milliseconds kPauseBase{50};
// A server that returns is noticed within a second; what an operator must mend need not be asked that often.
constexpr milliseconds kAwayPauseMax{1000};
constexpr milliseconds kAlarmPauseMax{5000};
// Messages in hand are renewed this often; shorter than a third of any lease that a queue may have.
constexpr milliseconds kRenewEvery{1000};
constexpr milliseconds kRestMax{200};

}  // namespace

Fulfilment::Fulfilment(Parts parts, FulfilmentOptions options, std::size_t slot, FulfilmentCounts& counts)
    : parts_(parts), options_(options), slot_(slot), counts_(counts), entries_(parts) {}

milliseconds Fulfilment::step(milliseconds receiveWait) {
  const bool erased = entries_.erase();
  const SteadyTime now = parts_.clock.steady();
  if (now < pausedUntil_) {
    renewLeases();
    return std::min(kRestMax, std::chrono::ceil<milliseconds>(pausedUntil_ - now));
  }
  if (!erased && entries_.full()) {
    beginPause(PauseKind::Away, "redis: the journal entries of settled orders cannot be deleted");
    return kPauseBase;
  }
  if (!settle()) return kPauseBase;
  if (items_.empty() && !receive(receiveWait)) return milliseconds(0);
  if (!paced()) {
    renewLeases();
    return std::min(kRestMax, std::chrono::ceil<milliseconds>(*pacedUntil_ - now));
  }
  handle();
  if (items_.empty()) pacedUntil_.reset();
  return settle() ? milliseconds(0) : kPauseBase;
}

bool Fulfilment::receive(milliseconds wait) {
  const std::size_t max =
      options_.orderPace.count() > 0 ? 1 : std::min(options_.batchMax, limits::kReceiveBatchMax);
  auto batch = parts_.queue.receive(slot_, max, Deadline::in(wait));
  if (!batch) {
    const bool alarm = batch.error().code == ErrorCode::Misconfigured;
    beginPause(alarm ? PauseKind::Alarm : PauseKind::Away, "queue: " + batch.error().text);
    return false;
  }
  for (Delivery& delivery : batch.value()) {
    items_.push_back({delivery, std::nullopt, std::nullopt});
  }
  renewedAt_ = parts_.clock.steady();
  if (items_.empty()) endPause();
  return !items_.empty();
}

// For demonstrations: each order rests a while between queue and store.
bool Fulfilment::paced() {
  if (options_.orderPace.count() == 0) return true;
  if (!pacedUntil_) pacedUntil_ = parts_.clock.steady() + options_.orderPace;
  return parts_.clock.steady() >= *pacedUntil_;
}

void Fulfilment::handle() {
  buryExhausted();
  // Both, whatever the first says: what the store has decided is released and settled although the rest has
  // to wait.
  const bool stored = storeAll();
  const bool released = releaseDead();
  moveSettled();
  if (stored && released) endPause();
}

// Delivered too often without ever being settled: it kills whoever handles it.
void Fulfilment::buryExhausted() {
  for (Item& item : items_) {
    const Delivery& delivery = item.delivery;
    if (delivery.deliveries <= options_.deliveriesMax) continue;
    item.settlement =
        Settlement{delivery.token, SettleKind::DeadLetter, milliseconds(0), true,
                   "delivered " + std::to_string(delivery.deliveries) + " times and never settled"};
  }
}

void Fulfilment::moveSettled() {
  for (Item& item : items_) {
    if (!item.settlement) continue;
    settlements_.push_back(std::move(*item.settlement));
    journal_.push_back(item.delivery.journal);
  }
  std::erase_if(items_, [](const Item& item) { return item.settlement.has_value(); });
}

bool Fulfilment::settle() {
  if (settlements_.empty()) return true;
  const auto outcomes = parts_.queue.settle(slot_, settlements_, Deadline::in(kQueueWithin));
  if (!outcomes && errorTraits(outcomes.error().code).mayRetry &&
      outcomes.error().code != ErrorCode::Stopped) {
    // Only full dead letters answer a settlement so, and only an operator makes room there.
    const bool full = outcomes.error().code == ErrorCode::Overloaded;
    beginPause(full ? PauseKind::Alarm : PauseKind::Away, "queue: " + outcomes.error().text);
    return false;
  }
  if (!outcomes) {
    // They come again when their lease has run out; what is in the store stays there.
    parts_.log.repeated(LogLevel::Error, "fulfilment", "settling failed", outcomes.error().text);
  } else {
    noteSettled(outcomes.value());
  }
  settlements_.clear();
  journal_.clear();
  (void)entries_.erase();
  return true;
}

void Fulfilment::noteSettled(std::span<const SettleOutcome> outcomes) {
  const bool deadLast = parts_.queue.traits().durable;
  for (std::size_t k = 0; k < settlements_.size(); ++k) {
    const bool ours = outcomes[k] == SettleOutcome::Settled;
    const SettleKind kind = settlements_[k].kind;
    if (ours && kind == SettleKind::DeadLetter) ++counts_.deadLettered;
    if (ours && kind == SettleKind::RetryLater) ++counts_.retried;
    if (kind == SettleKind::Done || (ours && kind == SettleKind::DeadLetter && deadLast))
      entries_.add(journal_[k]);
  }
}

void Fulfilment::renewLeases() {
  const SteadyTime now = parts_.clock.steady();
  if (!parts_.queue.traits().leaseExtend || inHand() == 0 || now - renewedAt_ < kRenewEvery) return;
  renewedAt_ = now;
  std::vector<DeliveryToken> tokens;
  for (const Item& item : items_) {
    tokens.push_back(item.delivery.token);
  }
  for (const Settlement& settlement : settlements_) {
    tokens.push_back(settlement.token);
  }
  // Should it fail, others may take the messages over; then our settlement is stale and the store's row
  // decides.
  const Status renewed = parts_.queue.extend(slot_, tokens, Deadline::in(kQueueWithin));
  if (!renewed)
    parts_.log.repeated(LogLevel::Warning, "fulfilment", "lease not renewed", renewed.error().text);
}

void Fulfilment::beginPause(PauseKind kind, const std::string& why) {
  const milliseconds most = kind == PauseKind::Alarm ? kAlarmPauseMax : kAwayPauseMax;
  pausedUntil_ = parts_.clock.steady() + backoff(pausesInRow_++, kPauseBase, most, parts_.random);
  parts_.log.repeated(kind == PauseKind::Alarm ? LogLevel::Error : LogLevel::Warning, "fulfilment", "paused",
                      why);
  const std::lock_guard lock(mutex_);
  pause_ = {kind, why};
}

void Fulfilment::endPause() {
  if (pausesInRow_ == 0) return;
  pausesInRow_ = 0;
  pausedUntil_ = {};
  parts_.log.info("fulfilment", "goes on");
  const std::lock_guard lock(mutex_);
  pause_ = {};
}

Pause Fulfilment::pause() const {
  const std::lock_guard lock(mutex_);
  return pause_;
}

milliseconds Fulfilment::retryDelay(std::uint32_t failures) const {
  if (!parts_.queue.traits().delayedRetry) return milliseconds(0);
  return backoff(failures, options_.retryBase, options_.retryMax, parts_.random);
}

}  // namespace sluice::fulfilment
