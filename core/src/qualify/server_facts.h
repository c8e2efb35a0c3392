// What a Redis server says about itself: who it is, whether a sale may run on it, how much it would lose in
// a crash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/clock.h"
#include "sluice/qualifier.h"
#include "sluice/redis.h"

namespace sluice {

struct ServerFacts {
  std::string identity;  // "<run id>/<replication id>"
  std::string version;   // "7.0.15"
  std::string evictionPolicy;
  bool replica = false;
  bool loading = false;
  Durability durability = Durability::L0;
  milliseconds clockSkew{0};  // what is certain of it: never more than the difference that was seen
  std::int64_t journalDepth = 0;
  std::int64_t asideDepth = 0;
  std::int64_t usedMemoryBytes = 0;
  std::vector<std::string> warnings;
};

// One pipeline. Settings that the server does not show (CONFIG forbidden) count as the worse one, with a
// warning.
[[nodiscard]] Result<ServerFacts> askServer(RedisConnection& connection, const std::string& journalKey,
                                            const std::string& deadKey, const Clock& clock,
                                            Deadline deadline);

// Misconfigured where an operator must act before anything is sold on it; Unavailable where time may help
// (loading, replica).
[[nodiscard]] Status judgeServer(const ServerFacts& facts);

// The value of a line "name:value" in a reply of INFO; empty where there is none.
[[nodiscard]] std::string_view infoField(std::string_view info, std::string_view name) noexcept;

// `Redis' clock minus ours` where it was read some time between `before` and `after`: 0 if it fits, else
// the distance.
[[nodiscard]] milliseconds certainSkew(UtcTime redis, UtcTime before, UtcTime after) noexcept;

}  // namespace sluice
