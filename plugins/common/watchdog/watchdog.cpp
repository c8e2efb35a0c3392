// See watchdog.h.
#include "watchdog.h"

#include <sys/socket.h>

namespace sluice {

Watchdog::Watch::Watch(Watchdog& watchdog, int socket, Deadline deadline) {
  if (socket < 0 || deadline.at() > SteadyTime::max() - kGrace) return;
  const std::lock_guard lock(watchdog.mutex_);
  watchdog_ = &watchdog;
  entry_ = watchdog.watched_.emplace(deadline.at() + kGrace, socket);
  if (!watchdog.thread_.joinable()) watchdog.thread_ = std::thread([&watchdog] { watchdog.run(); });
  // Deadlines mostly come in order, so the thread sleeps on.
  if (entry_ == watchdog.watched_.begin()) watchdog.changed_.notify_one();
}

Watchdog::Watch::~Watch() {
  if (watchdog_ == nullptr) return;
  const std::lock_guard lock(watchdog_->mutex_);
  watchdog_->watched_.erase(entry_);
}

bool Watchdog::Watch::cut() const {
  if (watchdog_ == nullptr) return false;
  const std::lock_guard lock(watchdog_->mutex_);
  return entry_->second < 0;
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const SteadyTime now = std::chrono::steady_clock::now();
    auto at = watched_.begin();
    for (; at != watched_.end() && at->first <= now; ++at) {
      if (at->second >= 0) ::shutdown(at->second, SHUT_RDWR);
      at->second = -1;
    }
    if (at == watched_.end()) {
      // Nothing is due: what comes next notifies, being the first. What was cut stays until its call ends.
      changed_.wait_for(lock, watched_.empty() ? milliseconds(60000) : kGrace);
    } else {
      const SteadyTime due = at->first;  // the entry may go while we wait
      changed_.wait_until(lock, due);
    }
  }
}

}  // namespace sluice
