// See slot.h.
#include "slot.h"

#include <algorithm>
#include <iterator>

namespace sluice::rabbitmq {

namespace {

using std::chrono::steady_clock;

}  // namespace

struct Slot::Claimed {
  struct One {
    std::size_t place;  // of its settlement
    std::uint64_t serial;
    Item item;
  };
  std::vector<One> done{}, later{}, dead{};
  std::span<const Settlement> settlements;
};

Slot::Slot(Shared& shared, Intake& intake, Receiver& receiver, Publisher& publisher, DeadDesk& desk)
    : shared_(shared), intake_(intake), receiver_(receiver), publisher_(publisher), desk_(desk) {}

Result<std::vector<Delivery>> Slot::receive(std::size_t max, Deadline deadline) {
  const Turn::Guard receiving(receiving_, deadline.orSooner(kGrace));
  if (!receiving) return std::vector<Delivery>();  // a drain hands back just now
  auto items = intake_.receive(max, deadline);
  if (!items) return items.error();
  return handOut(std::move(items).take());
}

void Slot::forgetOldEpochs() {
  const std::uint64_t now = receiver_.epoch();
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& entry) { return entry.second.ticket.epoch != now; });
}

// No delivery after a drain began: what comes then is only held, and handed back by the drain, which waits for the
// end of this receive.
std::vector<Delivery> Slot::handOut(Items items) {
  std::vector<Delivery> batch;
  batch.reserve(items.size());
  const std::lock_guard lock(mutex_);
  const bool late = shared_.state() >= State::Draining;
  const SteadyTime now = steady_clock::now();
  for (Item& item : items) {
    const std::uint64_t serial = ++serial_;
    item.since = now;
    if (!late) {
      if (item.deliveries > 1) ++shared_.counters.redelivered;
      batch.push_back({.token = {.epoch = item.ticket.epoch, .a = serial, .b = 0},
                       .admission = item.admission,
                       .journal = item.message.journal,
                       .deliveries = static_cast<std::uint32_t>(item.deliveries),
                       .failures = static_cast<std::uint32_t>(item.message.failures)});
    }
    held_.emplace_hint(held_.end(), serial, std::move(item));
  }
  return batch;
}

std::optional<Item> Slot::claim(const DeliveryToken& token) {
  const auto found = held_.find(token.a);
  if (found == held_.end() || found->second.ticket.epoch != token.epoch || token.b != 0) return std::nullopt;
  return std::move(held_.extract(found).mapped());
}

std::vector<SettleOutcome> Slot::claimAll(std::span<const Settlement> settlements, Claimed& claimed) {
  std::vector<SettleOutcome> outcomes(settlements.size(), SettleOutcome::Stale);
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
  return outcomes;
}

void Slot::unclaim(Claimed& claimed) {
  const std::lock_guard lock(mutex_);
  for (auto* part : {&claimed.done, &claimed.later, &claimed.dead}) {
    for (Claimed::One& one : *part)
      held_.emplace(one.serial, std::move(one.item));
  }
}

// A connection that is lost meanwhile has taken the tokens along: they are stale, whatever the broker still did.
Result<std::vector<SettleOutcome>> Slot::settle(std::span<const Settlement> settlements, Deadline deadline) {
  while (true) {
    if (auto there = receiver_.waitConnected(deadline); !there) return there.error();
    forgetOldEpochs();
    const std::uint64_t epoch = receiver_.epoch();
    Claimed claimed{.settlements = settlements};
    auto outcomes = claimAll(settlements, claimed);
    const Status done = settleClaimed(claimed, deadline);
    if (done) return outcomes;
    unclaim(claimed);
    const bool lost = !receiver_.isConnected() || receiver_.epoch() != epoch;
    if (!lost || deadline.passed() || shared_.state() == State::Closed) return done.error();
  }
}

// What must be at the broker in another place first is published first, so that a refusal changes nothing; a
// death in between leaves a message in both places, never in neither.
Status Slot::settleClaimed(const Claimed& claimed, Deadline deadline) {
  std::vector<Message> letters;
  for (const auto& one : claimed.dead) {
    letters.push_back(
        desk_.letterOf(one.item.message, one.item.deliveries, claimed.settlements[one.place].reason));
  }
  if (auto buried = desk_.bury(std::move(letters), deadline); !buried) return buried;
  std::vector<Outgoing> retries;
  for (const auto& one : claimed.later) {
    const Settlement& settlement = claimed.settlements[one.place];
    retries.push_back(intake_.retryOf(one.item.message, one.item.deliveries, settlement.delay));
    if (settlement.countsAsFailure) ++retries.back().message.failures;
  }
  if (auto published = publisher_.publish(std::move(retries), deadline); !published) return published;
  std::vector<Ticket> all;
  all.reserve(claimed.settlements.size());
  for (const auto* part : {&claimed.done, &claimed.later, &claimed.dead}) {
    for (const auto& one : *part)
      all.push_back(one.item.ticket);
  }
  return receiver_.settle(all, Receiver::Verdict::Accept, deadline);
}

Result<std::size_t> Slot::handBack(Deadline deadline) {
  const Turn::Guard receiving(receiving_, deadline);
  if (!receiving) return {ErrorCode::Unavailable, "a receive does not end"};
  forgetOldEpochs();
  std::vector<Ticket> tickets;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [serial, item] : held_)
      tickets.push_back(item.ticket);
    held_.clear();
  }
  if (auto back = receiver_.settle(tickets, Receiver::Verdict::HandBack, deadline); !back)
    return back.error();
  return tickets.size();
}

bool Slot::holdsOld(milliseconds lease) {
  const std::lock_guard lock(mutex_);
  return !held_.empty() && held_.begin()->second.since <= steady_clock::now() - lease;
}

void Slot::handBackOld(milliseconds lease, Deadline deadline) {
  forgetOldEpochs();
  std::vector<Ticket> tickets;
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime limit = steady_clock::now() - lease;
    for (auto one = held_.begin(); one != held_.end() && one->second.since <= limit;) {
      tickets.push_back(one->second.ticket);
      one = held_.erase(one);
    }
  }
  // Where that is lost on the way, the connection is, and they go back with it.
  (void)receiver_.settle(tickets, Receiver::Verdict::HandBack, deadline);
}

Intake::Figures Slot::figures() {
  forgetOldEpochs();
  const std::lock_guard lock(mutex_);
  Intake::Figures figures{.count = held_.size()};
  for (const auto& [serial, item] : held_) {
    const std::int64_t at = item.message.enqueuedMs;
    if (at > 0) figures.oldestMs = std::min(at, figures.oldestMs.value_or(at));
  }
  return figures;
}

}  // namespace sluice::rabbitmq
