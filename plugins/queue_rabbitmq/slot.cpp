// See slot.h.
#include "slot.h"

#include <algorithm>
#include <iterator>

namespace sluice::rabbitmq {

namespace {

using std::chrono::steady_clock;

// The longest wait queue that a delay fills; the number of queues where none does.
std::size_t stepOf(milliseconds delay) {
  std::size_t step = kWaitSteps.size();
  for (std::size_t k = 0; k < kWaitSteps.size(); ++k) {
    if (kWaitSteps[k] <= delay) step = k;
  }
  return step;
}

}  // namespace

struct Slot::Sorted {
  Items fresh, suspects, hops, garbage;
};

struct Slot::Claimed {
  struct One {
    std::size_t place;  // of its settlement
    std::uint64_t serial;
    Item item;
  };
  std::vector<One> done{}, later{}, dead{};
  std::span<const Settlement> settlements;
};

Slot::Slot(Shared& shared, Receiver& receiver, Publisher& publisher, DeadDesk& desk, std::size_t number)
    : shared_(shared), receiver_(receiver), publisher_(publisher), desk_(desk), number_(number) {}

Result<std::vector<Delivery>> Slot::receive(std::size_t max, Deadline deadline) {
  const std::lock_guard receiving(receiving_);
  while (true) {
    if (auto refused = shared_.refusal(); !refused) return refused.error();
    if (shared_.state() == State::Draining) return std::vector<Delivery>();
    forgetOldEpochs();
    putAside(takeGarbage(), deadline);
    if (auto due = takeKept(max); !due.empty()) return handOut(std::move(due));
    const Deadline until(std::min(deadline.at(), nextDue()));
    auto fetched = receiver_.fetch(number_, single_ ? 1 : max, until);
    if (!fetched) return fetched.error();
    if (auto batch = take(std::move(fetched).take(), max, deadline); !batch.empty())
      return handOut(std::move(batch));
    if (deadline.passed()) return std::vector<Delivery>();
  }
}

void Slot::forgetOldEpochs() {
  const std::uint64_t now = receiver_.epoch();
  const auto old = [now](const Item& item) { return item.received.epoch != now; };
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& entry) { return old(entry.second); });
  std::erase_if(kept_, [&](const auto& entry) { return old(entry.second); });
  std::erase_if(garbage_, old);
}

void Slot::keep(Item item, milliseconds wait) {
  const std::lock_guard lock(mutex_);
  kept_.emplace(steady_clock::now() + wait, std::move(item));
}

SteadyTime Slot::nextDue() {
  const std::lock_guard lock(mutex_);
  return kept_.empty() ? SteadyTime::max() : kept_.begin()->first;
}

Slot::Items Slot::takeGarbage() {
  const std::lock_guard lock(mutex_);
  return std::exchange(garbage_, {});
}

// Those that are due; one that must be alone comes alone.
Slot::Items Slot::takeKept(std::size_t max) {
  const std::lock_guard lock(mutex_);
  Items items;
  while (!kept_.empty() && kept_.begin()->first <= steady_clock::now() && items.size() < max) {
    const bool alone = kept_.begin()->second.alone;
    if (alone && !items.empty()) break;
    items.push_back(std::move(kept_.extract(kept_.begin()).mapped()));
    if (alone) break;
  }
  return items;
}

std::vector<Delivery> Slot::handOut(Items items) {
  std::vector<Delivery> batch;
  const std::lock_guard lock(mutex_);
  const bool late = shared_.state() >= State::Draining;
  for (Item& item : items) {
    if (late) {  // no delivery after the drain began
      kept_.emplace(SteadyTime(), std::move(item));
      continue;
    }
    const std::uint64_t serial = ++serial_;
    if (item.deliveries > 1) ++shared_.counters.redelivered;
    batch.push_back({.token = {.epoch = item.received.epoch, .a = serial, .b = 0},
                     .admission = decodeAdmission(item.received.message.bytes).value(),
                     .deliveries = static_cast<std::uint32_t>(item.deliveries),
                     .failures = static_cast<std::uint32_t>(item.received.message.failures)});
    held_.emplace(serial, std::move(item));
  }
  return batch;
}

