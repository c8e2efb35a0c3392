// See step_scheduler.h.
#include "lifecycle/step_scheduler.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace sluice::lifecycle {
namespace {

constexpr milliseconds kRestAfterException{1000};

}  // namespace

void StepScheduler::add(std::string name, Step step) {
  entries_.push_back({std::move(name), std::move(step)});
}

SteadyTime StepScheduler::runDue(SteadyTime now) {
  SteadyTime next = now + std::chrono::hours(1);
  for (Entry& entry : entries_) {
    // At least a millisecond, so that a step which asks for none cannot keep the others waiting.
    if (entry.due <= now) entry.due = now + std::max(milliseconds(1), run(entry));
    next = std::min(next, entry.due);
  }
  return next;
}

// A step that throws runs again: one bad_alloc must not end the renewal of a lease.
milliseconds StepScheduler::run(Entry& entry) noexcept {
  try {
    return entry.step();
  } catch (const std::exception& thrown) {
    log_.repeated(LogLevel::Error, entry.name, "exception", thrown.what());
  } catch (...) {
    log_.repeated(LogLevel::Error, entry.name, "exception", "unknown exception");
  }
  return kRestAfterException;
}

void StopSignal::raise() noexcept {
  const std::lock_guard lock(mutex_);
  raised_ = true;
  raisedNow_.notify_all();
}

bool StopSignal::waitUntil(SteadyTime until) noexcept {
  std::unique_lock lock(mutex_);
  return raisedNow_.wait_until(lock, until, [this] { return raised_; });
}

bool StopSignal::raised() const noexcept {
  const std::lock_guard lock(mutex_);
  return raised_;
}

void Crew::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  threads_.reserve(threads_.size() + 1);
  threads_.emplace_back([this, work = std::move(work)] {
    work();
    const std::lock_guard finishing(mutex_);
    --working_;
    finished_.notify_all();
  });
  ++working_;
}

bool Crew::doneBy(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return finished_.wait_until(lock, deadline.at(), [this] { return working_ == 0; });
}

void Crew::join() noexcept {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
}

}  // namespace sluice::lifecycle
