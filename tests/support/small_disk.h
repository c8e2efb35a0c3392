// A disk of a few megabytes that a test can fill: a tmpfs in a mount namespace of the test's own, so that it
// is gone with the test's processes, however they end.
#pragma once

#include <string>

#include "support/temp_folder.h"

namespace sluice::test {

class SmallDisk {
 public:
  // To be made while the program has one thread. Without the right to mount, the folder lies on the usual
  // disk and isSmall() is false.
  explicit SmallDisk(int mebibytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool isSmall() const noexcept { return mounted_; }
  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }
  void fill() const;   // to the last byte
  void clear() const;  // what fill() took

 private:
  TempFolder folder_;
  bool mounted_ = false;
};

}  // namespace sluice::test
