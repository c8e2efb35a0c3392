// InprocQueue: a bounded queue in this process's memory.
//
// Role:     the step "blocking queue" of the evolution. With the journal off the gate publishes to it, and what it
//           holds dies with the process; with the journal on the forwarder does, and it is read again.
// Threads:  as OrderQueue; one mutex, held for moves of at most one batch. Delivery: a message that was
//           handed out belongs to its slot until it is settled or drain() takes it back. There is no lease:
//           the holder is a thread of this process and dies only with the queue.
// Limits:   capacity counts everything that is not dead: waiting, delayed, handed out and reserved.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "sluice/log.h"
#include "sluice/order_queue.h"

namespace sluice::inproc {

struct Settings {
  std::size_t capacity = 100000;
  std::size_t deadMax = 10000;
};

class InprocQueue final : public OrderQueue {
 public:
  InprocQueue(Settings settings, Log& log, const Clock& clock);
  ~InprocQueue() override;

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
  enum class State : std::uint8_t { Inert, Running, Draining, Closed };

  struct Message {
    std::uint64_t serial = 0;  // names it for its whole life here; ascending in order of arrival
    QueueMessage content;
    SteadyTime enqueued;
    std::uint32_t deliveries = 0;
    std::uint32_t failures = 0;
  };
  struct Held {
    Message message;
    std::size_t slot = 0;
  };
  using HeldMap = std::unordered_map<std::uint64_t, Held>;

  // The holder's entry where the token names its present delivery to this slot.
  HeldMap::iterator findHeld(std::size_t slot, const DeliveryToken& token);
  [[nodiscard]] std::size_t used() const noexcept;
  void append(const QueueMessage& content);
  void takeBatch(std::size_t slot, std::size_t max, std::vector<Delivery>& batch);
  [[nodiscard]] bool againIsDue() const;
  void handOut(std::size_t slot, Message message, std::vector<Delivery>& batch);
  [[nodiscard]] SteadyTime wakeAt(Deadline deadline) const;
  void bury(const Message& message, const std::string& reason);
  [[nodiscard]] std::size_t countDead(std::size_t slot, std::span<const Settlement> settlements);
  SettleOutcome settleOne(std::size_t slot, const Settlement& settlement);
  [[nodiscard]] Status refusal() const;
  [[nodiscard]] std::size_t countLost() const noexcept;

  const Settings settings_;
  Log& log_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::Inert;  // guarded by mutex_, as is all below
  std::uint64_t nextSerial_ = 1;
  std::size_t reserved_ = 0;
  std::deque<Message> fresh_;
  // Those to be handed out again, by the instant from which they may be.
  std::multimap<SteadyTime, Message> again_;
  bool lastWasAlone_ = false;
  HeldMap held_;
  std::map<std::uint64_t, DeadLetter> dead_;
  std::uint64_t redelivered_ = 0;
  std::uint64_t deadLettered_ = 0;
};

}  // namespace sluice::inproc
