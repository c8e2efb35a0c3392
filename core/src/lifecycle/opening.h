// Opening a part whose server may be away: tried until it succeeds.
//
// Threads:  attempt() from one thread at a time; the rest from any.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice::lifecycle {

class Opening {
 public:
  Opening(std::string name, std::function<Status(Deadline)> open)
      : name_(std::move(name)), open_(std::move(open)) {}

  // Opens where that is not done yet.
  [[nodiscard]] Status attempt(Deadline deadline) {
    if (done()) return {};
    const Status opened = open_(deadline);
    const std::lock_guard lock(mutex_);
    why_ = opened ? std::string() : name_ + ": " + opened.error().text;
    done_ = opened.ok();
    return opened ? opened : opened.error().during(name_);
  }
  [[nodiscard]] bool done() const noexcept { return done_.load(); }
  // Why not, for people; empty where it is open or was not tried.
  [[nodiscard]] std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  const std::string name_;
  const std::function<Status(Deadline)> open_;
  std::atomic<bool> done_{false};
  mutable std::mutex mutex_;
  std::string why_;  // guarded by mutex_
};

}  // namespace sluice::lifecycle
