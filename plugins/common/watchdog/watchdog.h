// Watchdog: cuts connections whose call has outlived its deadline.
//
// Role:     the client libraries of the database servers wait for an answer without any limit, and that of
//           RabbitMQ writes without one, so a frozen server or a network that swallows packets would hold a
//           thread for ever. The watchdog shuts the socket down instead, and the call ends with a lost
//           connection.
// Threads:  every call from any thread; one thread of its own, started by the first watch.
// Lifetime: a Watch ends before its socket is closed, else the number might name another connection.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "sluice/clock.h"

namespace sluice {

class Watchdog {
 public:
  // Later than the deadline, so that the server's own time-out, which leaves the session whole, comes first.
  static constexpr milliseconds kGrace{500};

  class Watch {
   public:
    // `socket` < 0: nothing to watch (an embedded database).
    Watch(Watchdog& watchdog, int socket, Deadline deadline);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    // The deadline passed, and the connection was shut down.
    [[nodiscard]] bool cut() const;

   private:
    Watchdog* watchdog_ = nullptr;
    std::multimap<SteadyTime, int>::iterator entry_;
  };

  Watchdog() = default;
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<SteadyTime, int> watched_;  // when to cut -> socket, or -1 once it was cut
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace sluice
