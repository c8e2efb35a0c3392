// Instants as people and JSON write them: RFC 3339 in UTC, "2026-11-11T12:00:00.000Z".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"

namespace sluice::server {

// Always with three decimals.
[[nodiscard]] std::string utcText(UtcTime time);

// Reads "2026-11-11T12:00:00Z" with or without one to three decimals; years 1970 to 9999; no other zone than
// Z, no leap second.
[[nodiscard]] std::optional<UtcTime> parseUtcText(std::string_view text) noexcept;

}  // namespace sluice::server
