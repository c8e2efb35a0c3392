// The `sluice` program run once, with what it wrote to standard output and standard error kept apart.
#pragma once

#include <string>
#include <vector>

#include "sluice/clock.h"

namespace sluice::test {

struct ProgramResult {
  int exitCode = -1;  // -1: did not end in time
  std::string out;
  std::string err;
};

// Runs in `directory` ("" ours). The child is ended when it takes longer than `wait`.
[[nodiscard]] ProgramResult runSluice(const std::vector<std::string>& arguments,
                                      const std::string& directory = {},
                                      milliseconds wait = milliseconds(120000));

// The processes whose command line holds `text`, by their ids; for "nothing is left running".
[[nodiscard]] std::vector<int> processesWith(const std::string& text);

}  // namespace sluice::test
