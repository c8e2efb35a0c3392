// Of the variants of a test all in a campaign, else some.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "support/effort.h"

namespace sluice::test {

// `slice` of them, chosen by the seed of this run.
template <typename Case>
[[nodiscard]] std::vector<Case> sliced(std::vector<Case> all, std::size_t slice) {
  std::mt19937_64 chance(testSeed());
  std::shuffle(all.begin(), all.end(), chance);
  all.resize(sized(std::min(slice, all.size()), all.size()));
  return all;
}

}  // namespace sluice::test
