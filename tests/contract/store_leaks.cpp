// Contract of OrderStore: many openings and many threads leave nothing behind.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "contract/store_contract.h"

namespace sluice::test {
namespace {

std::size_t entriesOf(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::int64_t residentBytes() {
  std::ifstream status("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  status >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// A sanitizer keeps freed memory; it finds leaks by itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryTells = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kMemoryTells = false;
#else
constexpr bool kMemoryTells = true;
#endif
#else
constexpr bool kMemoryTells = true;
#endif

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
  const std::size_t descriptors = entriesOf("/proc/self/fd");
  const std::size_t threads = entriesOf("/proc/self/task");
  const std::int64_t memory = residentBytes();
  for (int k = 0; k < openings; ++k) {
    useOnce(k % 2 == 0);
    if (k % 50 == 0) crowd();
  }
  EXPECT_EQ(entriesOf("/proc/self/fd"), descriptors);
  EXPECT_EQ(entriesOf("/proc/self/task"), threads);
  if (kMemoryTells) {
    // A session is far above 10 KiB: one leaked by each opening would show.
    EXPECT_LT(residentBytes() - memory, std::int64_t{openings} * 10 * 1024);
  }
  reopenStore();
}

}  // namespace
}  // namespace sluice::test
