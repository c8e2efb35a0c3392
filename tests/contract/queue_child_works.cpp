// What the children of the queue contract do; each work ends when its parent closes the pipe or kills it.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <thread>

#include "contract/queue_child.h"
#include "contract/queue_contract.h"

namespace sluice::test {

namespace {

using Deliveries = std::vector<Delivery>;

std::int64_t settleAll(OrderQueue& queue, const Deliveries& held, SettleKind kind = SettleKind::Done) {
  const auto outcomes = queue.settle(0, settlementsOf(held, kind), Deadline::in(kSoon));
  if (!outcomes) throw std::runtime_error(outcomes.error().text);
  return std::count(outcomes.value().begin(), outcomes.value().end(), SettleOutcome::Settled);
}

Deliveries receiveSome(OrderQueue& queue, std::size_t max) {
  auto batch = queue.receive(0, max, Deadline::in(milliseconds(100)));
  return batch ? std::move(batch).take() : Deliveries();
}

// hold COUNT: takes so many, says how many; told to, settles them and says how many settled.
void hold(const QueueErrand& errand) {
  const auto queue = errand.open();
  const Deliveries held = takeFrom(*queue, 0, static_cast<std::size_t>(errand.number(0)));
  errand.say(static_cast<std::int64_t>(held.size()));
  errand.hear();
  errand.say(settleAll(*queue, held));
  errand.hear();
}

// settleEven COUNT: takes so many, settles those with even numbers, the last first, says how many.
void settleEven(const QueueErrand& errand) {
  const auto queue = errand.open();
  Deliveries held = takeFrom(*queue, 0, static_cast<std::size_t>(errand.number(0)));
  std::reverse(held.begin(), held.end());
  std::int64_t settled = 0;
  for (const Delivery& one : held) {
    if (one.admission.order.value() % 2 == 0) settled += settleAll(*queue, {one});
  }
  errand.say(settled);
  errand.hear();
}

// bury BATCH: lets everything die, in batches; says so after each.
void bury(const QueueErrand& errand) {
  const auto queue = errand.open();
  while (true) {
    const Deliveries batch = receiveSome(*queue, static_cast<std::size_t>(errand.number(0)));
    if (!batch.empty()) errand.say(settleAll(*queue, batch, SettleKind::DeadLetter));
  }
}

// poison ORDER DELIVERIES: handles everything; this order aborts the process, until it came too often.
void poison(const QueueErrand& errand) {
  const auto queue = errand.open();
  while (true) {
    const Deliveries batch = receiveSome(*queue, 20);
    for (const Delivery& one : batch) {
      const bool exhausted = one.deliveries > errand.number(1);
      if (exhausted) settleAll(*queue, {one}, SettleKind::DeadLetter);
      if (one.admission.order.value() == errand.number(0) && !exhausted) std::abort();
    }
    const auto good = std::count_if(batch.begin(), batch.end(),
                                    [&](const Delivery& d) { return d.deliveries <= errand.number(1); });
    if (good > 0) settleAll(*queue, batch);
  }
}

// follow BATCH: says and settles each order that it is the first to get.
void follow(const QueueErrand& errand) {
  const auto queue = errand.open();
  while (true) {
    const Deliveries batch = receiveSome(*queue, static_cast<std::size_t>(errand.number(0)));
    for (const Delivery& one : batch) {
      if (one.deliveries == 1) errand.say(one.admission.order.value());
    }
    if (!batch.empty()) settleAll(*queue, batch);
    std::this_thread::sleep_for(milliseconds(2));
  }
}

// publish FIRST COUNT: told to, publishes them in one call.
void publishThem(const QueueErrand& errand) {
  const auto queue = errand.open();
  errand.say(0);
  errand.hear();
  const Status published =
      publishTo(*queue, admissionsOf(errand.number(0), errand.number(1)), Deadline::in(kSoon));
  errand.say(published.ok() ? errand.number(1) : -1);
  errand.hear();
}

// join COUNT: told to, opens the queue; then says and settles what it gets, until nothing came for a second.
void joinIn(const QueueErrand& errand) {
  errand.say(0);
  errand.hear();
  const auto queue = errand.open();
  for (Deadline idle = Deadline::in(scaled(milliseconds(1000))); !idle.passed();) {
    const Deliveries batch = receiveSome(*queue, static_cast<std::size_t>(errand.number(0)));
    if (batch.empty()) continue;
    idle = Deadline::in(scaled(milliseconds(1000)));
    settleAll(*queue, batch);
    for (const Delivery& one : batch)
      errand.say(one.admission.order.value());
  }
}

}  // namespace

int runQueueChild(const QueueErrand& errand) {
  static const std::map<std::string, void (*)(const QueueErrand&)> kWorks = {
      {"hold", hold},     {"settleEven", settleEven}, {"bury", bury},   {"poison", poison},
      {"follow", follow}, {"publish", publishThem},   {"join", joinIn},
  };
  kWorks.at(errand.work())(errand);
  return 0;
}

}  // namespace sluice::test
