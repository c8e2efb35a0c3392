// Storm: many clients that ask at the same instant, over real connections, from one thread.
//
// Role:     load client of the demo, the lab and the benchmarks. Opens one connection a request, releases
//           all requests at once, reads every answer to its end. Knows HTTP, not orders: what to send and
//           what an answer means is the caller's.
// Threads:  runStorm works in the calling thread; `cancelled` may be set by a signal handler or another
//           thread. Blocking: until every request is answered or given up; at most connectWithin +
//           answerWithin.
// Errors:   Misconfigured where this machine cannot carry the plan (descriptors, ports, address), Stopped
//           where cancelled. Everything that happens to a single connection is counted in the report.
// Note:     latency is from the first byte sent to the last byte of the answer, as this client saw it: time
//           it spends sending other requests is kept small by reading answers between sends, and what
//           remains is in the figures.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice {

struct StormPlan {
  std::string host = "127.0.0.1";  // a numeric IPv4 address
  std::uint16_t port = 0;
  std::vector<std::string>
      requests;  // whole HTTP requests that ask for "Connection: close"; each gets a connection of its own
  // Connects under way at one time: below the server's backlog, where a refused connect is cheap for nobody.
  std::size_t connectingMax = 256;
  std::uint32_t connectAttempts = 20;  // for each connection, with a pause that doubles from 10 ms to 500 ms
  milliseconds connectWithin{30000};
  milliseconds answerWithin{60000};
};

enum class StormFault : std::uint8_t {
  None,
  NotConnected,  // gave up before anything was sent
  Broken,        // the connection ended inside the request or the answer
  Malformed,     // the answer is not HTTP
  TimedOut
};

[[nodiscard]] std::string_view stormFaultName(StormFault fault) noexcept;  // "not_connected", ...

struct StormAnswer {
  StormFault fault = StormFault::None;
  int status = 0;  // 0 where there is a fault
  std::string body;
  std::chrono::nanoseconds latency{0};
};

struct StormReport {
  std::vector<StormAnswer> answers;  // by position in the plan
  std::uint64_t connectionErrors =
      0;               // refused or lost connections before their answer, also where a later attempt was fine
  UtcTime releasedAt;  // the instant before the first request was sent
  std::chrono::nanoseconds opening{0};    // until all connections stood
  std::chrono::nanoseconds answering{0};  // from the release to the last answer
};

using StormProgress = std::function<void(const std::string& line)>;

[[nodiscard]] Result<StormReport> runStorm(const StormPlan& plan, const std::atomic<bool>& cancelled,
                                           const StormProgress& progress);

// Raises this process' soft descriptor limit to the hard one; answers the limit in force.
std::uint64_t raiseDescriptorLimit() noexcept;

}  // namespace sluice
