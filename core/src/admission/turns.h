// Turns: how many batches are asked at one time, over all vouchers, and whose turn is next.
//
// Threads:  any. While turns are free, taking one is a single atomic step; the lock is for lanes that have
//           to wait, taken at most once a batch.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace sluice::admission {

class Lane;

class Turns {
 public:
  explicit Turns(std::size_t turns) noexcept : free_(turns) {}

  // True: the caller has a turn. False: none is free, and the lane stands at the end of those waiting.
  [[nodiscard]] bool takeOrQueue(Lane& lane) noexcept;
  // Ends a turn. `again`, where given, joins the waiting lanes first. Answers the lane that has the turn now,
  // or nothing where it became free.
  [[nodiscard]] std::shared_ptr<Lane> passOn(Lane* again) noexcept;

 private:
  bool takeFree() noexcept;
  void append(Lane& lane) noexcept;
  // Above 0 only while nobody waits: it rises only under the lock and with an empty queue, and who finds it 0
  // queues under the lock.
  std::atomic<std::size_t> free_;
  std::mutex mutex_;
  std::shared_ptr<Lane>
      first_;  // guarded by mutex_; the others hang on Lane::nextInLine, so that queueing cannot fail
  Lane* last_ = nullptr;
};

}  // namespace sluice::admission
