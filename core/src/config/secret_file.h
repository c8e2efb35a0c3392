// Reads a secret from a file that only its owner and group may read.
#pragma once

#include <string>

#include "sluice/result.h"

namespace sluice {

// The content without its last line break. Refused: missing, not a regular file, readable or writable by
// everybody, empty, above 4 KiB, several lines, control characters. The error names the path and never the
// content.
[[nodiscard]] Result<std::string> readSecretFile(const std::string& path);

}  // namespace sluice
