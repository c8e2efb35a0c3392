// The demo's figures and its judgement, from two witnesses: what the clients were told and what the store
// holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sluice/audit.h"
#include "sluice/order.h"

#include "cli/storm_log.h"

namespace sluice::cli {

struct DemoFigures {
  std::int64_t users = 0;
  std::int64_t stock = 0;
  std::int64_t requests = 0;
  std::map<std::string, std::int64_t> verdicts;
  std::int64_t admitted = 0;  // different orders that clients were told to have
  std::int64_t stored = 0;    // live rows
  std::int64_t oversold = 0;  // pieces beyond the stock, by either witness
  std::int64_t doubled = 0;   // users with more than one order, by either witness
  double latencyMeanMs = 0;
  double latencyP50Ms = 0;
  double latencyP99Ms = 0;
  double latencyMaxMs = 0;
  double secondsAnswering = 0;
  double secondsToStored = 0;  // from the release to the storing of the last order, by its row's own time
  std::uint64_t connectionErrors = 0;
  bool auditClean = false;
  bool atRest = false;
  std::vector<std::string> faults;  // everything that is off, for people; empty where all is well
};

// `rows` are all rows of the voucher, live and dead.
[[nodiscard]] DemoFigures judge(const StormLog& log, const std::vector<Order>& rows, const AuditReport& audit,
                                std::int64_t users, std::int64_t stock);

[[nodiscard]] std::string demoText(const DemoFigures& figures);
// One object with exactly the keys requests, verdicts, admitted, stored, oversold, double, latency_ms,
// seconds_to_stored, audit.
[[nodiscard]] std::string demoJson(const DemoFigures& figures);

}  // namespace sluice::cli
