// DeadDesk: the dead letters, in a queue of their own at the broker.
//
// Role:     puts aside, lists, finds, replays, removes. The broker has no list to look into, so a visit takes
//           all of them out, looks, and gives them back before it ends. An exclusive queue is the lock that keeps
//           visits of all processes apart; it ends with the connection of whoever holds it.
// Threads:  every call from any thread; each visit has a connection of its own, used by the caller's thread.
#pragma once

#include <functional>

#include "publisher.h"
#include "receiver.h"

namespace sluice::rabbitmq {

class DeadDesk {
 public:
  DeadDesk(Shared& shared, Publisher& publisher, Receiver& receiver);

  // All or none, unless OutcomeUnknown. Overloaded where they would be more than dead.max.
  [[nodiscard]] Status bury(std::vector<Message> letters, Deadline deadline);
  // What a letter says when it is buried now: id, reason and instant are set here.
  [[nodiscard]] Message letterOf(const Message& message, std::int64_t deliveries, const std::string& reason);

  [[nodiscard]] Result<std::vector<DeadLetter>> list(const std::string& afterId, std::size_t max,
                                                     Deadline deadline);
  [[nodiscard]] Result<std::optional<DeadLetter>> find(const std::string& id, Deadline deadline);
  [[nodiscard]] Status replay(const std::string& id, Deadline deadline);
  [[nodiscard]] Status remove(const std::string& id, Deadline deadline);

  // Ends the visit there is.
  void abort() noexcept;

 private:
  class Visit;
  [[nodiscard]] Status visit(Deadline deadline, const std::function<Status(Visit&)>& act);

  Shared& shared_;
  Publisher& publisher_;
  Receiver& receiver_;
  const std::uint32_t tag_;  // tells our ids from those of other processes
  std::atomic<std::uint32_t> serial_{0};
  Turn visiting_;
  std::mutex burying_;
  std::mutex linkMutex_;
  Link* link_ = nullptr;  // under linkMutex_
};

}  // namespace sluice::rabbitmq
