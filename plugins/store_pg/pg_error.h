// The one place where PostgreSQL's SQLSTATEs become the contract's errors.
#pragma once

#include <string_view>

#include "dialect.h"

namespace sluice::pg {

// `state` is an SQLSTATE of five characters. `text` is the server's message; its further lines (DETAIL, HINT)
// hold row values and go nowhere.
[[nodiscard]] sql::Failure failureOf(std::string_view state, std::string_view text, sql::Stage stage);

// Of a connection that could not be opened; the client library gives no state then, only its message.
[[nodiscard]] sql::Failure failureOfConnect(std::string_view text, sql::Stage stage);

}  // namespace sluice::pg
