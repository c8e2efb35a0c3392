// Settings that are right one by one and wrong together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/options.h"

namespace sluice {

// Appends a fault for each. `core` is complete (defaults where a value was refused); keys in `faults` already
// are not looked at again. `given` are the keys that some layer gives.
void checkRelations(const OptionMap& core, const std::map<std::string, std::string>& given,
                    std::vector<ConfigFault>& faults);

}  // namespace sluice
