// How an order id is made up: 41 bits of milliseconds, 10 bits of process number, 12 bits of sequence.
//
// Role:     the generator of the gate builds ids so, the audit takes them apart: who issued an order, and
//           when.
// Threads:  plain functions.
#pragma once

#include <cstdint>

#include "sluice/clock.h"
#include "sluice/ids.h"
#include "sluice/limits.h"

namespace sluice {

// 2024-01-01 00:00 UTC. 41 bits of milliseconds last until 2093.
inline constexpr std::int64_t kOrderIdEpochMs = 1704067200000;
inline constexpr std::int32_t kOrderIdTimeBits = 41;
inline constexpr std::int32_t kOrderIdProcessBits = 10;
inline constexpr std::int32_t kOrderIdSequenceBits = 12;
static_assert(kOrderIdTimeBits + kOrderIdProcessBits + kOrderIdSequenceBits == 63,
              "an id is a positive 64-bit number");
static_assert((1 << kOrderIdProcessBits) == limits::kProcessNumbers);

struct OrderIdParts {
  UtcTime issuedAt;           // never before the issuing process' lease began
  std::int32_t process = 0;   // 0 .. limits::kProcessNumbers - 1
  std::int32_t sequence = 0;  // within the millisecond
  friend bool operator==(const OrderIdParts&, const OrderIdParts&) = default;
};

// Requires: issuedAt within the 41 bits, process and sequence within theirs.
[[nodiscard]] constexpr OrderId joinOrderId(const OrderIdParts& parts) noexcept {
  const std::int64_t sinceEpoch = toMillis(parts.issuedAt) - kOrderIdEpochMs;
  return OrderId((((sinceEpoch << kOrderIdProcessBits) | parts.process) << kOrderIdSequenceBits) |
                 parts.sequence);
}

[[nodiscard]] constexpr OrderIdParts splitOrderId(OrderId id) noexcept {
  const std::int64_t value = id.value();
  return {fromMillis((value >> (kOrderIdProcessBits + kOrderIdSequenceBits)) + kOrderIdEpochMs),
          static_cast<std::int32_t>((value >> kOrderIdSequenceBits) & ((1 << kOrderIdProcessBits) - 1)),
          static_cast<std::int32_t>(value & ((1 << kOrderIdSequenceBits) - 1))};
}

}  // namespace sluice
