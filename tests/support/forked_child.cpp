// See forked_child.h.
#include "support/forked_child.h"

#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::test {
namespace {

// The child must not outlive a parent that dies, nor run anything of the test framework at its end.
[[noreturn]] void runAsChild(const std::function<int()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(work());
}

void openPipe(int (&pipe)[2]) {
  if (::pipe2(pipe, O_CLOEXEC) != 0) std::abort();
}

}  // namespace

ForkedChild::ForkedChild(const std::function<int()>& work) : pid_(::fork()) {
  if (pid_ == 0) runAsChild(work);
  if (pid_ < 0) std::abort();
}

ForkedChild::~ForkedChild() {
  if (pid_ > 0) {
    kill();
    (void)wait();
  }
}

void ForkedChild::kill() { ::kill(pid_, SIGKILL); }

int ForkedChild::wait() {
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<int> inProcesses(int count, const std::function<int(int)>& work) {
  int gate[2] = {-1, -1};
  openPipe(gate);
  std::vector<std::unique_ptr<ForkedChild>> children;
  children.reserve(static_cast<std::size_t>(count));
  for (int k = 0; k < count; ++k) {
    children.push_back(std::make_unique<ForkedChild>([&, k] {
      ::close(gate[1]);
      char none = 0;
      (void)!::read(gate[0], &none, 1);  // ends for all at once, when the parent closes its end
      return work(k);
    }));
  }
  ::close(gate[1]);
  ::close(gate[0]);
  std::vector<int> results;
  results.reserve(children.size());
  for (const auto& child : children) {
    results.push_back(child->wait());
  }
  return results;
}

TellingChild::TellingChild(const std::function<int(const Tell&)>& work) {
  openPipe(pipe_);
  child_ = std::make_unique<ForkedChild>([&] {
    return work([this] {
      const char thing = '.';
      (void)!::write(pipe_[1], &thing, 1);
    });
  });
  ::close(pipe_[1]);
}

TellingChild::~TellingChild() { ::close(pipe_[0]); }

bool TellingChild::await(int count) {
  char thing = 0;
  while (count > 0 && ::read(pipe_[0], &thing, 1) == 1) {
    --count;
    ++told_;
  }
  return count == 0;
}

int TellingChild::kill() {
  child_->kill();
  const int ended = child_->wait();
  char thing = 0;
  while (::read(pipe_[0], &thing, 1) == 1)
    ++told_;
  return ended == 128 + SIGKILL ? told_ : -1;
}

}  // namespace sluice::test