Slot::Sorted Slot::sort(std::vector<Received> fetched) {
  Sorted sorted;
  for (Received& one : fetched) {
    Item item{.received = std::move(one)};
    const Message& message = item.received.message;
    const milliseconds wait(message.waitMs);
    // What must wait on was never handed out, however often it came back.
    const bool hop = wait >= kWaitSteps.front();
    item.deliveries = message.deliveries + (hop ? 0 : message.returned) + 1;
    item.alone = item.deliveries >= limits::kIsolateFromDelivery;
    if (!decodeAdmission(message.bytes)) {
      sorted.garbage.push_back(std::move(item));
    } else if (hop) {
      sorted.hops.push_back(std::move(item));
    } else if (wait > milliseconds(0)) {
      keep(std::move(item), wait);
    } else {
      (item.alone ? sorted.suspects : sorted.fresh).push_back(std::move(item));
    }
  }
  return sorted;
}

// What may be handed out now. Of the suspects, those that have often been delivered, one is kept for the next
// receive; the others go back with their counts as they were, so that they do not suffer with that one.
Slot::Items Slot::take(std::vector<Received> fetched, std::size_t max, Deadline deadline) {
  if (fetched.empty()) return {};
  Sorted sorted = sort(std::move(fetched));
  single_ = !sorted.suspects.empty() && sorted.fresh.empty();
  putAside(std::move(sorted.garbage), deadline);
  if (!sorted.suspects.empty()) {
    keep(std::move(sorted.suspects.front()), milliseconds(0));
    sorted.suspects.erase(sorted.suspects.begin());
  }
  sendOn(std::move(sorted.hops), std::move(sorted.suspects), deadline);
  if (sorted.fresh.size() > max) {
    for (std::size_t k = max; k < sorted.fresh.size(); ++k)
      keep(std::move(sorted.fresh[k]), milliseconds(0));
    sorted.fresh.resize(max);
  }
  return std::move(sorted.fresh);
}

Status Slot::accept(const Items& items, Deadline deadline) {
  if (items.empty()) return {};
  std::vector<std::uint64_t> tags;
  for (const Item& item : items)
    tags.push_back(item.received.tag);
  return receiver_.settle(number_, items.front().received.epoch, tags, Receiver::Verdict::Accept, deadline);
}

void Slot::putAside(Items garbage, Deadline deadline) {
  if (garbage.empty()) return;
  // One that the deadline of a short receive leaves no time for stays; the broker keeps it for us.
  const Deadline enough(std::max(deadline.at(), Deadline::in(kGrace).at()));
  std::vector<Message> letters;
  for (const Item& item : garbage) {
    const auto why = decodeAdmission(item.received.message.bytes);
    letters.push_back(desk_.letterOf(item.received.message, item.deliveries,
                                     "undecodable: " + (why ? std::string() : why.error().text)));
  }
  if (desk_.bury(std::move(letters), enough)) {
    (void)accept(garbage, enough);
    return;
  }
  const std::lock_guard lock(mutex_);
  std::move(garbage.begin(), garbage.end(), std::back_inserter(garbage_));
}

// Where the broker takes nothing at present, what was to wait waits here, and suspects come one by one.
void Slot::sendOn(Items hops, Items others, Deadline deadline) {
  if (hops.empty() && others.empty()) return;
  const Deadline enough(std::max(deadline.at(), Deadline::in(kGrace).at()));
  std::vector<Outgoing> outgoing;
  for (const Item& item : hops) {
    outgoing.push_back(retryOf(item, milliseconds(item.received.message.waitMs)));
    outgoing.back().message.deliveries = item.deliveries - 1;
  }
  for (const Item& item : others) {
    outgoing.push_back(retryOf(item, milliseconds(0)));
    outgoing.back().message.deliveries = item.deliveries - 1;
  }
  if (publisher_.publish(std::move(outgoing), enough)) {
    std::move(others.begin(), others.end(), std::back_inserter(hops));
    (void)accept(hops, enough);
    return;
  }
  for (Item& item : hops) {
    const milliseconds wait(item.received.message.waitMs);
    keep(std::move(item), wait);
  }
  for (Item& item : others)
    keep(std::move(item), milliseconds(0));
}

Outgoing Slot::retryOf(const Item& item, milliseconds delay) const {
  const milliseconds wait = std::clamp(delay, milliseconds(0), kDelayMax);
  Outgoing out{shared_.names.work, again(item.received.message, item.deliveries)};
  const std::size_t step = stepOf(wait);
  out.message.waitMs = wait.count();
  if (step == kWaitSteps.size()) return out;
  out.routingKey = shared_.names.wait[step];
  out.message.waitMs = (wait - kWaitSteps[step]).count();
  return out;
}

