// The tools of the queue contract suite; see queue_contract.h.
#include "contract/queue_contract.h"

#include <algorithm>

namespace sluice::test {

Admission admissionOf(std::int64_t number) {
  return {.order = OrderId(number),
          .user = UserId(1000000 + number),
          .voucher = VoucherId(1 + number % 3),
          .quantity = static_cast<std::int32_t>(1 + number % 5),
          .admittedAt = fromMillis(1767225600000 + number)};
}

std::vector<Admission> admissionsOf(std::int64_t first, std::int64_t count) {
  std::vector<Admission> admissions;
  admissions.reserve(static_cast<std::size_t>(count));
  for (std::int64_t number = first; number < first + count; ++number) {
    admissions.push_back(admissionOf(number));
  }
  return admissions;
}

std::vector<DeliveryToken> tokensOf(const std::vector<Delivery>& deliveries) {
  std::vector<DeliveryToken> tokens;
  tokens.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) {
    tokens.push_back(delivery.token);
  }
  return tokens;
}

std::vector<std::int64_t> ordersOf(const std::vector<Delivery>& deliveries) {
  std::vector<std::int64_t> orders;
  orders.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) {
    orders.push_back(delivery.admission.order.value());
  }
  return orders;
}

std::vector<Settlement> settlementsOf(const std::vector<Delivery>& deliveries, SettleKind kind) {
  std::vector<Settlement> settlements;
  settlements.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) {
    settlements.push_back({.token = delivery.token, .kind = kind, .reason = {}});
  }
  return settlements;
}

void QueueContract::SetUp() {
  fixture_ = GetParam().make();
  queue_ = open("first");
}

std::unique_ptr<OrderQueue> QueueContract::open(const std::string& instance, std::size_t consumers) {
  auto queue = fixture_->make(instance, consumers);
  const Status started = queue->start(Deadline::in(kSoon));
  EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().text);
  return queue;
}

Status QueueContract::publish(OrderQueue& to, const std::vector<Admission>& admissions) {
  if (to.traits().reserves) {
    const auto places = to.reserve(admissions.size());
    if (!places) return places.error();
    if (places.value() < admissions.size()) {
      to.unreserve(places.value());
      return {ErrorCode::Overloaded, "full"};
    }
  }
  return to.publish(admissions, Deadline::in(kSoon));
}

void QueueContract::publish(std::int64_t first, std::int64_t count) {
  const Status published = publish(*queue_, admissionsOf(first, count));
  ASSERT_TRUE(published.ok()) << published.error().text;
}

std::vector<Delivery> QueueContract::take(OrderQueue& from, std::size_t slot, std::size_t count,
                                          milliseconds within) {
  const Deadline deadline = Deadline::in(within);
  std::vector<Delivery> taken;
  while (taken.size() < count && !deadline.passed()) {
    const std::size_t max = std::min(limits::kReceiveBatchMax, count - taken.size());
    auto batch = from.receive(slot, max, deadline.orSooner(milliseconds(500)));
    // A server that just came back may refuse for a moment.
    if (!batch) continue;
    EXPECT_LE(batch.value().size(), max);
    taken.insert(taken.end(), batch.value().begin(), batch.value().end());
  }
  EXPECT_EQ(taken.size(), count);
  return taken;
}

void QueueContract::expectQuiet(OrderQueue& queue, std::size_t slot, milliseconds during) {
  const auto batch = queue.receive(slot, limits::kReceiveBatchMax, Deadline::in(during));
  ASSERT_TRUE(batch.ok()) << batch.error().text;
  EXPECT_EQ(ordersOf(batch.value()), std::vector<std::int64_t>());
}

void QueueContract::settle(OrderQueue& queue, std::size_t slot, const std::vector<Settlement>& settlements) {
  EXPECT_EQ(countSettled(queue, slot, settlements), settlements.size());
}

std::size_t QueueContract::countSettled(OrderQueue& queue, std::size_t slot,
                                        const std::vector<Settlement>& settlements) {
  const auto outcomes = queue.settle(slot, settlements, Deadline::in(kSoon));
  EXPECT_TRUE(outcomes.ok()) << (outcomes.ok() ? "" : outcomes.error().text);
  if (!outcomes) return 0;
  EXPECT_EQ(outcomes.value().size(), settlements.size());
  return static_cast<std::size_t>(
      std::count(outcomes.value().begin(), outcomes.value().end(), SettleOutcome::Settled));
}

QueueStats QueueContract::stats() {
  const auto stats = queue_->stats(Deadline::in(kSoon));
  EXPECT_TRUE(stats.ok()) << (stats.ok() ? "" : stats.error().text);
  return stats ? stats.value() : QueueStats{};
}

std::vector<DeadLetter> QueueContract::dead() {
  auto letters = queue_->deadLetters("", limits::kPageMax, Deadline::in(kSoon));
  EXPECT_TRUE(letters.ok()) << (letters.ok() ? "" : letters.error().text);
  return letters ? std::move(letters).take() : std::vector<DeadLetter>();
}

DeadLetter QueueContract::deadLetter(std::int64_t order, const std::string& reason) {
  publish(order, 1);
  auto settlements = settlementsOf(take(1), SettleKind::DeadLetter);
  for (Settlement& settlement : settlements) {
    settlement.reason = reason;
  }
  settle(settlements);
  const auto letters = dead();
  return letters.empty() ? DeadLetter() : letters.back();
}

}  // namespace sluice::test
