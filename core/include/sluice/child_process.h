// ChildProcess: a program run as a child that cannot outlive us.
//
// Role:     the embedded Redis, the demo's server and client, private servers in tests.
// Threads:  one owner. The kernel ends the child when the *thread* that started it ends (PR_SET_PDEATHSIG),
//           also when this process is killed: start it from a thread that lives as long as the child
//           should. Lifetime: the destructor ends the child (SIGTERM, then SIGKILL after a grace of five
//           seconds) and reaps it.
// Errors:   start answers NotFound where the program does not exist, Unavailable where the system refuses.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice {

struct ChildOptions {
  std::vector<std::string> arguments;                            // [0] is the program, looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::string directory;                                         // "" ours
  std::string outputFile;                                        // stdout and stderr appended there; "" ours
  bool outputPipe = false;                                       // stdout readable through output()
  std::vector<int> keepOpen;                                     // descriptors that the child inherits
  int deathSignal = 15;                                          // sent to the child when our thread ends
};

class ChildProcess {
 public:
  // The child leads a process group of its own, so that Ctrl-C at the terminal reaches it only through us.
  [[nodiscard]] static Result<std::unique_ptr<ChildProcess>> start(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] int output() const noexcept { return output_; }  // -1 without outputPipe
  // The exit code (128 + signal where it was killed) once it has ended.
  [[nodiscard]] std::optional<int> poll() noexcept;
  [[nodiscard]] std::optional<int> wait(Deadline deadline) noexcept;
  // To the child and whatever it started in its group. Nothing once it has been reaped.
  void signal(int number) noexcept;
  // SIGTERM, SIGKILL after `grace`, reaped. Answers the exit code.
  int end(milliseconds grace) noexcept;

 private:
  ChildProcess(pid_t pid, int output) noexcept : pid_(pid), output_(output) {}
  pid_t pid_;
  int output_;
  std::optional<int> exit_;
};

}  // namespace sluice
