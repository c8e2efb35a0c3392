// The listener behind matrix.h.
#include "contract/matrix.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "contract/cases.h"

namespace sluice::test {
namespace {

// Set by noteUnclaimed, taken at the end of the test.
std::string& unclaimedNow() {
  static std::string capability;
  return capability;
}

class MatrixListener final : public testing::EmptyTestEventListener {
 public:
  explicit MatrixListener(const std::string& file) : out_(file, std::ios::trunc) {}

  void OnTestEnd(const testing::TestInfo& test) override {
    const std::string capability = std::exchange(unclaimedNow(), "");
    for (const std::string_view id : casesInName(test.name())) {
      const std::string result = test.result()->Failed() ? "failed" : resultOf(test, capability);
      out_ << id << '\t' << result << '\t' << test.test_suite_name() << '.' << test.name() << std::endl;
    }
  }

 private:
  static std::string resultOf(const testing::TestInfo& test, const std::string& capability) {
    if (!test.result()->Skipped()) return "passed";
    return capability.empty() ? "skipped" : "unclaimed:" + capability;
  }
  std::ofstream out_;
};

const bool kListening = [] {
  const char* file = std::getenv("SLUICETEST_MATRIX_FILE");
  if (file == nullptr || *file == '\0') return false;
  testing::UnitTest::GetInstance()->listeners().Append(new MatrixListener(file));
  return true;
}();

}  // namespace

void noteUnclaimed(const std::string& capability) { unclaimedNow() = capability; }

}  // namespace sluice::test
