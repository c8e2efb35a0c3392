// A clock that moves only when a test says so, one whose wall time jumps, and a generator that repeats.
#pragma once

#include <atomic>

#include "sluice/clock.h"

namespace sluice::test {

// Starts at 2026-01-01 00:00 UTC. Wall and steady time move together.
class ManualClock final : public Clock {
 public:
  ManualClock();
  [[nodiscard]] UtcTime now() const noexcept override;
  [[nodiscard]] SteadyTime steady() const noexcept override;
  void advance(milliseconds by) noexcept;
  void setBack(milliseconds by) noexcept;  // wall time only

 private:
  std::atomic<std::int64_t> wallMs_;
  std::atomic<std::int64_t> steadyMs_{1};
};

// The machine's clock, with its wall time set wrong by as much as a test says.
class ShiftedClock final : public Clock {
 public:
  [[nodiscard]] UtcTime now() const noexcept override {
    return systemClock().now() + milliseconds(shiftMs_.load());
  }
  [[nodiscard]] SteadyTime steady() const noexcept override { return systemClock().steady(); }
  void shift(milliseconds by) noexcept { shiftMs_ = by.count(); }

 private:
  std::atomic<std::int64_t> shiftMs_{0};
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) noexcept : state_(seed) {}
  [[nodiscard]] std::uint64_t next() noexcept override;
  void reseed(std::uint64_t seed) noexcept { state_ = seed; }

 private:
  std::atomic<std::uint64_t> state_;
};

}  // namespace sluice::test
