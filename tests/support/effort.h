// How long and how much: the one time factor, the seed, and whether this run is a campaign.
// (The names do not begin with SLUICE_: the program takes those for its configuration.)
//
//   SLUICETEST_TIME_SCALE   leases, delays and limits of the tests grow by this factor (default 1)
//   SLUICETEST_SEED         chance of the tests; without it a new one for each program, printed
//   SLUICETEST_CAMPAIGN          1: full sizes (a million messages, every variant) instead of CI's slice
#pragma once

#include <cstdint>

#include "sluice/clock.h"

namespace sluice::test {

// `time` on this machine.
[[nodiscard]] milliseconds scaled(milliseconds time);

[[nodiscard]] bool isCampaign();

// `full` in a campaign, else `slice`.
template <typename T>
[[nodiscard]] T sized(T slice, T full) {
  return isCampaign() ? full : slice;
}

// The same for the whole program; the first call prints it with the way to repeat it.
[[nodiscard]] std::uint64_t testSeed();

}  // namespace sluice::test
