// FaultyQueue: a real queue that fails on command, or hands out every message twice.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "sluice/order_queue.h"

#include "support/faults.h"

namespace sluice::test {

// What fails before the call never reaches the real one; what fails after it has happened there.
class FaultyQueue final : public OrderQueue {
 public:
  explicit FaultyQueue(OrderQueue& real) : real_(real) {}

  Faults faults{queueCalls()};
  // From now on each delivery comes twice, with the same token: what a queue may do that promises "at least
  // once".
  void deliverTwice() { twice_ = true; }

  [[nodiscard]] const QueueTraits& traits() const noexcept override;
  [[nodiscard]] Status start(Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> reserve(std::size_t wanted) override;
  void unreserve(std::size_t places) noexcept override;
  [[nodiscard]] Status publish(std::span<const QueueMessage> messages, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Delivery>> receive(std::size_t slot, std::size_t max,
                                                      Deadline deadline) override;
  [[nodiscard]] Result<std::vector<SettleOutcome>> settle(std::size_t slot,
                                                          std::span<const Settlement> settlements,
                                                          Deadline deadline) override;
  [[nodiscard]] Status extend(std::size_t slot, std::span<const DeliveryToken> tokens,
                              Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> drain(Deadline deadline) override;
  void close() noexcept override;
  [[nodiscard]] Result<QueueStats> stats(Deadline deadline) override;
  [[nodiscard]] Result<std::vector<DeadLetter>> deadLetters(const std::string& afterId, std::size_t max,
                                                            Deadline deadline) override;
  [[nodiscard]] Result<std::optional<DeadLetter>> findDeadLetter(const std::string& id,
                                                                 Deadline deadline) override;
  [[nodiscard]] Status replayDeadLetter(const std::string& id, Deadline deadline) override;
  [[nodiscard]] Status removeDeadLetter(const std::string& id, Deadline deadline) override;

 private:
  std::vector<Delivery> takeAgain(std::size_t slot);
  void repeat(std::size_t slot, std::size_t max, std::vector<Delivery>& batch);

  std::atomic<bool> twice_{false};
  std::mutex mutex_;
  std::map<std::size_t, std::vector<Delivery>> again_;  // guarded by mutex_, as is turn_
  std::size_t turn_ = 0;
  OrderQueue& real_;
};

}  // namespace sluice::test
