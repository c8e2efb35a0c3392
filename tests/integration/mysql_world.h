// store_mysql on one private MariaDB for the whole test program, a database for each test.
#pragma once

#include <memory>

#include "integration/server_world.h"

namespace sluice::test {

[[nodiscard]] PrivateMariadb& mariadb();
[[nodiscard]] std::unique_ptr<ServerWorld> mysqlWorld();
[[nodiscard]] std::unique_ptr<StoreWorld> makeMysqlWorld();

}  // namespace sluice::test
