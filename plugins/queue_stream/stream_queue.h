// StreamQueue: the journal's own consumer group as the queue.
//
// Role:     reads what the qualify script has put into the journal; the gate publishes nothing. publish
//           serves replay tools and tests.
// Threads:  as OrderQueue. Each slot has a connection of its own, everything else shares a pool of two.
//           Delivery: at least once, over process deaths, take-over after the lease, and restarts of a
//           Redis that kept its data. Tokens: {delivery number, entry's milliseconds, entry's sequence}.
//           Whether that very delivery is still pending for this slot's consumer is asked of Redis in the
//           same step that settles it. So a token stays good over a reconnect as long as the entry was not
//           handed out again, and a settled, retried, drained or taken-over one is Stale for ever.
#pragma once

#include <memory>
#include <vector>

#include "consumer.h"

namespace sluice::stream {

class StreamQueue final : public OrderQueue {
 public:
  StreamQueue(Settings settings, Log& log, const Clock& clock, Random& random);
  ~StreamQueue() override;

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
  // The consumer of a slot, where the queue runs and the slot exists.
  [[nodiscard]] Result<Consumer*> consumerOf(std::size_t slot);
  // One script or command on a connection of the pool.
  Result<RedisReply> run(const RedisScript& script, std::span<const std::string_view> args,
                         Deadline deadline);
  Result<RedisReply> call(std::span<const std::string_view> args, Deadline deadline);
  Status publishChunk(std::span<const QueueMessage> chunk, std::int64_t max, std::size_t total,
                      Deadline deadline);
  Result<std::size_t> handBack(const Consumer& consumer, Deadline deadline);

  Shared shared_;
  RedisPool pool_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
};

}  // namespace sluice::stream
