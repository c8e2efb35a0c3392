// Work in a forked process of its own: to kill it at any instant, or to have many processes at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <sys/types.h>

namespace sluice::test {

// Runs `work` in a forked process, which ends with the number that it answers. To be made while no other
// thread runs and no store or connection of the test is open. Killed, at the latest, by the destructor.
class ForkedChild {
 public:
  explicit ForkedChild(const std::function<int()>& work);
  ~ForkedChild();
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;
  void kill();               // at once, as the kernel does it when memory ends
  [[nodiscard]] int wait();  // its number; 128 + signal where it was killed

 private:
  pid_t pid_ = -1;
};

// `count` children that begin at one instant, each with its number from 0. Answers what each ended with.
[[nodiscard]] std::vector<int> inProcesses(int count, const std::function<int(int)>& work);

// A child that tells its parent what it has done, one byte for each thing, and is killed at some point.
class TellingChild {
 public:
  using Tell = std::function<void()>;
  // `work` is to go on for ever; what it answers fails the parent's kill().
  explicit TellingChild(const std::function<int(const Tell&)>& work);
  ~TellingChild();
  TellingChild(const TellingChild&) = delete;
  TellingChild& operator=(const TellingChild&) = delete;
  // Blocks until `count` things more were told; false where the child ended before.
  [[nodiscard]] bool await(int count);
  // SIGKILL. Answers how many things were told in all; -1 where the child had ended by itself.
  [[nodiscard]] int kill();

 private:
  int pipe_[2] = {-1, -1};
  int told_ = 0;
  std::unique_ptr<ForkedChild> child_;
};

}  // namespace sluice::test
