// See places.h; the values come from CMake.
#include "support/places.h"

namespace sluice::test::places {

std::string binary() { return SLUICE_BINARY; }
std::string plugins() { return SLUICE_PLUGIN_DIR; }
std::string testBuild() { return SLUICE_TEST_DIR; }
std::string source() { return SLUICE_SOURCE_DIR; }

}  // namespace sluice::test::places
