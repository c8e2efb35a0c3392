// The in-process queue with SQLite passes the suite of queue and store together, as far as it survives.
#include "integration/sqlite_together.h"

namespace sluice::test {

INSTANTIATE_TEST_SUITE_P(InprocSqlite, Together,
                         testing::Values(TogetherPair{"inproc_sqlite", inprocQueue(), false, streamQueue(),
                                                      makeSqliteTogether}),
                         [](const auto& pair) { return pair.param.name; });

}  // namespace sluice::test
