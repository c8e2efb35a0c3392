// Shared: what all slots of one StreamQueue have in common: settings, names, state, counters, the group
// and the timetable.
//
// Threads:  every member from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "sluice/log.h"
#include "sluice/order_queue.h"
#include "sluice/redis.h"

namespace sluice::stream {

inline constexpr std::string_view kComponent = "queue_stream";

// A retry waits this long at most; longer delays are cut. An entry that waits longer than this was forgotten
// by everybody.
inline constexpr milliseconds kDelayMax{60 * 60 * 1000};
// One blocking read: how long another process's retry, a drain or a close may go unnoticed.
inline constexpr milliseconds kBlockMax{250};
// What a network step of receive may take beyond the caller's deadline, so that a quiet second or a short
// deadline does not look like a lost connection.
inline constexpr milliseconds kGrace{250};
inline constexpr milliseconds kBackoffBase{10};
inline constexpr milliseconds kBackoffMax{500};

// "6.2.0" and above, as INFO says it.
[[nodiscard]] bool isSupported(std::string_view version) noexcept;

struct Settings {
  std::string group = "fulfilment";
  milliseconds lease{10000};
  milliseconds retire{60 * 60 * 1000};
  std::int64_t deadMax = 10000;
  std::int64_t journalMax = 1000000;
  std::string keyPrefix = "sluice";
  std::string instance = "local";
  std::size_t consumers = 1;
  RedisTarget redis;
};

// The keys in the order in which every script expects them.
struct StreamKeys {
  explicit StreamKeys(const std::string& prefix);
  std::string journal, failures, retry, dead;
  std::array<std::string_view, 4> all() const noexcept { return {journal, failures, retry, dead}; }
};

enum class State : std::uint8_t { Inert, Running, Draining, Closed };

class Shared {
 public:
  Shared(Settings given, Log& toLog, const Clock& withClock, Random& withRandom);

  const Settings settings;
  const StreamKeys keys;
  Log& log;
  const Clock& clock;
  Random& random;

  struct Counters {
    std::atomic<std::uint64_t> redelivered{0}, deadLettered{0}, reconnects{0}, dataLost{0}, vanished{0};
  };
  Counters counters;

  [[nodiscard]] State state() const noexcept { return state_.load(); }
  // Moves on, never back, and wakes whoever pauses.
  void enter(State state) noexcept;
  // Why nothing may be called now, if so.
  [[nodiscard]] Status refusal() const;
  // Until the deadline or a change of state.
  void pause(Deadline deadline, State during);

  // Looks at the server's version; called for every new connection.
  [[nodiscard]] Status check(RedisConnection& connection, Deadline deadline) const;
  // The group exists afterwards. Where it was there before and is gone, that is one "data lost".
  [[nodiscard]] Status ensureGroup(RedisConnection& connection, Deadline deadline);

  // A retry is due in `wait`: slots that poll later than that poll then.
  void noteRetry(milliseconds wait) noexcept;
  // What a poll found; negative where no retry waits.
  void setNextRetry(milliseconds wait) noexcept;
  [[nodiscard]] SteadyTime nextRetry() const noexcept;
  // True for one slot of all, once in a quarter of a lease.
  [[nodiscard]] bool takeOverIsDue() noexcept;
  void takeOverSoon() noexcept { nextTakeOver_ = 0; }

  void lostEntries(std::int64_t count) noexcept;

 private:
  std::atomic<State> state_{State::Inert};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> groupSeen_{false};
  std::atomic<std::int64_t> nextRetry_;        // steady clock, ms
  std::atomic<std::int64_t> nextTakeOver_{0};  // steady clock, ms
};

}  // namespace sluice::stream
