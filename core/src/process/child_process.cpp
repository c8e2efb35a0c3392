// See child_process.h. Between fork and exec only async-signal-safe calls are made: other threads may hold
// any lock.
#include "sluice/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sluice {

namespace {

// Everything the child needs, prepared before the fork.
struct Prepared {
  std::string program;
  std::vector<char*> arguments;
  std::vector<std::string> environmentTexts;
  std::vector<char*> environment;
};

std::string findProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : std::string();
  const char* path =
      std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody changes the environment after start
  std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    std::string candidate = rest.substr(0, end) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = end == std::string::npos ? std::string() : rest.substr(end + 1);
  }
  return {};
}

void prepareEnvironment(const ChildOptions& options, Prepared& prepared) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : options.environment) {
      replaced = replaced || key == name;
    }
    if (!replaced) prepared.environmentTexts.emplace_back(text);
  }
  for (const auto& [key, value] : options.environment) {
    prepared.environmentTexts.push_back(key);
    prepared.environmentTexts.back().append("=").append(value);
  }
  for (std::string& text : prepared.environmentTexts) {
    prepared.environment.push_back(text.data());
  }
  prepared.environment.push_back(nullptr);
}

[[noreturn]] void failInChild(int errorPipe) {
  const int code = errno;
  [[maybe_unused]] const auto written = write(errorPipe, &code, sizeof code);
  _exit(127);
}

void redirectInChild(const ChildOptions& options, int outputWrite, int errorPipe) {
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) failInChild(errorPipe);
  if (!options.outputFile.empty()) {
    const int file = open(options.outputFile.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) failInChild(errorPipe);
  }
  if (outputWrite >= 0 && dup2(outputWrite, STDOUT_FILENO) < 0) failInChild(errorPipe);
}

[[noreturn]] void runChild(const ChildOptions& options, const Prepared& prepared, pid_t parent,
                           int outputWrite, int errorPipe) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, options.deathSignal);
  if (getppid() != parent) _exit(127);  // it died before the line above
  redirectInChild(options, outputWrite, errorPipe);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) failInChild(errorPipe);
  for (const int descriptor : options.keepOpen) {
    fcntl(descriptor, F_SETFD, 0);
  }
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  // A server blocks signals in its threads; the mask would be inherited. The child has one thread.
  sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): see above
  execve(prepared.program.c_str(), prepared.arguments.data(), prepared.environment.data());
  failInChild(errorPipe);
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const ChildOptions& options) {
  Prepared prepared;
  prepared.program = findProgram(options.arguments.at(0));
  if (prepared.program.empty())
    return {ErrorCode::NotFound, "program " + options.arguments.at(0) + " is not installed"};
  for (const std::string& argument : options.arguments) {
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  prepared.arguments.push_back(nullptr);
  prepareEnvironment(options, prepared);

  std::array<int, 2> errors{-1, -1};
  std::array<int, 2> output{-1, -1};
  if (pipe2(errors.data(), O_CLOEXEC) != 0 || (options.outputPipe && pipe2(output.data(), O_CLOEXEC) != 0)) {
    return {ErrorCode::Unavailable, "pipe: " + std::generic_category().message(errno)};
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) runChild(options, prepared, parent, output[1], errors[1]);
  const int forkError = errno;
  close(errors[1]);
  if (output[1] >= 0) close(output[1]);
  int childError = 0;
  const auto got =
      pid > 0 ? read(errors[0], &childError, sizeof childError) : 0;  // ends at exec: the pipe closes then
  close(errors[0]);
  if (pid > 0 && got == 0) return std::unique_ptr<ChildProcess>(new ChildProcess(pid, output[0]));
  if (output[0] >= 0) close(output[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
  return {ErrorCode::Unavailable, "cannot start " + prepared.program + ": " +
                                      std::generic_category().message(pid > 0 ? childError : forkError)};
}

ChildProcess::~ChildProcess() {
  end(milliseconds(5000));
  if (output_ >= 0) close(output_);
}

std::optional<int> ChildProcess::poll() noexcept {
  int status = 0;
  if (!exit_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return exit_;
}

std::optional<int> ChildProcess::wait(Deadline deadline) noexcept {
  while (!poll() && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(5));  // no descriptor to wait on that older kernels share
  }
  return poll();
}

void ChildProcess::signal(int number) noexcept {
  if (!poll()) kill(-pid_, number);
}

int ChildProcess::end(milliseconds grace) noexcept {
  if (!poll()) {
    signal(SIGTERM);
    signal(SIGCONT);  // a frozen child would not see the first
    if (!wait(Deadline::in(grace))) {
      signal(SIGKILL);
      while (!wait(Deadline::in(grace))) {
      }
    }
  }
  return *exit_;
}

}  // namespace sluice