std::optional<Slot::Item> Slot::claim(const DeliveryToken& token) {
  const auto found = held_.find(token.a);
  if (found == held_.end() || found->second.received.epoch != token.epoch || token.b != 0)
    return std::nullopt;
  return std::move(held_.extract(found).mapped());
}

void Slot::unclaim(std::uint64_t serial, Item item) {
  const std::lock_guard lock(mutex_);
  held_.emplace(serial, std::move(item));
}

Result<std::vector<SettleOutcome>> Slot::settle(std::span<const Settlement> settlements, Deadline deadline) {
  if (auto there = receiver_.waitConnected(deadline); !there) return there.error();
  forgetOldEpochs();
  std::vector<SettleOutcome> outcomes(settlements.size(), SettleOutcome::Stale);
  Claimed claimed{.settlements = settlements};
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < settlements.size(); ++k) {
      auto item = claim(settlements[k].token);
      if (!item) continue;
      outcomes[k] = SettleOutcome::Settled;
      auto& part = settlements[k].kind == SettleKind::Done         ? claimed.done
                   : settlements[k].kind == SettleKind::RetryLater ? claimed.later
                                                                   : claimed.dead;
      part.push_back({k, settlements[k].token.a, std::move(*item)});
    }
  }
  const Status done = settleClaimed(claimed, deadline);
  if (done) return outcomes;
  for (auto* part : {&claimed.done, &claimed.later, &claimed.dead}) {
    for (Claimed::One& one : *part)
      unclaim(one.serial, std::move(one.item));
  }
  return done.error();
}

// What must be at the broker in another place first is published first, so that a refusal changes nothing; a
// death in between leaves a message in both places, never in neither.
Status Slot::settleClaimed(const Claimed& claimed, Deadline deadline) {
  std::vector<Message> letters;
  for (const auto& one : claimed.dead)
    letters.push_back(desk_.letterOf(one.item.received.message, one.item.deliveries,
                                     claimed.settlements[one.place].reason));
  if (auto buried = desk_.bury(std::move(letters), deadline); !buried) return buried;
  std::vector<Outgoing> retries;
  for (const auto& one : claimed.later) {
    const Settlement& settlement = claimed.settlements[one.place];
    retries.push_back(retryOf(one.item, settlement.delay));
    if (settlement.countsAsFailure) ++retries.back().message.failures;
  }
  if (auto published = publisher_.publish(std::move(retries), deadline); !published) return published;
  Items all;
  for (const auto* part : {&claimed.done, &claimed.later, &claimed.dead}) {
    for (const auto& one : *part)
      all.push_back(one.item);
  }
  return accept(all, deadline);
}

Result<std::size_t> Slot::handBack(Deadline deadline) {
  const std::unique_lock receiving(receiving_, deadline.at());
  if (!receiving) return {ErrorCode::Unavailable, "a receive does not end"};
  forgetOldEpochs();
  std::vector<std::uint64_t> tags;
  std::uint64_t epoch = 0;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    count = held_.size();
    const auto note = [&](const Item& item) {
      tags.push_back(item.received.tag);
      epoch = item.received.epoch;
    };
    for (const auto& [serial, item] : held_)
      note(item);
    for (const auto& [due, item] : kept_)
      note(item);
    std::for_each(garbage_.begin(), garbage_.end(), note);
    held_.clear();
    kept_.clear();
    garbage_.clear();
  }
  if (tags.empty()) return count;
  std::sort(tags.begin(), tags.end());
  const Status back = receiver_.settle(number_, epoch, tags, Receiver::Verdict::HandBack, deadline);
  if (!back) return back.error();
  return count;
}

Slot::Figures Slot::figures() {
  forgetOldEpochs();
  const std::lock_guard lock(mutex_);
  Figures figures{.handedOut = held_.size(), .kept = kept_.size() + garbage_.size()};
  const auto see = [&](const Item& item) {
    const std::int64_t at = item.received.message.enqueuedMs;
    if (at > 0) figures.oldestMs = std::min(at, figures.oldestMs.value_or(at));
  };
  for (const auto& [serial, item] : held_)
    see(item);
  for (const auto& [due, item] : kept_)
    see(item);
  return figures;
}

}  // namespace sluice::rabbitmq
