// The qualifier's scripts, ready to be evaluated: each with the verdicts' numbers and the shared functions
// in front.
#pragma once

#include <array>

#include "sluice/redis.h"

namespace sluice {

struct Scripts {
  Scripts();

  RedisScript qualify;
  RedisScript release;
  RedisScript restore;
  RedisScript loadHolds;
  RedisScript load;
  RedisScript sync;
  RedisScript eligible;
  RedisScript forgetKeys;
  RedisScript snapshot;

  [[nodiscard]] std::array<const RedisScript*, 9> all() const {
    return {&qualify, &release, &restore, &loadHolds, &load, &sync, &eligible, &forgetKeys, &snapshot};
  }
};

// "local ADMITTED='0' local NOT_FOUND='1' ...": the table of verdict.h as the scripts see it, in one line.
[[nodiscard]] std::string verdictConstants();

}  // namespace sluice
