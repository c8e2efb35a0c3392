// store_sqlite passes the contract of every store.
#include "contract/store_contract.h"
#include "integration/sqlite_world.h"

namespace sluice::test {

namespace {

// Without the wait for the disk at each commit: what a power cut may take is not the subject here.
std::unique_ptr<StoreWorld> makeWorld() {
  sqlite::SqliteOptions options;
  options.synchronousFull = false;
  return std::make_unique<SqliteWorld>(options);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(StoreKind{"sqlite", makeWorld}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace sluice::test
