// See footprint.h.
#include "support/footprint.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace sluice::test {

Footprint footprintOf(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  Footprint now;
  std::ifstream status(folder + "/status");
  for (std::string key; status >> key; status.ignore(1000, '\n')) {
    if (key == "VmRSS:") status >> now.memoryKiB;
    if (key == "Threads:") status >> now.threads;
  }
  now.descriptors = std::distance(std::filesystem::directory_iterator(folder + "/fd"),
                                  std::filesystem::directory_iterator());
  std::ifstream stat(folder + "/stat");
  const std::string line((std::istreambuf_iterator<char>(stat)), {});
  // The name may hold blanks; the fields after it begin with the third. 14 and 15 are user and system time.
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  const std::vector<std::string> all{std::istream_iterator<std::string>(fields), {}};
  const auto ticks = static_cast<double>(std::stoll(all.at(14 - 3)) + std::stoll(all.at(15 - 3)));
  now.cpuSeconds = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return now;
}

Footprint footprint() { return footprintOf(getpid()); }

bool memoryCounts() { return std::string(SLUICE_SANITIZE).empty(); }

}  // namespace sluice::test
