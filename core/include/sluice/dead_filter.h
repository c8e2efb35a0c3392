// Which dead letters an operator means, and what became of them.
//
// Role:     plain values of DeadLetters (operations.h). The conditions are judged in the core, so that every
//           queue has all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sluice/order_queue.h"

namespace sluice {

// Every condition that is set must hold. One that names a voucher, a user or an order never means a letter
// that does not decode: such a letter names none.
struct DeadFilter {
  VoucherId voucher;  // none: any
  UserId user;
  OrderId order;
  std::string reason;            // found anywhere in the letter's reason, in upper or lower case (ASCII)
  std::optional<UtcTime> since;  // put aside then or later
  std::optional<UtcTime> until;  // put aside before
  bool undecodable = false;      // only those whose bytes do not decode

  [[nodiscard]] bool matches(const DeadLetter& letter) const;
  // No condition is set.
  [[nodiscard]] bool isEmpty() const noexcept;
};

struct DeadPage {
  std::vector<DeadLetter> letters;
  std::string next;  // where to go on, for `afterId`; empty: that was the end
};

enum class DeadDeed : std::uint8_t { Count, Replay, Drop };

// One bounded piece of work over many letters.
struct DeadSweep {
  std::size_t matched = 0;       // looked at and meant
  std::size_t done = 0;          // of these: replayed or dropped; with Count as many as matched
  std::size_t failed = 0;        // of these: left where they are, for a reason of their own
  std::string firstFailure;      // "dead letter <id>: why", of the first that failed
  std::optional<Error> stopped;  // what is away or full, so that the rest was not tried
  bool more = false;             // there may be more: go on after `next`
  std::string next;
};

}  // namespace sluice
