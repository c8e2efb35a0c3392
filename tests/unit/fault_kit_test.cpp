// The fault kit itself: wrappers that fail on command around parts that work, and processes that are stopped
// together.
#include <csignal>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/child_process.h"

#include "support/effort.h"
#include "support/fakes.h"
#include "support/faulty_qualifier.h"
#include "support/faulty_queue.h"
#include "support/faulty_store.h"
#include "support/frozen_processes.h"

namespace sluice::test {
namespace {

// The state letter of /proc; 'X' where there is no such process any more (or nobody has reaped it yet).
char stateOf(pid_t process) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), line);
  const std::size_t end = line.rfind(')');
  const char state = end == std::string::npos ? 'X' : line.at(end + 2);
  return state == 'Z' ? 'X' : state;
}

bool becomes(pid_t process, const std::string& states) {
  const Deadline deadline = Deadline::in(scaled(milliseconds(20000)));
  while (states.find(stateOf(process)) == std::string::npos && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  return states.find(stateOf(process)) != std::string::npos;
}

std::unique_ptr<ChildProcess> sleeper() {
  ChildOptions options;
  options.arguments = {"sleep", "1000"};
  return ChildProcess::start(options).take();
}

TEST(FaultyQueue, FailsBeforeOrAfterTheCallAndIsHealed) {
  Fakes fakes;
  const VoucherId voucher = fakes.sell(5).id;
  (void)fakes.ask(voucher, OrderId(10), UserId(1));
  FaultyQueue queue(fakes.queue);
  queue.faults.next("receive", ErrorCode::Unavailable);
  EXPECT_EQ(queue.receive(0, 10, soon()).error().code, ErrorCode::Unavailable);
  const auto batch = queue.receive(0, 10, soon()).value();
  ASSERT_EQ(batch.size(), 1U) << "nothing was taken by the call that failed before";
  const Settlement done{batch[0].token, SettleKind::Done, milliseconds(0), true, {}};
  queue.faults.always("settle", ErrorCode::OutcomeUnknown, FaultMoment::After);
  EXPECT_EQ(queue.settle(0, {&done, 1}, soon()).error().code, ErrorCode::OutcomeUnknown);
  EXPECT_FALSE(queue.settle(0, {&done, 1}, soon()).ok());
  queue.faults.heal();
  EXPECT_EQ(queue.settle(0, {&done, 1}, soon()).value().at(0), SettleOutcome::Stale) << "it had happened";
  EXPECT_EQ(queue.faults.calls("settle"), 3U);
}

TEST(FaultyQueue, HandsOutEachMessageTwiceWithinABatchOrInTwo) {
  Fakes fakes;
  const VoucherId voucher = fakes.sell(100).id;
  for (int k = 1; k <= 40; ++k) {
    (void)fakes.ask(voucher, OrderId(k), UserId(k));
  }
  FaultyQueue queue(fakes.queue);
  queue.deliverTwice();
  std::map<std::int64_t, int> seen;
  bool within = false;
  for (int round = 0; round < 20; ++round) {
    const auto batch = queue.receive(0, 10, Deadline::in(milliseconds(5))).value();
    EXPECT_LE(batch.size(), 10U);
    std::set<std::int64_t> here;
    for (const Delivery& delivery : batch) {
      ++seen[delivery.admission.order.value()];
      within = within || !here.insert(delivery.admission.order.value()).second;
    }
  }
  ASSERT_EQ(seen.size(), 40U);
  for (const auto& [order, times] : seen) {
    EXPECT_EQ(times, 2) << "order " << order;
  }
  EXPECT_TRUE(within);
}

TEST(FaultyStore, FailsOnCommandAndAtAPoisonedOrder) {
  Fakes fakes;
  const VoucherId voucher = fakes.sell(5).id;
  FaultyStore store(fakes.store);
  const UtcTime now = fakes.clock.now();
  const Admission one{OrderId(10), UserId(1), voucher, 1, now};
  store.faults.next("persist", ErrorCode::OutcomeUnknown, FaultMoment::After);
  EXPECT_FALSE(store.persist({&one, 1}, now, now, soon()).ok());
  EXPECT_EQ(store.persist({&one, 1}, now, now, soon()).value().at(0).kind, PersistKind::Already);
  store.poison(UserId(2));
  const std::vector<Admission> pair = {{OrderId(11), UserId(3), voucher, 1, now},
                                       {OrderId(12), UserId(2), voucher, 1, now}};
  EXPECT_EQ(store.persist(pair, now, now, soon()).error().code, ErrorCode::Internal);
  EXPECT_FALSE(store.findOrder(OrderId(11), soon()).value().has_value());
  EXPECT_TRUE(store.persist({pair.data(), 1}, now, now, soon()).ok());
}

TEST(FaultyQualifier, ALostAnswerLeavesTheCallerWithoutADecisionThatIsThere) {
  Fakes fakes;
  const VoucherId voucher = fakes.sell(5).id;
  FaultyQualifier qualifier(fakes.qualifier);
  const QualifyRequest request{OrderId(10), UserId(1), 1, {}};
  Decision decision;
  qualifier.faults.next("decide", ErrorCode::OutcomeUnknown, FaultMoment::After);
  EXPECT_FALSE(qualifier.decide(voucher, {&request, 1}, fakes.clock.now(), {&decision, 1}, soon()).ok());
  EXPECT_EQ(decision.verdict, Verdict::Unavailable);
  EXPECT_EQ(qualifier.snapshot(voucher, soon()).value().stock, 4);
  EXPECT_TRUE(qualifier.decide(voucher, {&request, 1}, fakes.clock.now(), {&decision, 1}, soon()).ok());
  EXPECT_EQ(decision.verdict, Verdict::Admitted);
}

TEST(Faults, ASlowCallTakesLongerAndDoesItsWork) {
  Fakes fakes;
  FaultyStore store(fakes.store);
  store.faults.slow("listVouchers", milliseconds(30));
  const SteadyTime before = std::chrono::steady_clock::now();
  EXPECT_TRUE(store.listVouchers(VoucherId(), 10, soon()).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(30));
}

TEST(FrozenProcesses, AreStoppedTogetherAndGoOnTogether) {
  const auto one = sleeper();
  const auto two = sleeper();
  {
    const FrozenProcesses frozen({one->pid(), two->pid()});
    EXPECT_TRUE(becomes(one->pid(), "T"));
    EXPECT_TRUE(becomes(two->pid(), "T"));
  }
  EXPECT_TRUE(becomes(one->pid(), "SR"));
  EXPECT_TRUE(becomes(two->pid(), "SR"));
}

TEST(FrozenProcesses, DoNotOutliveATestThatDies) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t dying = ::fork();
  if (dying == 0) {
    const auto child = sleeper();
    const FrozenProcesses frozen({child->pid()});
    const pid_t process = child->pid();
    (void)!::write(ends[1], &process, sizeof process);
    ::pause();
    ::_exit(0);
  }
  pid_t process = 0;
  ASSERT_EQ(::read(ends[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
  EXPECT_TRUE(becomes(process, "T"));
  ::kill(dying, SIGKILL);
  ::waitpid(dying, nullptr, 0);
  EXPECT_TRUE(becomes(process, "X")) << stateOf(process);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace sluice::test
