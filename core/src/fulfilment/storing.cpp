// How fulfilment has a batch decided by the store, finds the bad order in it, and releases what is dead; see
// fulfilment.h.
#include <algorithm>
#include <map>

#include "fulfilment/fulfilment.h"

namespace sluice::fulfilment {
namespace {

constexpr milliseconds kStoreWithin{5000};
constexpr milliseconds kReleaseWithin{2000};
// After a lost answer the store is asked again at once; a persist is safe to repeat.
constexpr int kPersistAttempts = 3;
// So many rejections in a row mean that Redis and store disagree about the whole sale, not about an order.
constexpr std::uint64_t kRejectedInRowMax = 1000;

// Errors that say something about the messages, and would say it again; all others are the server's.
bool isFaultOfData(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::Internal:
    case ErrorCode::Corrupt:
    case ErrorCode::InvalidArgument:
    case ErrorCode::NotFound:
    case ErrorCode::Conflict:
    case ErrorCode::Unsupported:
      return true;
    default:
      return false;
  }
}

PauseKind pauseKindOf(ErrorCode code) noexcept {
  return code == ErrorCode::Misconfigured ? PauseKind::Alarm : PauseKind::Away;
}

bool owesRelease(const PersistOutcome& outcome) noexcept {
  if (outcome.kind == PersistKind::Rejected) return true;
  return outcome.kind == PersistKind::Already && !isLive(outcome.status) && !outcome.released;
}

}  // namespace

// Messages that were delivered before are stored alone: one of them may be what killed their last handler.
bool Fulfilment::storeAll() {
  std::vector<Item*> together;
  for (Item& item : items_) {
    if (item.settlement || item.outcome) continue;
    if (item.delivery.deliveries < limits::kIsolateFromDelivery) {
      together.push_back(&item);
      continue;
    }
    Item* const alone = &item;
    if (!store({&alone, 1})) return false;
  }
  return together.empty() || store(together);
}

// On a fault of the data halves the group until the bad orders stand alone. False: a pause was begun, the
// rest stays in hand.
bool Fulfilment::store(std::span<Item* const> group) {
  const auto outcomes = persist(group);
  if (outcomes) {
    bool known = true;
    for (std::size_t k = 0; k < group.size(); ++k) {
      known = judge(*group[k], outcomes.value()[k]) && known;
    }
    return known;
  }
  const Error& error = outcomes.error();
  if (!isFaultOfData(error.code)) {
    beginPause(pauseKindOf(error.code), "store: " + error.text);
    return false;
  }
  if (group.size() == 1) {
    fail(*group.front(), error);
    return true;
  }
  const std::size_t half = group.size() / 2;
  return store(group.first(half)) && store(group.subspan(half));
}

Result<std::vector<PersistOutcome>> Fulfilment::persist(std::span<Item* const> group) {
  std::vector<Admission> admissions;
  admissions.reserve(group.size());
  for (const Item* item : group) {
    admissions.push_back(item->delivery.admission);
  }
  for (int attempt = 1;; ++attempt) {
    const UtcTime now = parts_.clock.now();
    const SteadyTime began = std::chrono::steady_clock::now();
    auto outcomes =
        parts_.store.persist(admissions, now, now + options_.payWithin, Deadline::in(kStoreWithin));
    const auto took = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began);
    counts_.storeNanoseconds.observe(static_cast<std::uint64_t>(took.count()));
    counts_.storeBatchSizes.observe(group.size());
    if (outcomes && outcomes.value().size() != group.size()) {
      return {ErrorCode::Misconfigured, "the store answered " + std::to_string(outcomes.value().size()) +
                                            " outcomes for " + std::to_string(group.size()) + " orders"};
    }
    const bool again =
        !outcomes && outcomes.error().code == ErrorCode::OutcomeUnknown && attempt < kPersistAttempts;
    if (!again) return outcomes;
  }
}

