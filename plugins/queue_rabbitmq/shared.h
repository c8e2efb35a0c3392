// Shared: what the parts of one RabbitQueue have in common: settings, names, state, counters.
//
// Threads:  every member from any thread.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "sluice/log.h"
#include "sluice/order_queue.h"

namespace sluice::rabbitmq {

inline constexpr std::string_view kComponent = "queue_rabbitmq";

// A retry that is delayed goes through wait queues of these lengths, as many of each as the delay holds; what
// is left, less than the shortest, is waited for in the process that receives it.
inline constexpr std::array<milliseconds, 4> kWaitSteps = {milliseconds(100), milliseconds(1000),
                                                           milliseconds(10000), milliseconds(100000)};
// A retry waits this long at most; longer delays are cut.
inline constexpr milliseconds kDelayMax{60 * 60 * 1000};
// Messages sent and not confirmed yet: enough to keep a broker busy while it syncs, and little enough to stay
// in the socket's buffer, so that a write never waits for a broker that has stopped reading.
inline constexpr std::size_t kWindow = 1000;
inline constexpr std::size_t kWindowBytes = 128 * 1024;
// A write that takes longer goes to a broker, or a network, that takes nothing any more.
inline constexpr milliseconds kWriteWithin{2000};
// Messages that callers have handed over and that are not confirmed yet; beyond it publish answers Overloaded.
inline constexpr std::size_t kHandOverMax = 200'000;
// What a call may take beyond the caller's deadline, so that a short deadline does not look like a lost
// connection.
inline constexpr milliseconds kGrace{250};
inline constexpr milliseconds kConnectWithin{3000};
inline constexpr milliseconds kBackoffBase{20};
inline constexpr milliseconds kBackoffMax{1000};

struct TlsSettings {
  bool on = false;
  std::string authority;    // file with the certificates that we trust
  std::string certificate;  // ours, "" none
  std::string key;
  bool verify = true;
};

struct Settings {
  std::string host = "127.0.0.1";
  std::uint16_t port = 5672;
  std::string vhost = "/";
  std::string user = "guest";
  std::string password = "guest";
  TlsSettings tls;
  std::chrono::seconds heartbeat{15};
  std::string name = "sluice";
  bool quorum = true;
  std::size_t batchMax = limits::kReceiveBatchMax;
  milliseconds lease{600000};
  // Nobody has received for so long: what lies here is given back, for others.
  milliseconds idle{5000};
  std::int64_t capacity = 1000000;
  std::int64_t deadMax = 10000;
  std::size_t consumers = 1;

  [[nodiscard]] std::string text() const;  // "RabbitMQ at host:port, vhost /": for people, no secrets
};

// What this queue declares at the broker.
struct Names {
  explicit Names(const std::string& prefix);
  std::string exchange, work, alone, dead, deadLock;
  std::array<std::string, kWaitSteps.size()> wait;
};

// One at a time, waited for until a deadline. (clang's ThreadSanitizer does not know std::timed_mutex.)
class Turn {
 public:
  // Holds it, or not where the deadline passed.
  class Guard {
   public:
    Guard(Turn& turn, Deadline deadline) : turn_(turn), has_(turn.take(deadline)) {}
    ~Guard() {
      if (has_) turn_.give();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    explicit operator bool() const noexcept { return has_; }

   private:
    Turn& turn_;
    const bool has_;
  };

 private:
  bool take(Deadline deadline);
  void give() noexcept;
  std::mutex mutex_;
  std::condition_variable given_;
  bool taken_ = false;
};

enum class State : std::uint8_t { Inert, Running, Draining, Closed };

class Shared {
 public:
  Shared(Settings given, Log& toLog, const Clock& withClock, Random& withRandom);

  const Settings settings;
  const Names names;
  Log& log;
  const Clock& clock;
  Random& random;

  struct Counters {
    std::atomic<std::uint64_t> redelivered{0}, deadLettered{0}, reconnects{0}, dataLost{0};
  };
  Counters counters;

  [[nodiscard]] State state() const noexcept { return state_.load(); }
  // Moves on, never back.
  void enter(State state) noexcept;
  // Why nothing may be called now, if so.
  [[nodiscard]] Status refusal() const;

  // Held by whoever declares, so that a loss is seen, and counted, once.
  std::mutex topologyMutex;
  bool topologySeen = false;

 private:
  std::atomic<State> state_{State::Inert};
};

}  // namespace sluice::rabbitmq
