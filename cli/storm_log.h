// StormLog: what the storm client was told, order by order, as a file between its process and the one that
// judges.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/ids.h"
#include "sluice/result.h"

#include "cli/storm.h"

namespace sluice::cli {

// One answer as its user understood it.
struct StormEntry {
  UserId user;
  std::string verdict;  // verdictName, stormFaultName, or "http_<status>" for an answer without a known code
  OrderId order;        // with "admitted" and "already_ordered"
  std::chrono::nanoseconds latency{0};  // 0 where no answer came
};

struct StormLog {
  std::vector<StormEntry> entries;
  std::uint64_t connectionErrors = 0;
  UtcTime releasedAt;
  std::chrono::nanoseconds answering{0};
};

// Reads an answer to POST /api/v1/vouchers/{id}/orders.
[[nodiscard]] StormEntry readAnswer(UserId user, const StormAnswer& answer);
// `users` names who sent each request of the plan.
[[nodiscard]] StormLog readReport(const StormReport& report, const std::vector<UserId>& users);

// The file is closed to others: it names users.
[[nodiscard]] Status writeStormLog(const std::string& path, const StormLog& log);
[[nodiscard]] Result<StormLog> readStormLog(const std::string& path);

}  // namespace sluice::cli
