// One written value of an option, read by the option's type and range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/options.h"
#include "sluice/result.h"

namespace sluice {

struct OptionValue {
  std::int64_t number = 0;  // Boolean 0 or 1, Integer, Size in bytes, Duration in milliseconds
  std::string text;         // as written; Boolean as true or false
};

// The error says what is wrong and what is right, without the key; the value of a secret is not in it.
[[nodiscard]] Result<OptionValue> readOptionValue(const OptionSpec& spec, std::string_view written);

// "a whole number, 1..65535", "one of a, b, c", "a duration, 1ms..1h": for messages and the reference.
[[nodiscard]] std::string expectedValue(const OptionSpec& spec);

}  // namespace sluice
