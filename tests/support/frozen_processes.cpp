// See frozen_processes.h.
#include "support/frozen_processes.h"

#include <array>
#include <csignal>
#include <stdexcept>

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
}

FrozenProcesses::~FrozenProcesses() {
  signalAll(processes_, SIGCONT);
  const char done = 'd';
  [[maybe_unused]] const auto written = ::write(lifeLine_, &done, 1);
  ::close(lifeLine_);
  ::waitpid(watcher_, nullptr, 0);
}

}  // namespace sluice::test
