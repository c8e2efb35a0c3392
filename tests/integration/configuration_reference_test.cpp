// docs/configuration.md is what the tables of program and plugins say, word for word.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "sluice/config.h"

#include "support/places.h"

namespace sluice {
namespace {

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ConfigurationReference, ThePageIsTheOneThatTheTablesGive) {
  PluginLoader loader(test::places::plugins());
  const auto generated = configurationReference(loader);
  ASSERT_TRUE(generated.ok()) << generated.error().text;
  const std::string page = test::places::source() + "/docs/configuration.md";
  EXPECT_TRUE(textOf(page) == generated.value())
      << page
      << " is not what the tables say; write it anew: build/dev/bin/sluice config reference > "
         "docs/configuration.md";
}

}  // namespace
}  // namespace sluice
