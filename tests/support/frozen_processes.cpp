// See frozen_processes.h.
#include "support/frozen_processes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::test {
namespace {

void signalAll(const std::vector<pid_t>& processes, int number) noexcept {
  for (const pid_t process : processes) {
    ::kill(process, number);
  }
}

// Every thread of it has stopped, or it has ended.
bool hasStopped(pid_t process) {
  std::error_code gone;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    const std::size_t name = line.rfind(')');
    const char state = name != std::string::npos && name + 2 < line.size() ? line[name + 2] : 'Z';
    if (state != 'T' && state != 'Z') return false;
  }
  return true;
}

// In the watcher; only what is safe after a fork of a process with threads.
[[noreturn]] void watch(int lifeLine, const std::vector<pid_t>& processes) {
  ::setsid();  // what ends the test's group must not end its watcher
  char byte = 0;
  const auto got = ::read(lifeLine, &byte, 1);
  if (got == 0) signalAll(processes, SIGCONT);
  ::_exit(0);
}

}  // namespace

FrozenProcesses::FrozenProcesses(std::vector<pid_t> processes) : processes_(std::move(processes)) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  watcher_ = ::fork();
  if (watcher_ == 0) {
    ::close(ends[1]);
    watch(ends[0], processes_);
  }
  ::close(ends[0]);
  lifeLine_ = ends[1];
  if (watcher_ < 0) {
    ::close(lifeLine_);
    throw std::runtime_error("fork");
  }
  signalAll(processes_, SIGSTOP);
  // The call only asks for it: on a busy machine a thread may still answer something. One that waits for its disk
  // stops when that is done.
  for (int k = 0; k < 1000; ++k) {
    if (std::all_of(processes_.begin(), processes_.end(), hasStopped)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

FrozenProcesses::~FrozenProcesses() {
  signalAll(processes_, SIGCONT);
  const char done = 'd';
  [[maybe_unused]] const auto written = ::write(lifeLine_, &done, 1);
  ::close(lifeLine_);
  ::waitpid(watcher_, nullptr, 0);
}

}  // namespace sluice::test
