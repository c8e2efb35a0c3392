// Consumer: one receive slot: its connection, its name in the group, its deliveries.
//
// Role:     reads the journal through the group: own pending first, then retries and what the dead left,
//           then what is new.
// Threads:  receive, settle, extend by one thread at a time; interrupt and waitIdle from any. Lifetime:
//           connects when first used; after any failure of the connection it connects anew, with backoff
//           and jitter, under the same name, so that what Redis still holds for that name comes again.
#pragma once

#include <memory>
#include <string>

#include "entries.h"
#include "shared.h"

namespace sluice::stream {

class Consumer {
 public:
  Consumer(Shared& shared, std::size_t slot);

  [[nodiscard]] Result<std::vector<Delivery>> receive(std::size_t max, Deadline deadline);
  [[nodiscard]] Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements,
                                                          Deadline deadline);
  [[nodiscard]] Status extend(std::span<const DeliveryToken> tokens, Deadline deadline);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Makes a blocked call fail at once.
  void interrupt() noexcept;
  // True once no receive is under way.
  [[nodiscard]] bool waitIdle(Deadline deadline);

 private:
  class Receiving;  // marks a receive under way, for waitIdle
  struct Words;     // arguments of a settling script

  Status connect(Deadline deadline);
  Status enter(Deadline deadline);
  void drop() noexcept;
  [[nodiscard]] Error failed(const Error& error, std::string_view doing);

  Status receiveInto(Batch& batch, std::size_t max, Deadline deadline);
  Status recover(Batch& batch, std::size_t max, Deadline deadline);
  Status poll(Batch& batch, std::size_t max, Deadline deadline);
  Status readNew(Batch& batch, std::size_t max, milliseconds block, Deadline deadline);
  [[nodiscard]] bool pollIsDue() const noexcept;
  [[nodiscard]] milliseconds blockFor(Deadline deadline) const noexcept;
  Status rebuild(Deadline deadline);
  void buryGarbage(Batch& batch, Deadline deadline);

  // Runs a settling script over tokens; one verdict for each, all "0" where the group is gone.
  Result<std::string> run(const RedisScript& script, const Words& words, Deadline deadline);
  Result<std::string> bury(std::span<const Garbage> letters, bool decodable, Deadline deadline);
  Result<std::string> settleKind(SettleKind kind, std::span<const Settlement* const> part, Deadline deadline);

  Shared& shared_;
  const std::string name_;

  std::mutex mutex_;  // guards connection_ against interrupt, and receiving_
  std::condition_variable idle_;
  bool receiving_ = false;
  std::unique_ptr<RedisConnection> connection_;  // set by the slot's thread alone

  bool connectedBefore_ = false;
  std::uint32_t failedInRow_ = 0;
  std::uint32_t rebuiltInRow_ = 0;
  SteadyTime nextAttempt_{};
  bool recovering_ = true;
  std::string recoverAfter_;
  SteadyTime nextPoll_{};
  bool letNewPass_ = false;
};

}  // namespace sluice::stream
