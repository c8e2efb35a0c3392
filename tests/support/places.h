// Where this build keeps what tests use. Here and nowhere else, so that no other file's compilation depends
// on a folder's name.
#pragma once

#include <string>

namespace sluice::test::places {

[[nodiscard]] std::string binary();     // the executable `sluice`
[[nodiscard]] std::string plugins();    // the folder of the plugins
[[nodiscard]] std::string testBuild();  // the folder of the test executables; fixtures below it
[[nodiscard]] std::string source();     // the root of the source tree

}  // namespace sluice::test::places
