// The answer to a request. One table for script, server and documents; a number, once given, never changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

enum class Verdict : std::uint8_t {
  Admitted = 0,        // a hold and a journal entry exist; also the repeated answer to the same order id or
                       // idempotency key
  NotFound = 1,        // no such voucher
  Frozen = 2,          // stock + held != allocated, or keys of a wrong type: somebody overwrote a counter
  AlreadyOrdered = 3,  // the user's live orders leave no room under the limit
  Paused = 4,
  NotStarted = 5,
  Ended = 6,  // after the window, or closed
  NotEligible = 7,
  SoldOut = 8,       // stock is 0
  Insufficient = 9,  // fewer left than wanted
  Busy = 10,         // a cap was reached (journal, queue, requests in flight); no stock taken
  KeyReused = 11,    // the idempotency key was used before with another quantity
  OverLimit = 12,    // more pieces in one request than the limit; who has a live order is AlreadyOrdered

  // Given by the engine, never by the script:
  Unavailable =
      20,  // Redis away or not trusted, or a voucher that is on sale in the store and missing in Redis
  OutcomeUnknown = 21  // the script may have run; the order id tells
};

// Lower case with underscores: "sold_out". The text is static.
[[nodiscard]] std::string_view verdictName(Verdict verdict) noexcept;

// Every verdict once, in the order of its number; for metrics and tables.
inline constexpr Verdict kVerdicts[] = {
    Verdict::Admitted,  Verdict::NotFound,     Verdict::Frozen,        Verdict::AlreadyOrdered,
    Verdict::Paused,    Verdict::NotStarted,   Verdict::Ended,         Verdict::NotEligible,
    Verdict::SoldOut,   Verdict::Insufficient, Verdict::Busy,          Verdict::KeyReused,
    Verdict::OverLimit, Verdict::Unavailable,  Verdict::OutcomeUnknown};

}  // namespace sluice
