// Link: one connection to the broker, used by one thread.
//
// Role:     connects, logs in, sends methods and messages, and reads what comes as events. What a delivery or
//           a return is made of (method, header, pieces of body) is put together here.
// Threads:  one owner; abort() from any thread. Lifetime: inert until open; after an error it is of no use.
// Blocking: open and the calls of rabbitmq-c that wait for an answer end by the deadline given last; reading
//           never waits, wait() until something is there.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include <amqp.h>
#include <amqp_framing.h>

#include "message.h"
#include "shared.h"

namespace sluice::rabbitmq {

struct Event {
  enum class Kind : std::uint8_t {
    Delivered,  // message, tag
    Returned,   // sequence
    Confirmed,  // tag, multiple
    Refused,    // tag, multiple: a confirm that says no
    QosSet,
    ConsumerThere,
    CancelDone,
    Cancelled,      // by the broker: the queue is gone
    Counted,        // count
    ChannelClosed,  // error
    Blocked,
    Unblocked,
    Other
  };
  Kind kind = Kind::Other;
  amqp_channel_t channel = 0;
  std::uint64_t tag = 0;
  bool multiple = false;
  std::uint64_t sequence = 0;
  std::int64_t count = 0;
  Message message;
  std::optional<Error> error;
};

class Link {
 public:
  explicit Link(const Settings& settings);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] Status open(Deadline deadline);
  // Whatever the owner does with the connection fails at once.
  void abort() noexcept;
  // Says good-bye where the broker listens; not needed for correctness.
  void closePolitely(milliseconds within) noexcept;

  [[nodiscard]] Status openChannel(amqp_channel_t channel, Deadline deadline);
  [[nodiscard]] Status send(amqp_channel_t channel, amqp_method_number_t method, void* arguments);
  [[nodiscard]] Status publish(amqp_channel_t channel, const std::string& exchange,
                               const std::string& routingKey, const Message& message, std::uint64_t sequence);
  // What came next; nothing where nothing is there. Errors end the link.
  [[nodiscard]] Result<std::optional<Event>> next();
  // Until something came, `wakeUp` is readable, or the time is over. Sends heartbeats.
  [[nodiscard]] Status wait(int wakeUp, milliseconds atMost);
  // next(), waiting for it; Unavailable when the deadline passes.
  [[nodiscard]] Result<Event> await(Deadline deadline);

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] amqp_connection_state_t raw() noexcept { return connection_; }
  // For the calls of rabbitmq-c that wait for an answer.
  void limitCalls(Deadline deadline) noexcept;
  [[nodiscard]] Status lastCall() const;
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }

 private:
  struct Content {  // a message of which pieces are still to come
    Event event;
    bool redelivered = false;
    bool headerSeen = false;
    std::uint64_t left = 0;
  };
  [[nodiscard]] Status openSocket(Deadline deadline);
  [[nodiscard]] Status logIn(Deadline deadline);
  [[nodiscard]] Result<std::optional<Event>> onFrame(const amqp_frame_t& frame);
  [[nodiscard]] Result<std::optional<Event>> onMethod(const amqp_frame_t& frame);
  [[nodiscard]] std::optional<Event> onContent(const amqp_frame_t& frame);

  const Settings& settings_;
  amqp_connection_state_t connection_;
  std::atomic<int> descriptor_{-1};
  std::atomic<bool> aborted_{false};
  std::map<amqp_channel_t, Content> contents_;
};

}  // namespace sluice::rabbitmq
