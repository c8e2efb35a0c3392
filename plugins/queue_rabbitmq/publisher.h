// Publisher: the publishing connection.
//
// Role:     sends what callers hand over, in order, with a window of unconfirmed messages, and tells each caller
//           what became of his: confirmed, refused (full), returned (nobody wanted it), or unknown. A broker
//           whose memory is full says so only to who publishes; so after a silence a probe that nobody wants goes
//           first, and nothing else before it is confirmed.
// Threads:  publish from any thread; the connection is this object's own thread's.
// Blocking: publish ends by its deadline. A broker that blocks publishers (memory, disk) is Overloaded at once.
#pragma once

#include <deque>
#include <span>

#include "link_thread.h"

namespace sluice::rabbitmq {

struct Outgoing {
  std::string routingKey;  // in our exchange
  Message message;
};

class Publisher final : private LinkThread {
 public:
  explicit Publisher(Shared& shared);
  ~Publisher() override;
  using LinkThread::start;
  using LinkThread::stop;
  using LinkThread::waitConnected;

  // All or none, unless OutcomeUnknown.
  [[nodiscard]] Status publish(std::vector<Outgoing> messages, Deadline deadline);

 private:
  struct Job {
    std::vector<Outgoing> messages;
    std::size_t sent = 0;
    std::size_t settled = 0;
    std::size_t refused = 0;
    std::size_t returned = 0;
    bool lost = false;
    [[nodiscard]] bool done() const { return lost || settled == messages.size(); }
  };
  struct Open {  // sent, not confirmed; an empty job is one that is settled already
    std::shared_ptr<Job> job;
    std::size_t bytes = 0;
    bool returned = false;
  };

  Status prepare(Link& link, Deadline deadline) override;
  void onConnected() override;
  Status work(Link& link) override;
  Status onEvent(Event& event) override;
  void onLost(const Error& why) override;

  [[nodiscard]] Status mayTake(std::size_t messages) const;
  [[nodiscard]] Status outcomeOf(const Job& job, Deadline deadline);
  void withdraw(const std::shared_ptr<Job>& job);
  struct Sending {
    std::shared_ptr<Job> job;
    std::size_t place;
    std::uint64_t sequence;
  };
  [[nodiscard]] std::vector<Sending> whatMayBeSent();
  [[nodiscard]] Sending sendNext(const std::shared_ptr<Job>& job);
  [[nodiscard]] bool mustProbe() const;
  [[nodiscard]] bool windowIsOpen() const noexcept;
  void settle(std::uint64_t tag, bool multiple, bool refused);
  void settleOne(Open& open, bool refused);

  // Under mutex_.
  std::deque<std::shared_ptr<Job>> waiting_;
  std::size_t handedOver_ = 0;
  std::deque<Open> open_;
  std::uint64_t firstOpen_ = 1;  // the broker's number of open_.front()
  std::size_t unsettled_ = 0;
  std::size_t openBytes_ = 0;
  bool blocked_ = false;
  std::shared_ptr<Job> probe_;  // under way
  SteadyTime confirmedAt_{};    // last
};

}  // namespace sluice::rabbitmq
