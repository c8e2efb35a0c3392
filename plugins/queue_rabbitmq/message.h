// Message: what we put into the broker and get from it, with our own headers.
//
// Role:     the broker's own counts end where a message is published anew, so ours travel with it.
// Threads:  plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <amqp.h>
#include <amqp_framing.h>

#include "sluice/order_queue.h"

namespace sluice::rabbitmq {

struct Message {
  std::string bytes;
  JournalId journal{};
  std::int64_t deliveries = 0;  // before it was published
  std::int64_t failures = 0;
  std::int64_t waitMs = 0;      // left of its delay when it leaves the wait queue that it is in
  std::int64_t enqueuedMs = 0;  // first published, wall clock; 0 unknown
  // Dead letters only.
  std::string id{};
  std::string reason{};
  std::int64_t deadAtMs = 0;
  // Told by the broker.
  std::int64_t returned = 0;  // times that it was handed out and came back since it was published
};

// The same admission for its next hand-over; `counted` deliveries are behind it.
[[nodiscard]] Message again(const Message& message, std::int64_t counted);

// Properties of a message for amqp_basic_publish; refers to the message and to itself.
class Properties {
 public:
  // `sequence` comes back with a message that nobody wanted.
  Properties(const Message& message, std::uint64_t sequence);
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  [[nodiscard]] const amqp_basic_properties_t* get() const noexcept { return &properties_; }

 private:
  void add(const char* name, std::int64_t value);
  void add(const char* name, const std::string& text);
  std::string sequence_;
  std::string journal_;
  std::vector<amqp_table_entry_t> headers_;
  amqp_basic_properties_t properties_{};
};

// Takes over what the properties say; leaves alone what they do not.
void readProperties(const amqp_basic_properties_t& properties, bool redelivered, Message& message);
[[nodiscard]] std::uint64_t sequenceOf(const amqp_basic_properties_t& properties);

}  // namespace sluice::rabbitmq
