// The one place where the error numbers of MySQL and MariaDB become the contract's errors.
#pragma once

#include <string>

#include "dialect.h"

namespace sluice::mysql {

// `number` is the server's or the client library's. `text` is its message; it may quote a value ("Duplicate
// entry '7'"), so it is passed on only where it cannot.
[[nodiscard]] sql::Failure failureOf(unsigned number, const std::string& text, sql::Stage stage);

}  // namespace sluice::mysql
