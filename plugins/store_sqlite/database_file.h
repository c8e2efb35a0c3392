// Creates the database file and its folder, for their owner only.
#pragma once

#include <string>

#include "sluice/result.h"

namespace sluice::sqlite {

// An empty file of mode 0600 where there is none; missing folders with mode 0700. An existing file is left as
// it is. SQLite gives its log the file's own mode. Safe when several threads and processes do it at once.
[[nodiscard]] Status createDatabaseFile(const std::string& path);

}  // namespace sluice::sqlite
