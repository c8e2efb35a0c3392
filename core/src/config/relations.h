// Settings that are right one by one and wrong together.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "sluice/options.h"

namespace sluice {

// Appends a fault for each. `core` is complete (defaults where a value was refused); keys in `faults` already
// are not looked at again. `strengths` holds the keys that some layer gives, each with the rank of the
// strongest one: of two that exclude each other the one in a stronger layer wins where the header says so,
// e.g.
// `--set redis.embedded=true` over a file that names a host.
void checkRelations(const OptionMap& core, const std::map<std::string, std::size_t>& strengths,
                    std::vector<ConfigFault>& faults);

}  // namespace sluice
