// Time and chance, always passed in: Clock, Random, Deadline.
//
// Role:     everything that decides by time or draws a number takes these; tests pass manual ones.
// Threads:  implementations are safe for concurrent use.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace sluice {

using std::chrono::milliseconds;

// Wall time in whole milliseconds since 1970 UTC; what the store and Redis keep.
using UtcTime = std::chrono::sys_time<milliseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

[[nodiscard]] constexpr std::int64_t toMillis(UtcTime time) noexcept {
  return time.time_since_epoch().count();
}
[[nodiscard]] constexpr UtcTime fromMillis(std::int64_t sinceEpochMs) noexcept {
  return UtcTime(milliseconds(sinceEpochMs));
}

class Clock {
 public:
  virtual ~Clock();
  [[nodiscard]] virtual UtcTime now() const noexcept = 0;
  [[nodiscard]] virtual SteadyTime steady() const noexcept = 0;
};

class Random {
 public:
  virtual ~Random();
  // Uniform over all 64 bits.
  [[nodiscard]] virtual std::uint64_t next() noexcept = 0;
};

// The machine's clocks, and a generator seeded from the system; both live until the process ends.
[[nodiscard]] const Clock& systemClock() noexcept;
[[nodiscard]] Random& systemRandom() noexcept;

// The instant (steady clock) by which a blocking call must have answered. Passed down, never renewed on the
// way.
class Deadline {
 public:
  explicit Deadline(SteadyTime at) noexcept : at_(at) {}
  [[nodiscard]] static Deadline in(milliseconds wait) noexcept {
    return Deadline(std::chrono::steady_clock::now() + wait);
  }
  [[nodiscard]] SteadyTime at() const noexcept { return at_; }
  [[nodiscard]] bool passed() const noexcept { return std::chrono::steady_clock::now() >= at_; }
  // Rounded up, so that a wait of remaining() does not end early; never negative.
  [[nodiscard]] milliseconds remaining() const noexcept {
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(at_ - std::chrono::steady_clock::now()));
  }
  [[nodiscard]] Deadline orSooner(milliseconds wait) const noexcept {
    return Deadline(std::min(at_, in(wait).at_));
  }

 private:
  SteadyTime at_;
};

// Exponential backoff with full jitter: uniform in [0, min(cap, base * 2^attempt)], attempt counted from 0;
// never below 1 ms.
[[nodiscard]] milliseconds backoff(std::uint32_t attempt, milliseconds base, milliseconds cap,
                                   Random& random) noexcept;

}  // namespace sluice
