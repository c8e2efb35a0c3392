// Notes which cases a run of tests has shown, for matrix_report.
//
// Linked into every program that shows contract cases. Where the environment names a file
// (SLUICETEST_MATRIX_FILE; ctest does), each test that names cases leaves a line there: case, result and test,
// with tabs between.
#pragma once

#include <string>

namespace sluice::test {

// The case does not apply: the plugin does not claim `capability` (or the fixture has no such thing to show
// it with). To be called in SetUp or a test, after checking that the calls in question answer Unsupported;
// what follows must return.
void noteUnclaimed(const std::string& capability);

}  // namespace sluice::test

// Skips the rest of the test with a note for the matrix.
#define SLUICE_SKIP_UNCLAIMED(capability)            \
  do {                                               \
    sluice::test::noteUnclaimed(capability);         \
    GTEST_SKIP() << "not claimed: " << (capability); \
  } while (false)