// False for an order that cannot be judged: its voucher is unknown.
bool Fulfilment::judge(Item& item, const PersistOutcome& outcome) {
  const Admission& admission = item.delivery.admission;
  rejectedInRow_ = outcome.kind == PersistKind::Rejected ? rejectedInRow_ + 1 : 0;
  switch (outcome.kind) {
    case PersistKind::Stored:
      ++counts_.stored;
      break;
    case PersistKind::Rejected:
      ++counts_.rejected;
      break;
    case PersistKind::Already:
      ++counts_.already;
      break;
    case PersistKind::Conflict:
      item.settlement =
          Settlement{item.delivery.token, SettleKind::DeadLetter, milliseconds(0), true,
                     "order " + admission.order.text() + " is stored with another user, voucher or quantity"};
      return true;
    case PersistKind::UnknownVoucher:
      beginPause(PauseKind::Alarm, "the store has no voucher " + admission.voucher.text() +
                                       "; is it the right database? Its orders wait until it has");
      return false;
  }
  item.outcome = outcome;
  if (!owesRelease(outcome))
    item.settlement = Settlement{item.delivery.token, SettleKind::Done, milliseconds(0), true, {}};
  return true;
}

void Fulfilment::fail(Item& item, const Error& error) {
  const Delivery& delivery = item.delivery;
  const std::uint32_t failures = delivery.failures + 1;
  const std::string what = std::string(errorName(error.code)) + ": " + error.text;
  parts_.log.repeated(LogLevel::Error, "fulfilment", "an order failed",
                      "order " + delivery.admission.order.text() + ": " + what);
  if (failures >= options_.failuresMax || delivery.deliveries >= options_.deliveriesMax) {
    item.settlement = Settlement{delivery.token, SettleKind::DeadLetter, milliseconds(0), true,
                                 "failed " + std::to_string(failures) + " times, last with " + what};
  } else {
    item.settlement =
        Settlement{delivery.token, SettleKind::RetryLater, retryDelay(delivery.failures), true, {}};
  }
}

// Rule R4: first the hold, then the mark, then the message. Voucher by voucher, as damaged keys are one
// voucher's.
bool Fulfilment::releaseDead() {
  std::map<VoucherId, std::vector<Item*>> dead;
  for (Item& item : items_) {
    if (item.outcome && !item.settlement && owesRelease(*item.outcome))
      dead[item.delivery.admission.voucher].push_back(&item);
  }
  for (const auto& [voucher, items] : dead) {
    if (!release(items)) return false;
  }
  if (rejectedInRow_ >= kRejectedInRowMax) {
    rejectedInRow_ = 0;
    beginPause(PauseKind::Alarm, "the store rejected " + std::to_string(kRejectedInRowMax) +
                                     " orders in a row; do Redis and store hold the same sale?");
    return false;
  }
  return true;
}

bool Fulfilment::release(std::span<Item* const> dead) {
  std::vector<Admission> admissions;
  std::vector<OrderId> orders;
  for (const Item* item : dead) {
    admissions.push_back(item->delivery.admission);
    orders.push_back(item->delivery.admission.order);
  }
  const auto outcomes = parts_.qualifier.release(admissions, Deadline::in(kReleaseWithin));
  if (!outcomes && isFaultOfData(outcomes.error().code)) {
    parts_.log.repeated(LogLevel::Error, "fulfilment", "holds were not released", outcomes.error().text);
    std::for_each(dead.begin(), dead.end(), [this](Item* item) { postpone(*item); });
    return true;
  }
  if (!outcomes) {
    beginPause(pauseKindOf(outcomes.error().code), "redis: " + outcomes.error().text);
    return false;
  }
  counts_.released += static_cast<std::uint64_t>(
      std::count(outcomes.value().begin(), outcomes.value().end(), ReleaseOutcome::Released));
  // Without the mark the message stays in hand; then the row is found dead, and released again, which counts
  // nothing twice.
  const Status marked = parts_.store.markReleased(orders, parts_.clock.now(), Deadline::in(kStoreWithin));
  if (!marked && !isFaultOfData(marked.error().code)) {
    beginPause(pauseKindOf(marked.error().code), "store: " + marked.error().text);
    return false;
  }
  if (!marked) {
    parts_.log.repeated(LogLevel::Error, "fulfilment", "releases were not marked", marked.error().text);
    std::for_each(dead.begin(), dead.end(), [this](Item* item) { postpone(*item); });
    return true;
  }
  for (Item* item : dead) {
    item->settlement = Settlement{item->delivery.token, SettleKind::Done, milliseconds(0), true, {}};
  }
  return true;
}

// Its row is decided, its hold cannot be released yet, and that is no failure of the message.
void Fulfilment::postpone(Item& item) {
  item.settlement = Settlement{
      item.delivery.token, SettleKind::RetryLater, retryDelay(item.delivery.deliveries), false, {}};
}

}  // namespace sluice::fulfilment
