// A real process on a fixture's queue, to be killed or frozen while it holds messages.
//
// It is this very program, started once more with the name of its work in the command line (queue_main.cpp),
// so that no thread or lock of ours comes along. It says numbers and hears words over two pipes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/child_process.h"

#include "contract/queue_fixture.h"

namespace sluice::test {

class QueueChild {
 public:
  // `work` is a name of queue_child_works.cpp, `numbers` its arguments.
  QueueChild(const QueueFixture& fixture, const std::string& work, const std::string& instance,
             const std::vector<std::int64_t>& numbers = {});
  ~QueueChild();
  QueueChild(const QueueChild&) = delete;
  QueueChild& operator=(const QueueChild&) = delete;

  // The number it says next; nothing where it has ended or says none in time.
  [[nodiscard]] std::optional<std::int64_t> listen(milliseconds within = kSoon);
  // All it says until it ends.
  [[nodiscard]] std::vector<std::int64_t> listenToTheEnd();
  void tell();
  void kill();
  void freeze();
  void wake();
  // Its exit code, 128 + signal where it was killed; nothing where it does not end in time.
  [[nodiscard]] std::optional<int> wait(milliseconds within = kSoon);

 private:
  int said_[2] = {-1, -1};
  int told_[2] = {-1, -1};
  std::unique_ptr<ChildProcess> process_;
};

// What a child has to do its work with.
class QueueErrand {
 public:
  explicit QueueErrand(std::vector<std::string> words);
  [[nodiscard]] const std::string& work() const { return words_.at(0); }
  [[nodiscard]] std::int64_t number(std::size_t k) const { return std::stoll(words_.at(5 + k)); }
  // Started.
  [[nodiscard]] std::unique_ptr<OrderQueue> open() const;
  void say(std::int64_t number) const;
  void hear() const;  // waits for a word; ends the process where nobody is there any more

 private:
  std::vector<std::string> words_;  // work, address, instance, descriptors, numbers
};

// The first argument of a program that is to be a child.
inline constexpr const char* kQueueChildFlag = "--queue-child";
// Does the work; answers the exit code.
int runQueueChild(const QueueErrand& errand);

}  // namespace sluice::test
