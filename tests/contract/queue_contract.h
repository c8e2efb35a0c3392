// The contract of OrderQueue as tests: one suite, run on every queue plugin.
//
// A plugin's test brings a QueueCase and says, once, SLUICE_QUEUE_CONTRACT(Stream, kStream). Every suite runs
// on every plugin: where the trait or the thing that a suite needs is missing, it checks that the call
// answers Unsupported (where there is one) and skips with the name of what is missing.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "contract/matrix.h"
#include "contract/queue_fixture.h"

namespace sluice::test {

[[nodiscard]] Admission admissionOf(std::int64_t number);
[[nodiscard]] std::vector<Admission> admissionsOf(std::int64_t first, std::int64_t count);
// As a forwarder publishes them: the entry of order n is journalOf(n).
[[nodiscard]] JournalId journalOf(OrderId order);
[[nodiscard]] std::vector<QueueMessage> messagesOf(std::span<const Admission> admissions);
[[nodiscard]] std::vector<DeliveryToken> tokensOf(const std::vector<Delivery>& deliveries);
[[nodiscard]] std::vector<std::int64_t> ordersOf(const std::vector<Delivery>& deliveries);
[[nodiscard]] std::vector<Settlement> settlementsOf(const std::vector<Delivery>& deliveries,
                                                    SettleKind kind = SettleKind::Done);
// first, first + 1, ...
[[nodiscard]] std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count);
[[nodiscard]] std::vector<std::int64_t> sorted(std::vector<std::int64_t> values);

// Reserves where the queue wants it.
Status publishTo(OrderQueue& to, const std::vector<Admission>& admissions, Deadline deadline);
// Receives until `count` messages came or the time is over; more than one batch is fine, and so is a server
// that refuses for a moment.
[[nodiscard]] std::vector<Delivery> takeFrom(OrderQueue& from, std::size_t slot, std::size_t count,
                                             milliseconds within = kSoon);

// The suite's base: a fixture and a started queue with two slots.
class QueueContract : public testing::TestWithParam<QueueCase> {
 protected:
  void SetUp() override;
  [[nodiscard]] virtual QueueNeeds needs() const { return {}; }
  // Another fixture and queue, for tests with wishes of their own.
  void begin(const QueueNeeds& needs);

  [[nodiscard]] std::unique_ptr<OrderQueue> open(const std::string& instance, std::size_t consumers = 2);
  static Status publish(OrderQueue& to, const std::vector<Admission>& admissions);
  void publish(std::int64_t first, std::int64_t count);
  static std::vector<Delivery> take(OrderQueue& from, std::size_t slot, std::size_t count,
                                    milliseconds within = kSoon);
  std::vector<Delivery> take(std::size_t count) { return take(*queue_, 0, count); }
  // Nothing comes within this time.
  static void expectQuiet(OrderQueue& queue, std::size_t slot, milliseconds during = milliseconds(150));
  // The server is away: a receive fails, after what was here already.
  static void expectReceiveFails(OrderQueue& queue, std::size_t slot, milliseconds within);
  // Each settlement is Settled.
  static void settle(OrderQueue& queue, std::size_t slot, const std::vector<Settlement>& settlements);
  void settle(const std::vector<Settlement>& settlements) { settle(*queue_, 0, settlements); }
  static std::size_t countSettled(OrderQueue& queue, std::size_t slot,
                                  const std::vector<Settlement>& settlements);
  // Receives and settles until the queue is empty; answers every order that came.
  std::set<std::int64_t> drainAll(OrderQueue& queue);
  [[nodiscard]] QueueStats stats();
  [[nodiscard]] std::vector<DeadLetter> dead();
  // Publishes the order and lets it die for `reason`.
  DeadLetter deadLetter(std::int64_t order, const std::string& reason);
  void waitUntil(const std::function<bool()>& holds);
  // Carries messages through the queue, round by round, some of them twice.
  void carry(std::int64_t from, std::int64_t count);
  // Has what is in the queue decided by a store: one row for each of the orders 1 .. `count`.
  void expectOneRowEach(std::int64_t count);

  std::unique_ptr<QueueFixture> fixture_;
  std::unique_ptr<OrderQueue> queue_;
};

class QueueDelay : public QueueContract {
 protected:
  void SetUp() override;
  [[nodiscard]] QueueNeeds needs() const override { return {.lease = kShortLease}; }
};
class QueueLease : public QueueContract {
 protected:
  void SetUp() override;
  [[nodiscard]] QueueNeeds needs() const override { return {.lease = kShortLease}; }
};
class QueueProcesses : public QueueContract {
 protected:
  void SetUp() override;
  void buryUnderKills(std::int64_t messages, Random& random);
  void expectInOnePlace(std::int64_t messages);
  void expectInSomePlace(std::int64_t messages);
  [[nodiscard]] QueueNeeds needs() const override { return {.lease = kShortLease}; }
};
class QueueServer : public QueueContract {
 protected:
  void SetUp() override;
  [[nodiscard]] QueueNeeds needs() const override { return {.synced = true}; }
  [[nodiscard]] QueueServerPower& server() { return *fixture_->server(); }
};
class QueueNetwork : public QueueContract {
 protected:
  void SetUp() override;
  [[nodiscard]] QueueNeeds needs() const override {
    return {.lease = kMiddleLease, .synced = true, .proxied = true};
  }
  [[nodiscard]] FaultProxy& line() { return *fixture_->line(); }
};
class QueueBytes : public QueueContract {
 protected:
  void SetUp() override;
  void expectPutAside(const std::vector<std::string>& foreign);
};

// For the children that the tests start (queue_child.h): the plugin that this program tests.
bool registerQueueCase(const QueueCase& tested);
[[nodiscard]] const QueueCase& registeredQueueCase();

inline std::string queueCaseName(const testing::TestParamInfo<QueueCase>& tested) {
  return tested.param.name;
}

}  // namespace sluice::test

#define SLUICE_QUEUE_SUITE(prefix, suite, queueCase) \
  INSTANTIATE_TEST_SUITE_P(prefix, suite, testing::Values(queueCase), queueCaseName)

#define SLUICE_QUEUE_CONTRACT(prefix, queueCase)                                                \
  [[maybe_unused]] const bool kRegistered##prefix = sluice::test::registerQueueCase(queueCase); \
  SLUICE_QUEUE_SUITE(prefix, QueueContract, queueCase);                                         \
  SLUICE_QUEUE_SUITE(prefix, QueueDelay, queueCase);                                            \
  SLUICE_QUEUE_SUITE(prefix, QueueLease, queueCase);                                            \
  SLUICE_QUEUE_SUITE(prefix, QueueProcesses, queueCase);                                        \
  SLUICE_QUEUE_SUITE(prefix, QueueServer, queueCase);                                           \
  SLUICE_QUEUE_SUITE(prefix, QueueNetwork, queueCase);                                          \
  SLUICE_QUEUE_SUITE(prefix, QueueBytes, queueCase)
