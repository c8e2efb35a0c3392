// Reads the text that Redis keeps for a user's holds: "<order>:<pieces>", joined by commas, the oldest first.
#pragma once

#include <string_view>
#include <vector>

#include "sluice/qualifier.h"

namespace sluice {

// Appends the holds of one user. Corrupt where user or text are none of ours; nothing is appended then.
[[nodiscard]] Status readHolds(std::string_view user, std::string_view text, std::vector<Hold>& into);

}  // namespace sluice
