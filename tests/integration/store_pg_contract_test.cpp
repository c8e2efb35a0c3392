// store_pg passes the contract of every store.
#include "contract/store_contract.h"
#include "integration/pg_world.h"

namespace sluice::test {

INSTANTIATE_TEST_SUITE_P(Pg, StoreContract, testing::Values(StoreKind{"pg", makePgWorld}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace sluice::test
