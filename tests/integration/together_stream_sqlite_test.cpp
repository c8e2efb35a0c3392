// The stream with SQLite passes the suite of queue and store together.
#include "integration/sqlite_together.h"

namespace sluice::test {

INSTANTIATE_TEST_SUITE_P(StreamSqlite, Together,
                         testing::Values(TogetherPair{"stream_sqlite", streamQueue(), true, inprocQueue(),
                                                      makeSqliteTogether}),
                         [](const auto& pair) { return pair.param.name; });

}  // namespace sluice::test
