// store_sqlite passes the contract of every store.
#include "contract/store_contract.h"
#include "integration/sqlite_world.h"

namespace sluice::test {

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract,
                         testing::Values(StoreKind{"sqlite", [] { return std::make_unique<SqliteWorld>(); }}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace sluice::test
