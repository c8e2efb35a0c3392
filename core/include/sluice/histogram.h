// Histogram: durations or sizes in fixed buckets, written from the hot path without a lock, read for
// metrics.
//
// Threads:  observe from any thread; snapshot from any thread, bucket by bucket (not one instant).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

struct HistogramSnapshot {
  std::vector<std::uint64_t> upperBounds;  // inclusive; the last bucket has none
  std::vector<std::uint64_t> counts;       // upperBounds.size() + 1, not cumulative
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
};

// Buckets double: the k-th holds values up to `first * 2^k`.
class Histogram {
 public:
  static constexpr std::size_t kBuckets = 20;
  explicit Histogram(std::uint64_t first) noexcept : first_(first) {}

  void observe(std::uint64_t value) noexcept {
    std::size_t bucket = 0;
    for (std::uint64_t bound = first_; bucket < kBuckets && value > bound; bound *= 2) {
      ++bucket;
    }
    // Relaxed: each cell is a counter of its own; readers need no order between them.
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  [[nodiscard]] HistogramSnapshot snapshot() const;

 private:
  std::uint64_t first_;
  std::array<std::atomic<std::uint64_t>, kBuckets + 1> counts_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace sluice
