// store_mysql on one private MariaDB for the whole test program, a database for each test.
#pragma once

#include <memory>

#include "integration/server_world.h"

namespace sluice::test {

[[nodiscard]] std::unique_ptr<StoreWorld> makeMysqlWorld();

}  // namespace sluice::test
