// Many messages, many reconnects and clocks that jump: memory, descriptors and threads stay flat.
#include <iostream>
#include <string>

#include "contract/queue_contract.h"
#include "support/footprint.h"

namespace sluice::test {

namespace {

void expectFlat(const Footprint& before, const Footprint& after) {
  std::cout << "memory " << before.memoryKiB << " -> " << after.memoryKiB << " KiB, descriptors "
            << before.descriptors << " -> " << after.descriptors << ", threads " << before.threads << " -> "
            << after.threads << '\n';
  EXPECT_LE(after.descriptors, before.descriptors + 2);
  EXPECT_LE(after.threads, before.threads);
  if (memoryCounts()) {
    EXPECT_LE(after.memoryKiB, before.memoryKiB + 8 * 1024);
  }
}

}  // namespace

void QueueContract::carry(std::int64_t from, std::int64_t count) {
  constexpr std::int64_t kRound = 500;
  for (std::int64_t first = from; first < from + count; first += kRound) {
    publish(first, kRound);
    auto held = take(kRound);
    ASSERT_EQ(held.size(), static_cast<std::size_t>(kRound));
    auto verdicts = settlementsOf(held);
    for (std::size_t k = 0; k < verdicts.size(); k += 50)
      verdicts[k].kind = SettleKind::RetryLater;
    settle(verdicts);
    settle(settlementsOf(take(kRound / 50)));
  }
}

TEST_P(QueueContract, Q50_ManyMessagesAndClocksThatJumpLeaveNothingBehind) {
  const std::int64_t all = sized<std::int64_t>(20'000, 1'000'000);
  carry(1, all / 4);  // what grows once, grows here
  const Footprint before = footprint();
  fixture_->clock.shift(std::chrono::hours(1));
  carry(1 + all, all / 4);
  fixture_->clock.shift(-std::chrono::hours(1));
  carry(1 + 2 * all, all / 2);
  fixture_->clock.shift(milliseconds(0));
  expectFlat(before, footprint());
  EXPECT_EQ(fixture_->rawDepth(), 0);
  EXPECT_TRUE(dead().empty());
  EXPECT_EQ(stats().oldestAge, milliseconds(0));
}

TEST_P(QueueServer, Q50_ForcedReconnectsLeakNothing) {
  const int rounds = sized(300, 1'000);
  publish(1, 1);
  settle(settlementsOf(take(1)));
  const Footprint before = footprint();
  for (int round = 0; round < rounds; ++round) {
    server().cutConnections();
    // The first of each finds its connection gone, the second gets a new one.
    for (int k = 0; k < 2; ++k) {
      (void)queue_->receive(0, 1, Deadline::in(milliseconds(0)));
      (void)queue_->stats(Deadline::in(kSoon));
    }
  }
  expectFlat(before, footprint());
  EXPECT_GE(stats().reconnects, static_cast<std::uint64_t>(rounds) / 2);
  publish(2, 3);
  EXPECT_EQ(drainAll(*queue_).size(), 3U);
}

}  // namespace sluice::test
