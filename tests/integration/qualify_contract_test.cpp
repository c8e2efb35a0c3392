// The Lua qualifier passes the contract of every qualifier.
#include "integration/qualify_fixture.h"

namespace sluice::test {

INSTANTIATE_TEST_SUITE_P(Lua, QualifierContract, testing::Values(QualifierKind{"lua", makeLuaWorld}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace sluice::test
