// Receiver: the consuming connection: deliveries, acknowledgements, counts.
//
// Role:     a standing consumer brings messages ahead of those who ask, at least twice what they ask for at a
//           time, so that a batch is there when one is wanted; all slots take from one stock. It is opened by the
//           first fetch, opened anew with room for more where everything that it may bring is out, and ends in
//           rest(). A second one brings what must come alone, one message at a time.
// Threads:  every call from any thread; the connection is this object's own thread's.
// Blocking: every call ends by its deadline and kGrace.
#pragma once

#include <deque>
#include <set>

#include "link_thread.h"

namespace sluice::rabbitmq {

// Where a message came from: the channel that settles it.
enum class Source : std::uint8_t { Work, Alone };

struct Ticket {
  std::uint64_t epoch = 0;
  Source source = Source::Work;
  std::uint64_t tag = 0;
};

struct Received {
  Ticket ticket;
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

  // At most `max`, one that must come alone by itself; empty when the deadline passes or interrupt() is called.
  [[nodiscard]] Result<std::vector<Received>> fetch(std::size_t max, Deadline deadline);
  // Ends every fetch, now and later.
  void interrupt() noexcept;
  // Ends the consumers, until the next fetch. Answers what they brought and nobody fetched.
  [[nodiscard]] Result<std::vector<Received>> rest(Deadline deadline);
  // How long nobody has fetched; zero while somebody waits.
  [[nodiscard]] milliseconds idleFor() const;
  [[nodiscard]] std::size_t inStock() const;
  // Rises with every message that comes.
  [[nodiscard]] std::uint64_t arrivals() const;

  enum class Verdict : std::uint8_t { Accept, HandBack };
  // All of one epoch; once it answers, the broker has them. OutcomeUnknown where it does not.
  [[nodiscard]] Status settle(const std::vector<Ticket>& tickets, Verdict verdict, Deadline deadline);
  // Messages that wait in each of the queues.
  [[nodiscard]] Result<std::vector<std::int64_t>> count(const std::vector<std::string>& queues,
                                                        Deadline deadline);

 private:
  enum class Phase : std::uint8_t { None, Starting, Standing, Ending };
  struct Consumer {
    explicit Consumer(std::string of) : queue(std::move(of)) {}
    std::string queue;
    Phase phase = Phase::None;
    std::string tag;
    std::size_t wish = 0;      // open one with such a prefetch, after the one there is
    bool stop = false;         // end the one there is
    std::size_t prefetch = 0;  // of the one there is
    std::uint64_t since = 1;   // the first delivery of the one there is
    std::uint64_t next = 1;    // the delivery that comes next on this channel
    std::size_t out = 0;       // of the one there is, not settled
    std::deque<Received> stock;
    std::set<std::uint64_t> unsettled;  // of this channel
    std::deque<std::uint64_t> fences;   // answers to come of basic.qos; 0 is asked for nothing
    std::uint64_t fencePassed = 0;
  };
  struct Settling {
    std::vector<Ticket> tickets;
    Verdict verdict;
    std::uint64_t fence;
  };
  struct Counting {
    std::vector<std::string> queues;
    std::vector<std::int64_t> counts;
  };
  // A method to be sent; put together under the lock, sent without it.
  struct Command {
    enum class Kind : std::uint8_t { Accept, HandBack, Fence, Consume, Cancel, Count };
    Kind kind;
    amqp_channel_t channel;
    std::uint64_t tag = 0;
    bool multiple = false;
    std::size_t prefetch = 0;
    std::string name{};  // of a queue, or a consumer
    std::string queue{};
  };
  class Waiting;

  Status prepare(Link& link, Deadline deadline) override;
  void onConnected() override;
  Status work(Link& link) override;
  Status onEvent(Event& event) override;
  void onLost(const Error& why) override;

  [[nodiscard]] static Status send(Link& link, const Command& command);
  void addSettlings(std::vector<Command>& commands);
  void addSettled(std::vector<Command>& commands, Source source, const Settling& settling);
  void addFences(std::vector<Command>& commands);
  void addCountings(std::vector<Command>& commands);
  void addConsumer(std::vector<Command>& commands, Source source);
  [[nodiscard]] bool wishFor(std::size_t max);
  [[nodiscard]] std::uint64_t askFence();
  [[nodiscard]] std::vector<Received> takeStock(std::size_t max, bool nothingElseComes);
  void onDelivered(Event& event);
  void onCounted(std::int64_t count);
  [[nodiscard]] Consumer& of(Source source) { return consumers_[static_cast<std::size_t>(source)]; }
  [[nodiscard]] bool hasPassed(const std::vector<Ticket>& tickets, std::uint64_t fence);

  // Under mutex_.
  std::vector<Consumer> consumers_;  // by Source
  std::deque<Settling> settlings_;
  std::deque<std::uint64_t> askedFences_;  // on the work channel
  std::deque<std::shared_ptr<Counting>> toCount_;
  std::deque<std::shared_ptr<Counting>> counting_;
  std::uint64_t lastFence_ = 0;
  std::uint64_t lastConsumer_ = 0;
  std::uint64_t arrivals_ = 0;
  std::size_t fetching_ = 0;
  std::size_t enough_ = 1;  // what the most modest of those who fetch wants
  SteadyTime fetchedAt_{};  // last
  bool aloneTurn_ = false;
  bool interrupted_ = false;
};

}  // namespace sluice::rabbitmq
