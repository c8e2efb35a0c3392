// A value that is replaced as a whole now and then, and read all the time by many threads.
//
// Threads:  any. A reader takes one of several locks, chosen by thread, so that readers do not meet; a
//           writer takes all in turn. (std::atomic<std::shared_ptr> would make every reader write to one
//           shared counter.)
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace sluice::admission {

template <typename T>
class Published {
 public:
  Published() { publish(std::make_shared<const T>()); }

  void publish(const std::shared_ptr<const T>& next) {
    for (Cell& cell : cells_) {
      std::shared_ptr<const T> old = next;
      const std::lock_guard lock(cell.mutex);
      cell.value.swap(old);
    }
  }

  // Runs `look` on the value as it is; it must be short and must not read or publish here again.
  template <typename Look>
  auto read(Look look) const {
    const Cell& cell = cells_[threadNumber() % cells_.size()];
    const std::lock_guard lock(cell.mutex);
    return look(*cell.value);
  }

 private:
  struct alignas(64) Cell {  // a cache line each
    mutable std::mutex mutex;
    std::shared_ptr<const T> value;
  };
  static std::size_t threadNumber() noexcept {
    static std::atomic<std::size_t> next{0};
    // Relaxed: only different numbers are wanted.
    thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
    return mine;
  }

  std::array<Cell, 16> cells_;
};

}  // namespace sluice::admission
