// Counts the connections of a threaded front, so that those who wait for a thread are noticed by those
// who hold one.
//
// Threads:  every call from any thread, without a lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sluice::server {

class ConnectionGauge {
 public:
  explicit ConnectionGauge(std::int64_t threads) noexcept : threads_(threads) {}

  void enter() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); }

  [[nodiscard]] std::int64_t open() const noexcept { return open_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t waiting() const noexcept { return std::max<std::int64_t>(0, open() - threads_); }

  // An idle connection asks whether it should go: as many are told yes as others wait, not all at once.
  // Whoever is told yes closes and calls yielded() once it has left.
  [[nodiscard]] bool shouldYield() noexcept {
    if (yielding_.fetch_add(1, std::memory_order_relaxed) < waiting()) return true;
    yielded();
    return false;
  }
  void yielded() noexcept { yielding_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  const std::int64_t threads_;
  // Relaxed: these are counts that steer fairness; nothing is published through them.
  std::atomic<std::int64_t> open_{0};
  std::atomic<std::int64_t> yielding_{0};
};

}  // namespace sluice::server
