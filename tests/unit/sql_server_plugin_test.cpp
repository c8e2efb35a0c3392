// Connection strings of the stores of servers: whatever a value holds, it stays one value.
#include <gtest/gtest.h>

#include "server_plugin.h"

namespace sluice::test {
namespace {

TEST(ConnectString, QuotesAndBackslashesStayWithinTheValue) {
  std::string connect = "a='b'";
  sql::addQuoted(connect, "password", R"(it's \ host='elsewhere')");
  EXPECT_EQ(connect, R"(a='b' password='it\'s \\ host=\'elsewhere\'')");
}

}  // namespace
}  // namespace sluice::test
