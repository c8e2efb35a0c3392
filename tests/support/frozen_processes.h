// Processes stopped together, that go on by themselves when the test ends or dies.
#pragma once

#include <vector>

#include <sys/types.h>

namespace sluice::test {

// Stops them (SIGSTOP) on construction, lets them go on (SIGCONT) on destruction. A small process of its own
// watches over this one: dies it first, they go on all the same, and end by the signal that the kernel sends
// to children of the dead. Without it a stopped child would stay for ever.
class FrozenProcesses {
 public:
  // Throws std::runtime_error where the watcher cannot be started; nothing is stopped then.
  explicit FrozenProcesses(std::vector<pid_t> processes);
  ~FrozenProcesses();
  FrozenProcesses(const FrozenProcesses&) = delete;
  FrozenProcesses& operator=(const FrozenProcesses&) = delete;

 private:
  const std::vector<pid_t> processes_;
  int lifeLine_ = -1;  // ends with this process
  pid_t watcher_ = -1;
};

}  // namespace sluice::test
