// Query parameters, read strictly: only the names a handler knows, each once, plain characters only.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "http_message.h"

namespace sluice::server {

struct QueryParameter {
  std::string_view name;
  std::string_view value;
  bool present = false;
};

// Fills `known` from "a=1&b=2". Unknown and repeated names, missing '=' and percent signs are refused: every
// value this server reads is of letters, digits and ".:_-".
[[nodiscard]] std::optional<HttpFault> readQuery(std::string_view query,
                                                 std::span<QueryParameter> known) noexcept;

}  // namespace sluice::server
