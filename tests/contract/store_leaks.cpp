// Contract of OrderStore: many openings and many threads leave nothing behind.
#include <thread>

#include "contract/store_contract.h"
#include "support/footprint.h"

namespace sluice::test {
namespace {

TEST_P(StoreContract, S30_OpeningsWithThirtyTwoThreadsLeaveNoDescriptorThreadOrMemory) {
  const VoucherId id = sell(1'000'000'000);
  closeStore();  // SQLite keeps descriptors for reuse while another connection of the process has locks
  std::int64_t next = 1;
  const auto useOnce = [&](bool close) {
    const auto mine = openStore();
    EXPECT_TRUE(mine->persist(batchOf(next++, 1, id), now_, payBy_, soon()));
    EXPECT_TRUE(mine->findOrder(OrderId(1), soon()));
    if (close) mine->close();
  };
  const auto crowd = [&] {
    const auto mine = openStore();
    std::vector<std::thread> threads;
    threads.reserve(32);
    for (int k = 0; k < 32; ++k) {
      threads.emplace_back([&] { EXPECT_TRUE(mine->findOrder(OrderId(1), soon())); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  };
  const int openings = sized(300, 10'000);
  for (int k = 0; k < 100; ++k) {  // what grows only once has grown
    useOnce(k % 2 == 0);
  }
  crowd();
  const Footprint before = footprint();
  for (int k = 0; k < openings; ++k) {
    useOnce(k % 2 == 0);
    if (k % 50 == 0) crowd();
  }
  const Footprint after = footprint();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  if (memoryCounts()) {
    // A session is far above 10 KiB: one leaked by each opening would show.
    EXPECT_LT(after.memoryKiB - before.memoryKiB, std::int64_t{openings} * 10);
  }
  reopenStore();
}

}  // namespace
}  // namespace sluice::test
