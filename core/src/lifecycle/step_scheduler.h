// Steps that come round again and again: who runs next, and the threads that run them.
//
// Role:     a step does a bounded piece of work and answers when it wants to run again. Tests call runDue()
//           with times of their own.
// Threads:  StepScheduler: one at a time. Crew: its owner starts and joins; StopSignal: any.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sluice/clock.h"
#include "sluice/log.h"

namespace sluice::lifecycle {

class StepScheduler {
 public:
  // What it returns is the rest before its next run.
  using Step = std::function<milliseconds()>;

  explicit StepScheduler(Log& log) noexcept : log_(log) {}
  // Due at once.
  void add(std::string name, Step step);
  // Runs every step that is due by `now`, in the order they were added. Answers when the next one is due.
  SteadyTime runDue(SteadyTime now);

 private:
  struct Entry {
    std::string name;
    Step step;
    SteadyTime due{};
  };
  milliseconds run(Entry& entry) noexcept;

  Log& log_;
  std::vector<Entry> entries_;
};

// Raised once; ends every wait on it.
class StopSignal {
 public:
  void raise() noexcept;
  // True: raised, before or while waiting.
  [[nodiscard]] bool waitUntil(SteadyTime until) noexcept;
  [[nodiscard]] bool raised() const noexcept;

 private:
  mutable std::mutex mutex_;
  std::condition_variable raisedNow_;
  bool raised_ = false;
};

// Threads that are ended together.
class Crew {
 public:
  ~Crew() { join(); }
  void add(std::function<void()> work);
  // Waits until all threads have finished their work. False where the deadline came first.
  [[nodiscard]] bool doneBy(Deadline deadline);
  void join() noexcept;

 private:
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t working_ = 0;  // guarded by mutex_
};

}  // namespace sluice::lifecycle
