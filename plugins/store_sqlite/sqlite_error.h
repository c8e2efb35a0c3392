// The one place where SQLite's result codes become the contract's errors.
#pragma once

#include <string>

#include "dialect.h"

namespace sluice::sqlite {

// `code` is an extended result code. `text` is the library's message, which names tables and constraints,
// never values.
[[nodiscard]] sql::Failure failureOf(int code, const std::string& text, sql::Stage stage);

}  // namespace sluice::sqlite
