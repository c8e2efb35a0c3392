// How LuaQualifier runs work on a connection and when it runs it again; private to its sources.
#pragma once

#include "qualify/lua_qualifier.h"

namespace sluice {

// Runs the work on another connection where the first was lost before anything was sent.
template <typename Work>
auto LuaQualifier::onConnection(Deadline deadline, Work work)
    -> decltype(work(std::declval<RedisConnection&>())) {
  for (std::size_t attempt = 0;; ++attempt) {
    auto lease = acquire(deadline);
    if (!lease) return lease.error();
    auto result = work(*lease.value());
    const bool unsent =
        !result.ok() && result.error().code == ErrorCode::Unavailable && lease.value()->broken();
    if (!unsent || attempt >= options_.connections || deadline.passed()) return result;
  }
}

// For work that changes nothing: whatever happened to it, nothing did, and it may be repeated once.
template <typename Work>
auto LuaQualifier::reading(Deadline deadline, Work work) -> decltype(work(std::declval<RedisConnection&>())) {
  const auto unknown = [](const auto& result) {
    return !result.ok() && result.error().code == ErrorCode::OutcomeUnknown;
  };
  auto result = onConnection(deadline, work);
  if (unknown(result) && !deadline.passed()) result = onConnection(deadline, work);
  if (unknown(result)) return Error{ErrorCode::Unavailable, result.error().text};
  return result;
}

}  // namespace sluice
