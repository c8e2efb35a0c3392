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
  RedisScript lead;
  RedisScript resign;
  RedisScript setAside;

  [[nodiscard]] std::array<const RedisScript*, 12> all() const {
    return {&qualify,  &release,    &restore,  &loadHolds, &load,   &sync,
            &eligible, &forgetKeys, &snapshot, &lead,      &resign, &setAside};
  }
};

// "local ADMITTED='0' local NOT_FOUND='1' ...": the table of verdict.h as the scripts see it, in one line.
[[nodiscard]] std::string verdictConstants();

}  // namespace sluice
