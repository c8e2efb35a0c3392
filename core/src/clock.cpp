// The machine's clocks and chance, and the one backoff formula.
#include "sluice/clock.h"

#include <atomic>
#include <random>

namespace sluice {

Clock::~Clock() = default;
Random::~Random() = default;

namespace {

class SystemClock final : public Clock {
 public:
  UtcTime now() const noexcept override {
    return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  }
  SteadyTime steady() const noexcept override { return std::chrono::steady_clock::now(); }
};

// SplitMix64 over one atomic counter: safe from any thread, and good enough for jitter and temporary names.
class SystemRandom final : public Random {
 public:
  SystemRandom() {
    std::random_device device;
    state_ = (std::uint64_t{device()} << 32u) | device();
  }
  std::uint64_t next() noexcept override {
    // Relaxed: callers need distinct numbers, not an order among themselves.
    std::uint64_t z = state_.fetch_add(0x9E3779B97F4A7C15, std::memory_order_relaxed) + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30u)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27u)) * 0x94D049BB133111EB;
    return z ^ (z >> 31u);
  }

 private:
  std::atomic<std::uint64_t> state_{0};
};

}  // namespace

const Clock& systemClock() noexcept {
  static const SystemClock clock;
  return clock;
}

Random& systemRandom() noexcept {
  static SystemRandom random;
  return random;
}

milliseconds backoff(std::uint32_t attempt, milliseconds base, milliseconds cap, Random& random) noexcept {
  milliseconds bound = base;
  for (std::uint32_t k = 0; k < attempt && bound < cap; ++k) {
    bound *= 2;
  }
  bound = std::max(milliseconds(1), std::min(bound, cap));
  return milliseconds(1 +
                      static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(bound.count())));
}

}  // namespace sluice
