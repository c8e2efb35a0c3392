// The queue with the real fulfilment behind it: what fails for ever, and a store that is away.
#include <algorithm>
#include <thread>

#include "contract/queue_contract.h"
#include "fulfilment/fulfilment.h"
#include "support/fakes.h"

namespace sluice::test {

namespace {

using fulfilment::Fulfilment;
using fulfilment::FulfilmentCounts;
using fulfilment::FulfilmentOptions;

// Fulfilment of one slot in real time, with a store that does what the test says.
struct Handling {
  explicit Handling(OrderQueue& queue, FulfilmentOptions options)
      : worker({fakes.qualifier, queue, fakes.store, systemClock(), systemRandom(), noLog()}, options, 0,
               counts) {
    for (int k = 0; k < 3; ++k)
      (void)fakes.sell(1000, 1000);
  }
  void runUntil(const std::function<bool()>& done) {
    const Deadline deadline = Deadline::in(kSoon);
    while (!done() && !deadline.passed()) {
      const milliseconds rest = worker.step(milliseconds(20));
      std::this_thread::sleep_for(std::min(rest, milliseconds(20)));
    }
    EXPECT_TRUE(done());
  }
  Fakes fakes;
  FulfilmentCounts counts;
  Fulfilment worker;
};

}  // namespace

// 200 messages that fail three times: with pauses up to one second and then up to two, drawn anew for each.
TEST_P(QueueContract, Q25_WhatAlwaysFailsIsDeadAfterPausesThatSpread) {
  constexpr std::size_t kMessages = 200;
  begin({.deadMax = kMessages});
  publish(1, kMessages);
  FulfilmentOptions options;
  options.failuresMax = 3;
  Handling handling(*queue_, options);
  handling.fakes.store.faults.always("persist", ErrorCode::Corrupt);
  const auto begun = systemClock().now();
  handling.runUntil([&] { return handling.counts.deadLettered == kMessages; });
  std::vector<std::int64_t> waited;
  for (const DeadLetter& letter : dead()) {
    EXPECT_EQ(letter.failures, 2U) << "the last failure is the verdict";
    EXPECT_EQ(letter.deliveries, 3U);
    waited.push_back((letter.deadAt - begun).count());
  }
  ASSERT_EQ(waited.size(), kMessages);
  std::sort(waited.begin(), waited.end());
  // The sum of two draws: a tenth of them dies early, a tenth late, however slow the machine.
  EXPECT_GT(waited[kMessages * 9 / 10] - waited[kMessages / 10], 800);
  EXPECT_EQ(handling.counts.retried, 2 * kMessages) << "nothing is tried more often than that";
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueContract, Q26_WhileTheStoreIsAwayNeitherCounterRises) {
  if (!queue_->traits().multiProcess) SLUICE_SKIP_UNCLAIMED("multiProcess");
  publish(1, 20);
  FulfilmentOptions options;
  options.failuresMax = 1;
  Handling handling(*queue_, options);
  handling.fakes.store.faults.always("persist", ErrorCode::Unavailable);
  const Deadline away = Deadline::in(scaled(milliseconds(1000)));
  handling.runUntil([&] { return away.passed(); });
  EXPECT_EQ(handling.worker.inHand(), 20U) << "kept, not sent back";
  EXPECT_EQ(handling.counts.retried, 0U);
  handling.fakes.store.faults.heal();
  handling.runUntil([&] { return handling.counts.stored == 20; });
  handling.runUntil([&] { return fixture_->rawDepth() == 0; });
  EXPECT_EQ(stats().redelivered, 0U);
  EXPECT_TRUE(dead().empty());
}

}  // namespace sluice::test
