// Receiver: the consuming connection: deliveries, acknowledgements, counts.
//
// Role:     asks the broker for as many messages as a caller wants now and as there are for him, at least one: a
//           consumer with that prefetch is opened for each wait, and cancelled once they came. So nothing lies
//           here that others could handle, and the broker's own count of deliveries is that of hand-overs. A
//           consumer that is cancelled with messages under way would have them counted as delivered and returned.
// Threads:  every call from any thread, for one slot one at a time (stop and drain from any); the connection is
//           this object's own thread's. Each slot has a channel of its own.
// Blocking: every call ends by its deadline and kGrace.
#pragma once

#include <deque>

#include "link_thread.h"

namespace sluice::rabbitmq {

struct Received {
  std::uint64_t epoch = 0;
  std::uint64_t tag = 0;
  Message message;
};

class Receiver final : private LinkThread {
 public:
  explicit Receiver(Shared& shared);
  ~Receiver() override;
  using LinkThread::epoch;
  using LinkThread::isConnected;
  using LinkThread::start;
  using LinkThread::stop;
  using LinkThread::waitConnected;

  // At most `max`; empty when the deadline passes or interrupt() is called.
  [[nodiscard]] Result<std::vector<Received>> fetch(std::size_t slot, std::size_t max, Deadline deadline);
  // Ends the waits of every slot, now and later.
  void interrupt() noexcept;
  enum class Verdict : std::uint8_t { Accept, HandBack };
  // Of this epoch; once it answers, the broker has them. OutcomeUnknown where it does not.
  [[nodiscard]] Status settle(std::size_t slot, std::uint64_t epoch, const std::vector<std::uint64_t>& tags,
                              Verdict verdict, Deadline deadline);
  // Messages that wait in each of the queues.
  [[nodiscard]] Result<std::vector<std::int64_t>> count(const std::vector<std::string>& queues,
                                                        Deadline deadline);

 private:
  enum class Phase : std::uint8_t { Idle, Wanted, Counting, Starting, Consuming, Cancelling };
  struct Slot {
    bool open = false;
    Phase phase = Phase::Idle;
    bool look = false;  // do not wait where nothing is there
    bool stop = false;  // no longer waited for
    std::string tag;    // of the consumer
    std::size_t max = 0;
    std::size_t goal = 0;   // so many are expected to arrive
    bool wasEmpty = false;  // nothing waited; with what came first there may be more
    bool filling = false;   // having a second look
    std::vector<Received> arrived;
    std::deque<std::uint64_t> fences;  // answers to come of basic.qos; 0 belongs to a fetch
    std::uint64_t fencePassed = 0;
  };
  struct Settling {
    std::size_t slot;
    std::vector<std::uint64_t> tags;
    Verdict verdict;
    std::uint64_t fence;
  };
  struct Counting {
    std::vector<std::string> queues;
    std::vector<std::int64_t> counts;
  };

  [[nodiscard]] Result<std::vector<Received>> fetchOnce(std::size_t slot, std::size_t max, bool look,
                                                        Deadline deadline);
  Status prepare(Link& link, Deadline deadline) override;
  void onConnected() override;
  Status work(Link& link) override;
  Status onEvent(Link& link, Event& event) override;
  void onLost(const Error& why) override;

  [[nodiscard]] Status serveSlot(Link& link, std::size_t slot);
  [[nodiscard]] Status askDepth(Link& link, std::size_t slot);
  [[nodiscard]] Status onDepth(Link& link, std::size_t slot, std::int64_t waiting);
  [[nodiscard]] Status onCancelled(Link& link, std::size_t slot);
  [[nodiscard]] Status consume(Link& link, std::size_t slot, std::size_t wanted);
  [[nodiscard]] Status cancel(Link& link, std::size_t slot);
  [[nodiscard]] Status openSlot(Link& link, std::size_t slot);
  [[nodiscard]] Status fence(Link& link, std::size_t slot, std::uint64_t number, std::size_t prefetch);
  [[nodiscard]] Status sendSettling(Link& link, const Settling& settling);
  [[nodiscard]] Status sendCounting(Link& link, const Counting& counting);
  void onDelivered(Event& event);
  [[nodiscard]] Status onConsumer(Link& link, std::size_t slot);
  void onCounted(std::int64_t count);
  [[nodiscard]] static bool isFull(const Slot& slot) { return slot.arrived.size() >= slot.goal; }
  [[nodiscard]] Slot* slotOf(amqp_channel_t channel);

  // Under mutex_.
  std::vector<Slot> slots_;
  std::deque<Settling> settlings_;
  std::deque<std::shared_ptr<Counting>> toCount_;
  std::deque<std::shared_ptr<Counting>> counting_;
  std::uint64_t lastFence_ = 0;
  std::uint64_t lastConsumer_ = 0;
  bool interrupted_ = false;
};

}  // namespace sluice::rabbitmq
