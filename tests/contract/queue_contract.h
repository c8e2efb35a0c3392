// The contract of OrderQueue as tests: one suite, run on every queue plugin.
//
// A plugin brings a QueueFixture and instantiates the suites whose traits it claims:
//   INSTANTIATE_TEST_SUITE_P(Stream, QueueContract, Values(QueueCase{"stream", makeStreamFixture}),
//   queueCaseName);
// QueueContract is for all; QueueDelay (delayedRetry), QueueLease (leaseExtend), QueueProcesses
// (multiProcess) and QueueServer (a server behind it that can die) for those that claim it. QueueContract
// also checks that what is not claimed answers Unsupported.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/order_queue.h"

namespace sluice::test {

// How to open a queue, and what one can do behind its back.
class QueueFixture {
 public:
  virtual ~QueueFixture() = default;

  // An object on the fixture's one queue, not started. With multiProcess each instance name stands for one
  // process.
  virtual std::unique_ptr<OrderQueue> make(const std::string& instance, std::size_t consumers) = 0;
  // Messages that the queue has not forgotten, counted without the plugin. Dead letters are none.
  virtual std::int64_t rawDepth() = 0;
  // Dead letters that the queue keeps before it answers Overloaded.
  [[nodiscard]] virtual std::size_t deadMax() const = 0;

  // QueueProcesses: the lease with which `make` opens the queue, and how long after it a take-over may still
  // take.
  [[nodiscard]] virtual milliseconds lease() const { return {}; }
  [[nodiscard]] virtual milliseconds takeOverSlack() const { return milliseconds(3000); }

  // QueueServer.
  virtual void killServer() {}
  virtual void startServer() {}
  virtual void freezeServer() {}
  virtual void resumeServer() {}
};

struct QueueCase {
  std::string name;
  std::function<std::unique_ptr<QueueFixture>()> make;
  friend std::ostream& operator<<(std::ostream& out, const QueueCase& tested) { return out << tested.name; }
};

inline std::string queueCaseName(const testing::TestParamInfo<QueueCase>& tested) {
  return tested.param.name;
}

// A time-out for things that must happen; long, because a loaded machine is no failure.
inline constexpr milliseconds kSoon{20000};

[[nodiscard]] Admission admissionOf(std::int64_t number);
[[nodiscard]] std::vector<Admission> admissionsOf(std::int64_t first, std::int64_t count);
[[nodiscard]] std::vector<DeliveryToken> tokensOf(const std::vector<Delivery>& deliveries);
[[nodiscard]] std::vector<std::int64_t> ordersOf(const std::vector<Delivery>& deliveries);
[[nodiscard]] std::vector<Settlement> settlementsOf(const std::vector<Delivery>& deliveries,
                                                    SettleKind kind = SettleKind::Done);

// The suite's base: a fixture and a started queue with two slots.
class QueueContract : public testing::TestWithParam<QueueCase> {
 protected:
  void SetUp() override;

  [[nodiscard]] std::unique_ptr<OrderQueue> open(const std::string& instance, std::size_t consumers = 2);
  // Reserves where the queue wants it, in batches.
  static Status publish(OrderQueue& to, const std::vector<Admission>& admissions);
  void publish(std::int64_t first, std::int64_t count);
  // Receives until `count` messages came or the time is over; more than one batch is fine.
  static std::vector<Delivery> take(OrderQueue& from, std::size_t slot, std::size_t count,
                                    milliseconds within = kSoon);
  std::vector<Delivery> take(std::size_t count) { return take(*queue_, 0, count); }
  // Nothing comes within this time.
  static void expectQuiet(OrderQueue& queue, std::size_t slot, milliseconds during = milliseconds(150));
  // Each settlement is Settled.
  static void settle(OrderQueue& queue, std::size_t slot, const std::vector<Settlement>& settlements);
  void settle(const std::vector<Settlement>& settlements) { settle(*queue_, 0, settlements); }
  static std::size_t countSettled(OrderQueue& queue, std::size_t slot,
                                  const std::vector<Settlement>& settlements);
  [[nodiscard]] QueueStats stats();
  [[nodiscard]] std::vector<DeadLetter> dead();
  // Publishes the order and lets it die for `reason`.
  DeadLetter deadLetter(std::int64_t order, const std::string& reason);

  std::unique_ptr<QueueFixture> fixture_;
  std::unique_ptr<OrderQueue> queue_;
};

class QueueDelay : public QueueContract {};
class QueueLease : public QueueContract {};
class QueueProcesses : public QueueContract {};
class QueueServer : public QueueContract {};

}  // namespace sluice::test
