// Failures on command: of the fakes, and of the wrappers around real parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice::test {

enum class FaultMoment : std::uint8_t {
  Before,  // nothing was done
  After    // the work was done, its answer is lost
};

// A call is named as its function: "decide", "persist"; "*" is every call. Any thread.
class Faults {
 public:
  // The next `times` calls fail. Several scripts for one call are used up in order.
  void next(const std::string& call, ErrorCode code, FaultMoment moment = FaultMoment::Before,
            std::size_t times = 1);
  // Every call fails until heal().
  void always(const std::string& call, ErrorCode code, FaultMoment moment = FaultMoment::Before);
  // Every call takes so much longer until heal(); nothing else happens to it.
  void slow(const std::string& call, milliseconds by);
  void heal(const std::string& call = "*");
  // Runs at the beginning of each call, outside every lock: to block it, count it, or advance a clock.
  void onCall(std::function<void(std::string_view call)> hook);
  [[nodiscard]] std::size_t calls(const std::string& call) const;

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

 private:
  struct Fault {
    ErrorCode code;
    FaultMoment moment;
    std::size_t times;  // 0: until healed
  };
  std::optional<Fault> take(std::string_view call);

  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Fault>, std::less<>> scripts_;
  std::map<std::string, milliseconds, std::less<>> slow_;
  std::map<std::string, std::size_t, std::less<>> calls_;
  std::function<void(std::string_view)> hook_;
};

}  // namespace sluice::test
