// store_mysql passes the contract of every store.
#include "contract/store_contract.h"
#include "integration/mysql_world.h"

namespace sluice::test {

INSTANTIATE_TEST_SUITE_P(Mysql, StoreContract, testing::Values(StoreKind{"mysql", makeMysqlWorld}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace sluice::test
