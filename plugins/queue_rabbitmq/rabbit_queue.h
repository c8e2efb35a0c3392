// RabbitQueue: OrderQueue over RabbitMQ.
//
// Role:     see core/include/sluice/order_queue.h for the contract and README.md for what this queue promises.
//           Publishing, receiving and dead letters are in publisher.h; receiver.h, intake.h and slot.h; dead_desk.h.
// Threads:  as the contract says. Three threads of its own: one for each connection, and one that gives back what
//           nobody takes and what was held for too long.
#pragma once

#include "slot.h"

namespace sluice::rabbitmq {

class RabbitQueue final : public OrderQueue {
 public:
  RabbitQueue(Settings settings, Log& log, const Clock& clock, Random& random);
  ~RabbitQueue() override;

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
  [[nodiscard]] Status tryOut(Deadline deadline);
  [[nodiscard]] Status checkRoom(std::size_t messages, Deadline deadline);
  void awaitReady(std::int64_t messages, Deadline deadline);
  void attend();
  void attendOnce();
  [[nodiscard]] Result<Slot*> slotOf(std::size_t slot);
  struct Depth {
    std::int64_t ready = 0, inFlight = 0, dead = 0;
    std::optional<std::int64_t> oldestMs;
  };
  [[nodiscard]] Result<Depth> depth(Deadline deadline);
  [[nodiscard]] Result<Depth> restingDepth(Deadline deadline);

  Shared shared_;
  Publisher publisher_;
  Receiver receiver_;
  DeadDesk desk_;
  Intake intake_;
  std::vector<std::unique_ptr<Slot>> slots_;

  std::mutex mutex_;         // guards what follows
  std::int64_t filled_ = 0;  // the messages there were when last counted, and those published since
  SteadyTime countedAt_{};
  std::optional<SteadyTime> readySince_;
  Link* trial_ = nullptr;
  std::thread attendant_;
  std::condition_variable closed_;
};

}  // namespace sluice::rabbitmq
