// See sqlite_world.h.
#include "integration/sqlite_world.h"

#include "sql_store.h"

namespace sluice::test {

SqliteWorld::SqliteWorld(sqlite::SqliteOptions options) : options_(std::move(options)) {
  options_.path = folder_.file("data/sluice.db");
}

std::unique_ptr<OrderStore> SqliteWorld::make() {
  return std::make_unique<sql::SqlStore>(std::make_unique<sqlite::SqliteDialect>(options_), noLog(),
                                         systemClock(), systemRandom());
}

}  // namespace sluice::test
