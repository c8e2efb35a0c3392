// Contract of OrderStore: the server behind it dies, restarts, and cuts connections. A store in a file has
// none; its fixture says so.
#include <atomic>
#include <thread>

#include "contract/store_contract.h"

namespace sluice::test {
namespace {

constexpr const char* kRows = "SELECT COUNT(*) FROM orders";

// The same question until it is answered, as fulfilment asks; each failure must be one that may be repeated.
std::size_t persistUntilAnswered(OrderStore& store, const std::vector<Admission>& batch, UtcTime now) {
  const Deadline end = Deadline::in(scaled(milliseconds(60000)));
  while (true) {
    const auto outcomes = store.persist(batch, now, now, Deadline::in(scaled(milliseconds(2000))));
    if (outcomes) return outcomes.value().size();
    EXPECT_TRUE(errorTraits(outcomes.error().code).mayRetry) << outcomes.error().text;
    if (end.passed()) return 0;
    std::this_thread::sleep_for(milliseconds(20));
  }
}

TEST_P(StoreContract, S16_AConnectionThatDiedWhileIdleCostsOneRetryAtMost) {
  SLUICE_NEEDS_POWERS(world());
  StoreServer* const server = powers().server();
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("server");
  const VoucherId id = sell(100);
  persist(batchOf(1, 10, id));
  server->killSessions();
  const auto first = store().persist(batchOf(11, 10, id), now_, payBy_, soon());
  if (!first) {
    EXPECT_TRUE(errorTraits(first.error().code).mayRetry) << first.error().text;
    EXPECT_EQ(persist(batchOf(11, 10, id)).size(), 10u);
  }
  EXPECT_EQ(totals(id).rows, 20);
}

TEST_P(StoreContract, S17_AConnectionThatDiesWithinATransactionLeavesNothingHalfDone) {
  SLUICE_NEEDS_POWERS(world());
  StoreServer* const server = powers().server();
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("server");
  const VoucherId id = sell(100);
  powers().stallStock(true);  // the rows are written by then, the stock is not
  std::thread killer([&] {
    std::this_thread::sleep_for(scaled(milliseconds(300)));
    server->killSessions();
  });
  const auto cut = store().persist(batchOf(1, 10, id), now_, payBy_, soon());
  killer.join();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::Unavailable) << cut.error().text;
  powers().stallStock(false);
  EXPECT_EQ(powers().number(kRows), 0);
  EXPECT_EQ(persistUntilAnswered(store(), batchOf(1, 10, id), now_), 10u);
}

TEST_P(StoreContract, S19_AServerThatRestartsUnderLoadLosesAndDoublesNothing) {
  SLUICE_NEEDS_POWERS(world());
  StoreServer* const server = powers().server();
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("server");
  const VoucherId id = sell(1'000'000);
  std::atomic<bool> done{false};
  std::vector<std::int64_t> batches(4, 0);
  std::vector<std::thread> writers;
  for (std::size_t k = 0; k < batches.size(); ++k) {
    writers.emplace_back([&, k] {
      for (; !done; ++batches[k]) {
        const std::int64_t first = 1 + static_cast<std::int64_t>(k) * 1'000'000 + batches[k] * 10;
        EXPECT_EQ(persistUntilAnswered(store(), batchOf(first, 10, id), now_), 10u);
      }
    });
  }
  for (int restart = 0; restart < sized(2, 20); ++restart) {
    std::this_thread::sleep_for(scaled(milliseconds(300)));
    server->stop();
    std::this_thread::sleep_for(scaled(milliseconds(200)));
    server->start();
  }
  done = true;
  std::int64_t told = 0;
  for (std::size_t k = 0; k < writers.size(); ++k) {
    writers[k].join();
    told += batches[k] * 10;
  }
  EXPECT_EQ(totals(id).rows, told);
  EXPECT_EQ(totals(id).livePieces, told);
}

}  // namespace
}  // namespace sluice::test
