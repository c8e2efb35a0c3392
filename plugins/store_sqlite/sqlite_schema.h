// The tables of Sluice in SQLite, as migration steps.
#pragma once

#include <span>

#include "dialect.h"

namespace sluice::sqlite {

[[nodiscard]] std::span<const sql::Migration> migrations() noexcept;

}  // namespace sluice::sqlite
