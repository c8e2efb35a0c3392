// The documents: every test that they name as a proof exists.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "support/places.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

std::string textOf(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::set<std::string> testsOfTheTree() {
  std::set<std::string> names;
  const std::regex declared(R"(TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  for (const auto& entry : fs::recursive_directory_iterator(places::source() + "/tests")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    const std::string text = textOf(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), declared), end; at != end; ++at) {
      names.insert((*at)[1].str() + "." + (*at)[2].str());
    }
  }
  return names;
}

TEST(Documents, NameOnlyTestsThatExist) {
  const std::set<std::string> tests = testsOfTheTree();
  const std::string page = textOf(places::source() + "/docs/guarantees.md");
  const std::regex named(R"(`([A-Z]\w+\.[A-Z]\w+)`)");
  int found = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), named), end; at != end; ++at, ++found) {
    EXPECT_EQ(tests.count((*at)[1].str()), 1u) << (*at)[1].str();
  }
  EXPECT_GT(found, 20);
}

TEST(Documents, EveryInvariantNamesAProof) {
  std::istringstream page(textOf(places::source() + "/docs/guarantees.md"));
  const std::regex invariant(R"(^\| [A-Z_]{6,}.*)");
  int rows = 0;
  for (std::string line; std::getline(page, line);) {
    if (!std::regex_match(line, invariant)) continue;
    ++rows;
    EXPECT_NE(line.find(".", line.find('`')), std::string::npos) << line;
  }
  EXPECT_GE(rows, 9);
}

}  // namespace
}  // namespace sluice::test
