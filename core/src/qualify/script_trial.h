// Loads every script and runs each once on scratch keys, so that a server which cannot run them is found
// before the sale.
#pragma once

#include <string>

#include "sluice/redis.h"
#include "sluice/result.h"

#include "qualify/scripts.h"

namespace sluice {

struct TrialReport {
  // Not empty where the scripts are loaded but could not be tried because Redis has no memory left.
  std::string skippedBecause;
};

// `scratch` is a prefix of keys in the vouchers' slot that nobody else uses; nothing of it is left behind.
// Misconfigured where a script is refused or answers something unexpected, else the errors of
// RedisConnection.
[[nodiscard]] Result<TrialReport> tryScripts(RedisConnection& connection, const Scripts& scripts,
                                             const std::string& scratch, Deadline deadline);

}  // namespace sluice
