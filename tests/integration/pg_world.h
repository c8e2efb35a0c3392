// store_pg on one private PostgreSQL for the whole test program, a database for each test.
#pragma once

#include <memory>

#include "integration/server_world.h"

namespace sluice::test {

[[nodiscard]] std::unique_ptr<StoreWorld> makePgWorld();

}  // namespace sluice::test
