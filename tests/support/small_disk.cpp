// See small_disk.h.
#include "support/small_disk.h"

#include <array>
#include <filesystem>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::test {

SmallDisk::SmallDisk(int mebibytes) {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
  const std::string size = "mode=0777,size=" + std::to_string(mebibytes) + "m";
  mounted_ = mount("tmpfs", path().c_str(), "tmpfs", 0, size.c_str()) == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) umount2(path().c_str(), MNT_DETACH);
}

void SmallDisk::fill() const {
  const int ballast = open((path() + "/ballast").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  static constexpr std::array<char, 4096> kPage{};
  while (write(ballast, kPage.data(), kPage.size()) > 0) {
  }
  close(ballast);
}

void SmallDisk::clear() const { std::filesystem::remove(path() + "/ballast"); }

}  // namespace sluice::test
