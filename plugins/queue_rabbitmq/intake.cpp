// See intake.h.
#include "intake.h"

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

bool isSuspect(std::int64_t deliveries) { return deliveries >= limits::kIsolateFromDelivery; }
bool isSuspect(const Item& item) { return isSuspect(item.deliveries); }

// What must wait on was never handed out, however often it came back.
bool mustHop(const Message& message) { return milliseconds(message.waitMs) >= kWaitSteps.front(); }

}  // namespace

struct Intake::Sorted {
  Items ready, suspects, hops, garbage;
};

Intake::Intake(Shared& shared, Receiver& receiver, Publisher& publisher, DeadDesk& desk)
    : shared_(shared), receiver_(receiver), publisher_(publisher), desk_(desk) {}

Result<Items> Intake::receive(std::size_t max, Deadline deadline) {
  while (true) {
    if (auto refused = shared_.refusal(); !refused) return refused.error();
    if (shared_.state() == State::Draining) return Items();
    forgetOldEpochs();
    putAside(takeGarbage(), deadline);
    if (auto due = takeKept(max); !due.empty()) return due;
    auto fetched = receiver_.fetch(max, Deadline(std::min(deadline.at(), nextDue())));
    if (!fetched) return fetched.error();
    if (auto batch = take(std::move(fetched).take(), deadline); !batch.empty()) return batch;
    // What could not be sent on is kept, and there at once.
    if (deadline.passed()) return takeKept(max);
  }
}

void Intake::forgetOldEpochs() {
  const std::uint64_t now = receiver_.epoch();
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const auto& entry) { return entry.second.ticket.epoch != now; });
  std::erase_if(garbage_, [&](const Item& item) { return item.ticket.epoch != now; });
}

void Intake::keep(Item item, milliseconds wait) {
  const std::lock_guard lock(mutex_);
  item.since = steady_clock::now();
  kept_.emplace(steady_clock::now() + wait, std::move(item));
}

SteadyTime Intake::nextDue() {
  const std::lock_guard lock(mutex_);
  return kept_.empty() ? SteadyTime::max() : kept_.begin()->first;
}

Items Intake::takeGarbage() {
  const std::lock_guard lock(mutex_);
  return std::exchange(garbage_, {});
}

// Those that are due; a suspect comes alone.
Items Intake::takeKept(std::size_t max) {
  const std::lock_guard lock(mutex_);
  Items items;
  while (!kept_.empty() && kept_.begin()->first <= steady_clock::now() && items.size() < max) {
    const bool alone = isSuspect(kept_.begin()->second);
    if (alone && !items.empty()) break;
    items.push_back(std::move(kept_.extract(kept_.begin()).mapped()));
    if (alone) break;
  }
  return items;
}

Item Intake::itemOf(Received one) {
  Item item{.ticket = one.ticket, .message = std::move(one.message)};
  const Message& message = item.message;
  item.deliveries = message.deliveries + (mustHop(message) ? 0 : message.returned) + 1;
  return item;
}

Intake::Sorted Intake::sort(std::vector<Received> fetched) {
  Sorted sorted;
  for (Received& one : fetched) {
    Item item = itemOf(std::move(one));
    const milliseconds wait(item.message.waitMs);
    const auto admission = decodeAdmission(item.message.bytes);
    if (!admission) {
      sorted.garbage.push_back(std::move(item));
      continue;
    }
    item.admission = admission.value();
    if (mustHop(item.message)) {
      sorted.hops.push_back(std::move(item));
    } else if (isSuspect(item) && item.ticket.source == Source::Work) {
      sorted.suspects.push_back(std::move(item));
    } else if (wait > milliseconds(0)) {
      keep(std::move(item), wait);
    } else {
      sorted.ready.push_back(std::move(item));
    }
  }
  return sorted;
}

Items Intake::take(std::vector<Received> fetched, Deadline deadline) {
  if (fetched.empty()) return {};
  Sorted sorted = sort(std::move(fetched));
  putAside(std::move(sorted.garbage), deadline);
  sendOn(std::move(sorted.hops), std::move(sorted.suspects), deadline);
  return std::move(sorted.ready);
}

Status Intake::settle(const Items& items, Receiver::Verdict verdict, Deadline deadline) {
  std::vector<Ticket> tickets;
  tickets.reserve(items.size());
  for (const Item& item : items)
    tickets.push_back(item.ticket);
  return receiver_.settle(tickets, verdict, deadline);
}

