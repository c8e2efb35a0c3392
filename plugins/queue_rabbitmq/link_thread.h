// LinkThread: one connection with a thread of its own, that others hand work to.
//
// Role:     base of the publishing and the consuming side. Connects, declares, reads events, sends what was
//           handed over; connects anew, with backoff and jitter, after every loss. Each connection has an
//           epoch.
// Threads:  run by its own thread; onConnected, onEvent and onLost are called by that thread with mutex_ held,
//           prepare and work without it: they may wait for the broker, whom no caller is to wait for. Callers of
//           other threads take mutex_, leave their work and call wake(). A write that does not end is cut by a
//           watchdog: rabbitmq-c writes without any limit.
// Lifetime: start once; stop ends the thread within about a second, whatever the broker does. Derived classes
//           call stop in their destructor.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "link.h"
#include "watchdog.h"

namespace sluice::rabbitmq {

class LinkThread {
 public:
  LinkThread(Shared& shared, std::string_view what);
  virtual ~LinkThread();
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;

  void start();
  void stop() noexcept;
  [[nodiscard]] Status waitConnected(Deadline deadline);
  [[nodiscard]] bool isConnected() const;
  // Of the connection there is, or was last; counted from 1.
  [[nodiscard]] std::uint64_t epoch() const;

 protected:
  // Prepares channels.
  virtual Status prepare(Link& link, Deadline deadline) = 0;
  virtual void onConnected() = 0;
  // Sends what was handed over; called again after events.
  virtual Status work(Link& link) = 0;
  // An error ends the connection.
  virtual Status onEvent(Event& event) = 0;
  virtual void onLost(const Error& why) = 0;

  // Under mutex_.
  [[nodiscard]] Status connectedOr(Deadline deadline, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Error away() const;
  void wake() noexcept;
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }
  [[nodiscard]] bool connectedLocked() const noexcept { return connected_; }
  [[nodiscard]] std::uint64_t epochLocked() const noexcept { return epoch_; }

  Shared& shared_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;

 private:
  void run();
  void connect();
  [[nodiscard]] Status open(Link& link);
  [[nodiscard]] Status serve(Link& link);
  [[nodiscard]] Status workWatched(Link& link);
  [[nodiscard]] Result<bool> readSome(Link& link);
  void lose(const Error& why);
  void pause();
  void drainWakeUps() noexcept;

  const std::string what_;
  int wakeUp_ = -1;
  Watchdog watchdog_;
  std::thread thread_;
  // Under mutex_.
  std::unique_ptr<Link> link_;
  bool connected_ = false;
  bool stopping_ = false;
  std::uint64_t epoch_ = 0;
  std::uint32_t failedInRow_ = 0;
  Error lastError_;
};

}  // namespace sluice::rabbitmq
