// The tables of Sluice in MySQL and MariaDB, as migration steps.
#pragma once

#include <span>

#include "dialect.h"

namespace sluice::mysql {

[[nodiscard]] std::span<const sql::Migration> migrations() noexcept;

}  // namespace sluice::mysql