void Intake::putAside(Items garbage, Deadline deadline) {
  if (garbage.empty()) return;
  // One that the deadline of a short receive leaves no time for stays; the broker keeps it for us.
  const Deadline enough(std::max(deadline.at(), Deadline::in(kGrace).at()));
  std::vector<Message> letters;
  for (const Item& item : garbage) {
    const auto why = decodeAdmission(item.message.bytes);
    letters.push_back(desk_.letterOf(item.message, item.deliveries,
                                     "undecodable: " + (why ? std::string() : why.error().text)));
  }
  if (desk_.bury(std::move(letters), enough)) {
    (void)settle(garbage, Receiver::Verdict::Accept, enough);
    return;
  }
  const std::lock_guard lock(mutex_);
  for (Item& item : garbage) {
    if (item.since == SteadyTime()) item.since = steady_clock::now();
    garbage_.push_back(std::move(item));
  }
}

// With the counts that they had before they came. One that has never been handed out counts as once delivered: it
// has lost its place.
bool Intake::publishAsTheyWere(const Items& items, Deadline deadline) {
  std::vector<Outgoing> outgoing;
  outgoing.reserve(items.size());
  for (const Item& item : items) {
    const std::int64_t counted = std::max<std::int64_t>(item.deliveries - 1, 1);
    outgoing.push_back(retryOf(item.message, counted, milliseconds(item.message.waitMs)));
  }
  return publisher_.publish(std::move(outgoing), deadline).ok();
}

// Where the broker takes nothing at present, what was to wait waits here, and suspects come one by one.
void Intake::sendOn(Items hops, Items suspects, Deadline deadline) {
  if (hops.empty() && suspects.empty()) return;
  const Deadline enough(std::max(deadline.at(), Deadline::in(kGrace).at()));
  std::move(suspects.begin(), suspects.end(), std::back_inserter(hops));
  if (publishAsTheyWere(hops, enough)) {
    (void)settle(hops, Receiver::Verdict::Accept, enough);
    return;
  }
  for (Item& item : hops) {
    const milliseconds wait(item.message.waitMs);
    keep(std::move(item), wait);
  }
}

Outgoing Intake::retryOf(const Message& message, std::int64_t counted, milliseconds delay) const {
  const milliseconds wait = std::clamp(delay, milliseconds(0), kDelayMax);
  Outgoing out{isSuspect(counted + 1) ? shared_.names.alone : shared_.names.work, again(message, counted)};
  const std::size_t step = stepOf(wait);
  out.message.waitMs = wait.count();
  if (step == kWaitSteps.size()) return out;
  out.routingKey = shared_.names.wait[step];
  out.message.waitMs = (wait - kWaitSteps[step]).count();
  return out;
}

// What has come for the first time goes back as it is; the broker counts that as a delivery. It must not count
// for ever: after two of them every one would come alone.
Result<std::size_t> Intake::handBack(Deadline deadline) {
  auto left = receiver_.rest(deadline);
  if (!left) return left.error();
  forgetOldEpochs();
  Items first, others;
  const auto add = [&](Item item) { (item.deliveries == 1 ? first : others).push_back(std::move(item)); };
  for (Received& one : left.value())
    add(itemOf(std::move(one)));
  {
    const std::lock_guard lock(mutex_);
    for (auto& [due, item] : kept_)
      add(std::move(item));
    kept_.clear();
    for (Item& item : garbage_)
      add(std::move(item));
    garbage_.clear();
  }
  const bool published = !others.empty() && publishAsTheyWere(others, deadline);
  const Status back = settle(first, Receiver::Verdict::HandBack, deadline);
  const Status moved =
      settle(others, published ? Receiver::Verdict::Accept : Receiver::Verdict::HandBack, deadline);
  if (!back) return back.error();
  if (!moved) return moved.error();
  return first.size() + others.size();
}

void Intake::handBackOld(milliseconds lease, Deadline deadline) {
  Items old;
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime limit = steady_clock::now() - lease;
    const auto isOld = [&](const Item& item) { return item.since <= limit; };
    const auto from = std::stable_partition(garbage_.begin(), garbage_.end(), std::not_fn(isOld));
    old.assign(std::move_iterator(from), std::move_iterator(garbage_.end()));
    garbage_.erase(from, garbage_.end());
  }
  (void)settle(old, Receiver::Verdict::HandBack, deadline);
}

Intake::Figures Intake::figures() {
  forgetOldEpochs();
  Figures figures{.count = receiver_.inStock()};
  const std::lock_guard lock(mutex_);
  figures.count += kept_.size() + garbage_.size();
  const auto see = [&](const Item& item) {
    const std::int64_t at = item.message.enqueuedMs;
    if (at > 0) figures.oldestMs = std::min(at, figures.oldestMs.value_or(at));
  };
  for (const auto& [due, item] : kept_)
    see(item);
  std::for_each(garbage_.begin(), garbage_.end(), see);
  return figures;
}

}  // namespace sluice::rabbitmq
