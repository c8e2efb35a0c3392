// See faults.h.
#include "support/faults.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sluice::test {
namespace {

using enum CallKind;

constexpr CallName kQualifierCalls[] = {
    {"start", Changes},         {"stop", CannotFail},     {"probe", Reads},
    {"trust", CannotFail},      {"decide", Changes},      {"release", Changes},
    {"takeBack", Changes},      {"restore", Changes},     {"load", Changes},
    {"sync", Changes},          {"snapshot", Reads},      {"holdsOf", Reads},
    {"scanHolds", Reads},       {"addEligible", Changes}, {"readJournal", Reads},
    {"settleJournal", Changes}, {"lead", Changes},        {"resign", Changes},
    {"awaitJournal", Reads},    {"setAside", Changes},    {"keepsJournal", CannotFail},
    {"stats", CannotFail}};

// reserve: local, so its answer cannot be lost.
constexpr CallName kQueueCalls[] = {{"traits", CannotFail},
                                    {"start", Changes},
                                    {"reserve", Reads},
                                    {"unreserve", CannotFail},
                                    {"publish", Changes},
                                    {"receive", Changes},
                                    {"settle", Changes},
                                    {"extend", Changes},
                                    {"drain", Changes},
                                    {"close", CannotFail},
                                    {"stats", Reads},
                                    {"deadLetters", Reads},
                                    {"findDeadLetter", Reads},
                                    {"replayDeadLetter", Changes},
                                    {"removeDeadLetter", Changes}};

constexpr CallName kStoreCalls[] = {
    {"start", Changes},        {"migrate", Changes},       {"close", CannotFail},
    {"durability", Reads},     {"createVoucher", Changes}, {"updateVoucher", Changes},
    {"findVoucher", Reads},    {"listVouchers", Reads},    {"addEligible", Changes},
    {"listEligible", Reads},   {"persist", Changes},       {"pay", Changes},
    {"cancel", Changes},       {"refund", Changes},        {"expire", Changes},
    {"unreleased", Reads},     {"markReleased", Changes},  {"findOrder", Reads},
    {"findOrders", Reads},     {"listOrders", Reads},      {"recentOrders", Reads},
    {"leaseProcess", Changes}, {"renewProcess", Changes},  {"endProcess", Changes},
    {"listProcesses", Reads},  {"totals", Reads}};

}  // namespace

std::span<const CallName> qualifierCalls() noexcept { return kQualifierCalls; }
std::span<const CallName> queueCalls() noexcept { return kQueueCalls; }
std::span<const CallName> storeCalls() noexcept { return kStoreCalls; }

void Faults::check(const std::string& call) const {
  const auto isCall = [&call](const CallName& known) { return known.name == call; };
  if (call != "*" && std::none_of(names_.begin(), names_.end(), isCall))
    throw std::logic_error("the interface has no call " + call);
}

void Faults::next(const std::string& call, ErrorCode code, FaultMoment moment, std::size_t times,
                  std::size_t good) {
  check(call);
  const std::lock_guard lock(mutex_);
  if (times > 0) scripts_[call].push_back({code, moment, times, good});
}

void Faults::always(const std::string& call, ErrorCode code, FaultMoment moment) {
  check(call);
  const std::lock_guard lock(mutex_);
  scripts_[call] = {Fault{code, moment, 0, 0}};
}

void Faults::slow(const std::string& call, milliseconds by) {
  check(call);
  const std::lock_guard lock(mutex_);
  slow_[call] = by;
}

milliseconds Faults::slowness(std::string_view call) const {
  milliseconds longest{0};
  for (const std::string_view name : {call, std::string_view("*")}) {
    if (const auto found = slow_.find(name); found != slow_.end()) longest = std::max(longest, found->second);
  }
  return longest;
}

void Faults::heal(const std::string& call) {
  check(call);
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

void Faults::block(const std::string& call) {
  check(call);
  const std::lock_guard lock(mutex_);
  blocked_ = call;
}

bool Faults::awaitBlocked(Deadline until) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, until.at(), [this] { return waiting_ > 0; });
}

void Faults::unblock() noexcept {
  const std::lock_guard lock(mutex_);
  blocked_.clear();
  changed_.notify_all();
}

std::size_t Faults::calls(const std::string& call) const {
  check(call);
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

std::size_t Faults::struck() const {
  const std::lock_guard lock(mutex_);
  return struck_;
}

std::optional<Faults::Fault> Faults::takeScripted(std::string_view name) {
  const auto script = scripts_.find(name);
  if (script == scripts_.end() || script->second.empty()) return std::nullopt;
  Fault& front = script->second.front();
  if (front.good > 0) {
    --front.good;
    return std::nullopt;
  }
  const Fault fault = front;
  if (fault.times == 1) {
    script->second.pop_front();
  } else if (fault.times > 1) {
    --front.times;
  }
  ++struck_;
  return fault;
}

std::optional<Faults::Fault> Faults::take(std::string_view call) {
  std::function<void(std::string_view)> hook;
  milliseconds longer{0};
  {
    std::unique_lock lock(mutex_);
    ++calls_[std::string(call)];
    if (blocked_ == call) {
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return blocked_ != call; });
      --waiting_;
    }
    hook = hook_;
    longer = slowness(call);
  }
  if (longer.count() > 0) std::this_thread::sleep_for(longer);
  if (hook) hook(call);
  const std::lock_guard lock(mutex_);
  auto fault = takeScripted(call);
  return fault ? fault : takeScripted("*");
}

}  // namespace sluice::test
