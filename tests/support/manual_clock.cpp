// See manual_clock.h.
#include "support/manual_clock.h"

namespace sluice::test {

ManualClock::ManualClock() : wallMs_(1767225600000) {}
UtcTime ManualClock::now() const noexcept { return fromMillis(wallMs_.load()); }
SteadyTime ManualClock::steady() const noexcept { return SteadyTime(milliseconds(steadyMs_.load())); }

void ManualClock::advance(milliseconds by) noexcept {
  wallMs_ += by.count();
  steadyMs_ += by.count();
}

void ManualClock::setBack(milliseconds by) noexcept { wallMs_ -= by.count(); }

std::uint64_t SeededRandom::next() noexcept {
  // A 64-bit linear congruential step (Knuth's constants), high bits folded down.
  std::uint64_t old = state_.load();
  std::uint64_t next = 0;
  do {
    next = old * 6364136223846793005u + 1442695040888963407u;
  } while (!state_.compare_exchange_weak(old, next));
  return next ^ (next >> 33u);
}

}  // namespace sluice::test
