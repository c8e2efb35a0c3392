// queue_stream with real processes that are killed or stopped while they hold orders.
//
// The tests fork, so this program runs no thread before it does.
#include <algorithm>
#include <csignal>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

#include "stream_fixture.h"

namespace sluice::test {

namespace {

const QueueCase kCase{"stream", [] { return std::make_unique<StreamFixture>(milliseconds(600)); }};

INSTANTIATE_TEST_SUITE_P(Processes, StreamOwn, testing::Values(kCase), queueCaseName);

// A process that takes `count` messages, says so, and settles them only when it is told to.
class Worker {
 public:
  Worker(QueueFixture& fixture, std::size_t count) {
    EXPECT_EQ(pipe(said_), 0);
    EXPECT_EQ(pipe(told_), 0);
    pid_ = fork();
    if (pid_ == 0) work(fixture, count);
  }
  ~Worker() {
    signal(SIGKILL);
    for (const int end : {said_[0], said_[1], told_[0], told_[1]}) {
      close(end);
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void signal(int number) {
    if (pid_ <= 0) return;
    kill(pid_, number);
    if (number != SIGKILL) return;
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // The number that the worker says next: how many it has taken, then how many it has settled.
  std::int64_t listen() {
    std::int64_t number = -1;
    return read(said_[0], &number, sizeof(number)) == sizeof(number) ? number : -1;
  }
  void tell() { EXPECT_EQ(write(told_[1], "x", 1), 1); }

 private:
  [[noreturn]] void work(QueueFixture& fixture, std::size_t count) {
    const auto queue = fixture.make("worker", 1);
    if (!queue->start(Deadline::in(kSoon)).ok()) _exit(1);
    const auto batch = queue->receive(0, count, Deadline::in(kSoon));
    if (!batch) _exit(2);
    say(static_cast<std::int64_t>(batch.value().size()));
    char word = 0;
    if (read(told_[0], &word, 1) != 1) _exit(3);
    const auto outcomes = queue->settle(0, settlementsOf(batch.value()), Deadline::in(kSoon));
    if (!outcomes) _exit(4);
    say(std::count(outcomes.value().begin(), outcomes.value().end(), SettleOutcome::Settled));
    pause();
    _exit(0);
  }
  void say(std::int64_t number) {
    if (write(said_[1], &number, sizeof(number)) != sizeof(number)) _exit(5);
  }

  int said_[2] = {-1, -1};
  int told_[2] = {-1, -1};
  pid_t pid_ = 0;
};

TEST_P(StreamOwn, OrdersOfAKilledProcessReachAnother) {
  publish(1, 50);
  Worker worker(*fixture_, 50);
  ASSERT_EQ(worker.listen(), 50);
  const auto begin = std::chrono::steady_clock::now();
  worker.signal(SIGKILL);
  const auto taken = take(50);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, own().lease() / 2) << "not before the lease";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, own().lease() + own().takeOverSlack());
  for (const Delivery& delivery : taken) {
    EXPECT_EQ(delivery.deliveries, 2U);
    EXPECT_EQ(delivery.failures, 0U) << "a dead process is no failure of the order";
  }
  settle(settlementsOf(taken));
  expectClean();
}

TEST_P(StreamOwn, AStoppedProcessThatWakesUpSettlesNothingOfOthers) {
  publish(1, 10);
  Worker worker(*fixture_, 10);
  ASSERT_EQ(worker.listen(), 10);
  worker.signal(SIGSTOP);
  const auto taken = take(10);
  ASSERT_EQ(taken.size(), 10U);
  settle(settlementsOf({taken.begin(), taken.begin() + 5}));
  worker.tell();
  worker.signal(SIGCONT);
  EXPECT_EQ(worker.listen(), 0) << "every token was stale";
  EXPECT_EQ(redis().number({"XLEN", kJournal}), 5);
  settle(settlementsOf({taken.begin() + 5, taken.end()}));
  expectClean();
}

TEST_P(StreamOwn, APoisonThatKillsItsProcessComesAlone) {
  publish(1, 20);
  // Each process dies with all it was given; after two deaths every message is a suspect and comes by itself.
  for (int death = 0; death < 2; ++death) {
    Worker worker(*fixture_, 20);
    ASSERT_EQ(worker.listen(), 20) << death;
  }
  std::set<std::int64_t> seen;
  const Deadline deadline = Deadline::in(kSoon);
  while (seen.size() < 20 && !deadline.passed()) {
    const auto batch = queue_->receive(0, 20, Deadline::in(milliseconds(100)));
    ASSERT_TRUE(batch.ok()) << batch.error().text;
    EXPECT_LE(batch.value().size(), 1U);
    for (const std::int64_t order : ordersOf(batch.value())) {
      seen.insert(order);
    }
    settle(settlementsOf(batch.value()));
  }
  EXPECT_EQ(seen.size(), 20U);
  expectClean();
}

}  // namespace

}  // namespace sluice::test
