// Failures on command, of the fakes and of the wrappers around real parts; and the calls of the three
// interfaces by name.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice::test {

enum class CallKind : std::uint8_t {
  CannotFail,  // answers nothing that could be an error
  Reads,
  Changes  // may have happened although its answer was lost
};

struct CallName {
  std::string_view name;
  CallKind kind;
};

// Every virtual call of Qualifier, OrderQueue and OrderStore; a test compares them with the headers.
[[nodiscard]] std::span<const CallName> qualifierCalls() noexcept;
[[nodiscard]] std::span<const CallName> queueCalls() noexcept;
[[nodiscard]] std::span<const CallName> storeCalls() noexcept;

// Every ErrorCode once.
inline constexpr ErrorCode kErrorCodes[] = {
    ErrorCode::InvalidArgument, ErrorCode::NotFound,    ErrorCode::Conflict,       ErrorCode::Unsupported,
    ErrorCode::Overloaded,      ErrorCode::Unavailable, ErrorCode::OutcomeUnknown, ErrorCode::Corrupt,
    ErrorCode::Misconfigured,   ErrorCode::Stopped,     ErrorCode::Internal};

enum class FaultMoment : std::uint8_t {
  Before,  // nothing was done
  After    // the work was done, its answer is lost
};

// The failures of one part; any thread. A call is named as its function: "decide", "persist"; "*" is every call. A name
// that the interface does not have is a defect of the test and throws.
class Faults {
 public:
  explicit Faults(std::span<const CallName> names) noexcept : names_(names) {}

  // The next `times` calls fail, after `good` more that do not. Several scripts for one call are used up in
  // order.
  void next(const std::string& call, ErrorCode code, FaultMoment moment = FaultMoment::Before,
            std::size_t times = 1, std::size_t good = 0);
  // Every call fails until heal().
  void always(const std::string& call, ErrorCode code, FaultMoment moment = FaultMoment::Before);
  // Every call takes so much longer until heal(); nothing else happens to it.
  void slow(const std::string& call, milliseconds by);
  void heal(const std::string& call = "*");
  // Runs at the beginning of each call, outside every lock: to block it, count it, or advance a
  // clock.
  void onCall(std::function<void(std::string_view call)> hook);
  // Calls of this name wait until the part is closed; then they answer as the closed part does.
  void block(const std::string& call);
  [[nodiscard]] bool awaitBlocked(Deadline until);

  [[nodiscard]] std::size_t calls(const std::string& call) const;
  // How many calls failed by script.
  [[nodiscard]] std::size_t struck() const;

  // For whom the faults belong to: does `work` unless a failure stands before it.
  template <typename Work>
  auto run(std::string_view call, Work work) -> decltype(work()) {
    const std::optional<Fault> fault = take(call);
    if (fault && fault->moment == FaultMoment::Before)
      return Error{fault->code, "scripted before " + std::string(call)};
    auto result = work();
    if (fault) return Error{fault->code, "scripted after " + std::string(call)};
    return result;
  }
  // For a call that cannot fail.
  void note(std::string_view call) { (void)take(call); }
  // The part was closed: lets go of what block() holds.
  void unblock() noexcept;

 private:
  struct Fault {
    ErrorCode code;
    FaultMoment moment;
    std::size_t times;  // 0: until healed
    std::size_t good;
  };
  std::optional<Fault> take(std::string_view call);
  std::optional<Fault> takeScripted(std::string_view name);
  void check(const std::string& call) const;
  [[nodiscard]] milliseconds slowness(std::string_view call) const;

  const std::span<const CallName> names_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::deque<Fault>, std::less<>> scripts_;  // guarded by mutex_, as is all below
  std::map<std::string, milliseconds, std::less<>> slow_;
  std::map<std::string, std::size_t, std::less<>> calls_;
  std::function<void(std::string_view)> hook_;
  std::string blocked_;
  std::size_t waiting_ = 0;
  std::size_t struck_ = 0;
};

}  // namespace sluice::test
