// The tools of the queue contract suite; see queue_contract.h.
#include "contract/queue_contract.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>

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

JournalId journalOf(OrderId order) { return {1767225600000, static_cast<std::uint64_t>(order.value())}; }

std::vector<QueueMessage> messagesOf(std::span<const Admission> admissions) {
  std::vector<QueueMessage> messages;
  messages.reserve(admissions.size());
  for (const Admission& admission : admissions) {
    messages.push_back({admission, journalOf(admission.order)});
  }
  return messages;
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

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

Status publishTo(OrderQueue& to, const std::vector<Admission>& admissions, Deadline deadline) {
  if (to.traits().reserves) {
    const auto places = to.reserve(admissions.size());
    if (!places) return places.error();
    if (places.value() < admissions.size()) {
      to.unreserve(places.value());
      return {ErrorCode::Overloaded, "full"};
    }
  }
  return to.publish(messagesOf(admissions), deadline);
}

std::vector<Delivery> takeFrom(OrderQueue& from, std::size_t slot, std::size_t count, milliseconds within) {
  const Deadline deadline = Deadline::in(within);
  std::vector<Delivery> taken;
  while (taken.size() < count && !deadline.passed()) {
    const std::size_t max = std::min(limits::kReceiveBatchMax, count - taken.size());
    auto batch = from.receive(slot, max, deadline.orSooner(milliseconds(500)));
    if (!batch) continue;
    EXPECT_LE(batch.value().size(), max);
    taken.insert(taken.end(), batch.value().begin(), batch.value().end());
  }
  return taken;
}

void QueueContract::SetUp() { begin(needs()); }

void QueueContract::begin(const QueueNeeds& needs) {
  queue_.reset();
  fixture_ = GetParam().make(needs);
  queue_ = open("first");
}

void QueueDelay::SetUp() {
  QueueContract::SetUp();
  if (queue_->traits().delayedRetry) return;
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = milliseconds(1);
  EXPECT_EQ(queue_->settle(0, later, Deadline::in(kSoon)).error().code, ErrorCode::Unsupported);
  SLUICE_SKIP_UNCLAIMED("delayedRetry");
}

void QueueLease::SetUp() {
  QueueContract::SetUp();
  if (queue_->traits().leaseExtend) return;
  publish(1, 1);
  const auto held = take(1);
  EXPECT_EQ(queue_->extend(0, tokensOf(held), Deadline::in(kSoon)).error().code, ErrorCode::Unsupported);
  SLUICE_SKIP_UNCLAIMED("leaseExtend");
}

void QueueProcesses::SetUp() {
  QueueContract::SetUp();
  if (!queue_->traits().multiProcess) SLUICE_SKIP_UNCLAIMED("multiProcess");
}

void QueueServer::SetUp() {
  QueueContract::SetUp();
  if (fixture_->server() == nullptr) SLUICE_SKIP_UNCLAIMED("a server");
}

void QueueNetwork::SetUp() {
  QueueContract::SetUp();
  if (fixture_->line() == nullptr) SLUICE_SKIP_UNCLAIMED("a network");
}

void QueueBytes::SetUp() {
  QueueContract::SetUp();
  if (!fixture_->inject("probe")) SLUICE_SKIP_UNCLAIMED("raw bytes");
  begin(needs());
}

std::unique_ptr<OrderQueue> QueueContract::open(const std::string& instance, std::size_t consumers) {
  auto queue = fixture_->make(instance, consumers);
  const Status started = queue->start(Deadline::in(kSoon));
  EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().text);
  return queue;
}

Status QueueContract::publish(OrderQueue& to, const std::vector<Admission>& admissions) {
  return publishTo(to, admissions, Deadline::in(kSoon));
}

void QueueContract::publish(std::int64_t first, std::int64_t count) {
  const Status published = publish(*queue_, admissionsOf(first, count));
  ASSERT_TRUE(published.ok()) << published.error().text;
}

std::vector<Delivery> QueueContract::take(OrderQueue& from, std::size_t slot, std::size_t count,
                                          milliseconds within) {
  auto taken = takeFrom(from, slot, count, within);
  EXPECT_EQ(taken.size(), count);
  return taken;
}

void QueueContract::expectQuiet(OrderQueue& queue, std::size_t slot, milliseconds during) {
  const auto batch = queue.receive(slot, limits::kReceiveBatchMax, Deadline::in(during));
  ASSERT_TRUE(batch.ok()) << batch.error().text;
  EXPECT_EQ(ordersOf(batch.value()), std::vector<std::int64_t>());
}

void QueueContract::expectReceiveFails(OrderQueue& queue, std::size_t slot, milliseconds within) {
  auto batch = queue.receive(slot, 1, Deadline::in(within));
  while (queue.traits().prefetches && batch && !batch.value().empty())
    batch = queue.receive(slot, 1, Deadline::in(within));
  EXPECT_FALSE(batch.ok());
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

std::set<std::int64_t> QueueContract::drainAll(OrderQueue& queue) {
  std::set<std::int64_t> seen;
  const Deadline deadline = Deadline::in(kSoon);
  while (fixture_->rawDepth() > 0 && !deadline.passed()) {
    const auto batch = queue.receive(0, limits::kReceiveBatchMax, Deadline::in(milliseconds(200)));
    if (!batch || batch.value().empty()) continue;
    const auto orders = ordersOf(batch.value());
    seen.insert(orders.begin(), orders.end());
    (void)queue.settle(0, settlementsOf(batch.value()), Deadline::in(kSoon));
  }
  EXPECT_EQ(fixture_->rawDepth(), 0);
  return seen;
}

void QueueContract::waitUntil(const std::function<bool()>& holds) {
  const Deadline deadline = Deadline::in(kSoon);
  bool held = holds();
  while (!held && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(10));
    held = holds();
  }
  EXPECT_TRUE(held);
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

namespace {

const QueueCase*& onlyCase() {
  static const QueueCase* tested = nullptr;
  return tested;
}

}  // namespace

bool registerQueueCase(const QueueCase& tested) {
  onlyCase() = &tested;
  return true;
}

const QueueCase& registeredQueueCase() { return *onlyCase(); }

// A program may hold the tests of some suites only.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueDelay);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueLease);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueProcesses);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueServer);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueNetwork);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueBytes);

}  // namespace sluice::test
