// makeLuaQualifier: the one Qualifier there is, scripts in Redis (contract: qualifier.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/qualifier.h"
#include "sluice/redis.h"

namespace sluice {

struct LuaQualifierOptions {
  RedisTarget target = {};
  std::string keyPrefix = "sluice";     // "sluice" gives keys like "sluice:{0}:voucher:17"
  bool journal = true;                  // off: admissions are not appended; the caller carries them itself
  std::int64_t journalMax = 1'000'000;  // entries; from there on requests are Busy and take no stock
  std::size_t connections = 4;          // at most this many to Redis at one time
};

// Inert until start(). Clock, random and log must outlive it.
[[nodiscard]] std::unique_ptr<Qualifier> makeLuaQualifier(LuaQualifierOptions options, const Clock& clock,
                                                          Random& random, Log& log);

}  // namespace sluice
