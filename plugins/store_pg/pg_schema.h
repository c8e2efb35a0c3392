// The tables of Sluice in PostgreSQL, as migration steps.
#pragma once

#include <span>

#include "dialect.h"

namespace sluice::pg {

[[nodiscard]] std::span<const sql::Migration> migrations() noexcept;

}  // namespace sluice::pg
