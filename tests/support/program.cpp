// See program.h.
#include "support/program.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <poll.h>
#include <unistd.h>

#include "sluice/child_process.h"

#include "support/places.h"
#include "support/temp_folder.h"

namespace sluice::test {
namespace {

std::string fileText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Everything until the end of the stream, or until the deadline.
std::string readAll(int descriptor, Deadline deadline) {
  std::string all;
  while (!deadline.passed()) {
    pollfd watched{descriptor, POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(deadline.remaining().count())) <= 0) continue;
    std::array<char, 4096> buffer;
    const auto count = ::read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) break;
    all.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return all;
}

}  // namespace

ProgramResult runSluice(const std::vector<std::string>& arguments, const std::string& directory,
                        milliseconds wait) {
  const TempFolder folder;
  ChildOptions options;
  options.arguments = {places::binary()};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.directory = directory;
  options.outputFile = folder.file("err");
  options.outputPipe = true;
  const auto child = ChildProcess::start(options);
  if (!child) throw std::runtime_error(child.error().text);
  const Deadline deadline = Deadline::in(wait);
  ProgramResult result;
  result.out = readAll(child.value()->output(), deadline);
  result.exitCode = child.value()->wait(deadline).value_or(-1);
  result.err = fileText(options.outputFile);
  return result;
}

std::vector<int> processesWith(const std::string& text) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || name == std::to_string(::getpid()))
      continue;
    std::string line = fileText(entry.path() / "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find(text) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace sluice::test
