// See temp_folder.h.
#include "support/temp_folder.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace sluice::test {

TempFolder::TempFolder() {
  std::string pattern = "/tmp/sluice-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code
      ignored;  // a test that failed may have left something open; the next one has a folder of its own
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sluice::test
