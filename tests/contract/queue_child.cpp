// See queue_child.h: the parent's side, and the pipes.
#include "contract/queue_child.h"

#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "contract/queue_contract.h"

namespace sluice::test {

QueueChild::QueueChild(const QueueFixture& fixture, const std::string& work, const std::string& instance,
                       const std::vector<std::int64_t>& numbers) {
  if (pipe2(said_, O_CLOEXEC) != 0 || pipe2(told_, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  ChildOptions options;
  options.arguments = {"/proc/self/exe",         kQueueChildFlag,         work, fixture.address(), instance,
                       std::to_string(said_[1]), std::to_string(told_[0])};
  for (const std::int64_t number : numbers)
    options.arguments.push_back(std::to_string(number));
  // What it finds belongs to our test, not to the matrix.
  options.environment = {{"SLUICETEST_MATRIX_FILE", ""}};
  options.keepOpen = {said_[1], told_[0]};
  options.deathSignal = SIGKILL;  // a frozen one does not hear any other
  auto started = ChildProcess::start(options);
  if (!started) throw std::runtime_error(started.error().text);
  process_ = std::move(started).take();
  for (int* ours : {&said_[1], &told_[0]})
    close(std::exchange(*ours, -1));
}

QueueChild::~QueueChild() {
  kill();
  close(said_[0]);
  close(told_[1]);
}

std::optional<std::int64_t> QueueChild::listen(milliseconds within) {
  pollfd watched{said_[0], POLLIN, 0};
  if (::poll(&watched, 1, static_cast<int>(within.count())) <= 0) return std::nullopt;
  std::int64_t number = 0;
  return ::read(said_[0], &number, sizeof(number)) == sizeof(number) ? std::optional(number) : std::nullopt;
}

std::vector<std::int64_t> QueueChild::listenToTheEnd() {
  std::vector<std::int64_t> all;
  while (const auto number = listen())
    all.push_back(*number);
  return all;
}

void QueueChild::tell() { EXPECT_EQ(::write(told_[1], "x", 1), 1); }
void QueueChild::freeze() { process_->signal(SIGSTOP); }
void QueueChild::wake() { process_->signal(SIGCONT); }
void QueueChild::kill() {
  process_->signal(SIGKILL);
  (void)wait();
}
std::optional<int> QueueChild::wait(milliseconds within) { return process_->wait(Deadline::in(within)); }

QueueErrand::QueueErrand(std::vector<std::string> words) : words_(std::move(words)) {}

std::unique_ptr<OrderQueue> QueueErrand::open() const {
  auto queue = registeredQueueCase().join(words_.at(1), words_.at(2));
  const Status started = queue->start(Deadline::in(kSoon));
  if (!started) throw std::runtime_error(started.error().text);
  return queue;
}

void QueueErrand::say(std::int64_t number) const {
  if (::write(std::stoi(words_.at(3)), &number, sizeof(number)) != sizeof(number)) _exit(3);
}

void QueueErrand::hear() const {
  char word = 0;
  if (::read(std::stoi(words_.at(4)), &word, 1) != 1) _exit(4);
}

}  // namespace sluice::test
