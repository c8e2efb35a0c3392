// A fleet: two fronts and two workers as processes of their own, on one Redis, one queue and one store, with
// buyers who never stop. Queue and store are parameters.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fault/fleet_store.h"
#include "fault/sale.h"
#include "support/private_redis.h"

namespace sluice::test {

// What is done to a broker beyond what is done to any server.
class FleetBroker : public FleetServer {
 public:
  virtual void setMemoryFull(bool full) = 0;
  virtual void purge() = 0;  // the work queue
  virtual void loseQueues() = 0;
  // Somebody else's queue is in the place of the work queue; gone again with false.
  virtual void occupy(bool occupied) = 0;
};

class FleetQueue {
 public:
  virtual ~FleetQueue();
  // What a process needs to use it, with leases as short as the tests want them.
  [[nodiscard]] virtual ServerProcess::Sets sets() const = 0;
  // None where Redis itself is the queue.
  [[nodiscard]] virtual FleetBroker* server() { return nullptr; }
};

struct FleetQueueName {
  std::string name;
  bool hasServer = false;
};
[[nodiscard]] const std::vector<FleetQueueName>& fleetQueueNames();  // "stream", "rabbitmq"
[[nodiscard]] std::unique_ptr<FleetQueue> makeFleetQueue(const std::string& name);

class Fleet {
 public:
  static constexpr std::int64_t kVoucher = 1;

  // All started, with a voucher on sale.
  Fleet(const std::string& queue, const std::string& store, const ServerProcess::Sets& more = {});
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  [[nodiscard]] PrivateRedis& redis() noexcept { return redis_; }
  [[nodiscard]] FaultProxy& redisLine() noexcept { return redisLine_; }
  [[nodiscard]] FleetStore& store() noexcept { return *store_; }
  [[nodiscard]] FleetServer& database() { return *store_->server(); }
  [[nodiscard]] FleetBroker& broker() { return *queue_->server(); }
  [[nodiscard]] ServerProcess& front(std::size_t k) { return *fronts_.at(k); }
  [[nodiscard]] ServerProcess& worker(std::size_t k) { return *workers_.at(k); }

  // Buyers, each of another user and once, who ask one front and then the other, until stopStorm().
  void startStorm();
  // Until so many more were admitted.
  void awaitAdmitted(std::size_t more);
  // Answers every attempt since the start.
  std::vector<Attempt> stopStorm();
  [[nodiscard]] std::size_t admittedSoFar() const noexcept { return admitted_; }

  // Somebody is admitted by each front within `wait`, and has a row.
  void expectOrdersFlowAgain(milliseconds wait);
  // Each attempt that was admitted has exactly one row.
  void expectOneRowEach(const std::vector<Attempt>& attempts, milliseconds wait);
  // Nothing on its way, nothing amiss.
  void expectCleanAudit(milliseconds wait);

 private:
  void buy(std::size_t buyer);

  PrivateRedis redis_{{"--appendfsync", "always"}};
  FaultProxy redisLine_{{redis_.target().socketPath, 0}};
  TempFolder data_;
  std::unique_ptr<FleetQueue> queue_;
  std::unique_ptr<FleetStore> store_;
  std::vector<std::unique_ptr<ServerProcess>> fronts_;
  std::vector<std::unique_ptr<ServerProcess>> workers_;
  std::atomic<bool> storming_{false};
  std::atomic<std::int64_t> nextUser_{1};
  std::atomic<std::size_t> admitted_{0};
  std::mutex mutex_;
  std::vector<Attempt> attempts_;  // guarded by mutex_
  std::vector<std::thread> buyers_;
};

}  // namespace sluice::test
