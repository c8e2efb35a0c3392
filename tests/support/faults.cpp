// See faults.h.
#include "support/faults.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace sluice::test {

void Faults::next(const std::string& call, ErrorCode code, FaultMoment moment, std::size_t times) {
  const std::lock_guard lock(mutex_);
  if (times > 0) scripts_[call].push_back({code, moment, times});
}

void Faults::always(const std::string& call, ErrorCode code, FaultMoment moment) {
  const std::lock_guard lock(mutex_);
  scripts_[call] = {Fault{code, moment, 0}};
}

void Faults::slow(const std::string& call, milliseconds by) {
  const std::lock_guard lock(mutex_);
  slow_[call] = by;
}

void Faults::heal(const std::string& call) {
  const std::lock_guard lock(mutex_);
  if (call == "*") {
    scripts_.clear();
    slow_.clear();
  } else {
    scripts_.erase(call);
    slow_.erase(call);
  }
}

void Faults::onCall(std::function<void(std::string_view)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

std::size_t Faults::calls(const std::string& call) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

std::optional<Faults::Fault> Faults::take(std::string_view call) {
  std::function<void(std::string_view)> hook;
  milliseconds longer{0};
  {
    const std::lock_guard lock(mutex_);
    ++calls_[std::string(call)];
    hook = hook_;
    for (const std::string_view name : {call, std::string_view("*")}) {
      if (const auto found = slow_.find(name); found != slow_.end()) longer = std::max(longer, found->second);
    }
  }
  if (longer.count() > 0) std::this_thread::sleep_for(longer);
  if (hook) hook(call);
  const std::lock_guard lock(mutex_);
  for (const std::string_view name : {call, std::string_view("*")}) {
    const auto script = scripts_.find(name);
    if (script == scripts_.end() || script->second.empty()) continue;
    const Fault fault = script->second.front();
    if (fault.times == 1) script->second.pop_front();
    if (fault.times > 1) --script->second.front().times;
    return fault;
  }
  return std::nullopt;
}

}  // namespace sluice::test
