// Contract of OrderStore: the server behind it dies, restarts, and cuts connections. A store in a file has
// none; its fixture says so.
#include <atomic>
#include <thread>

#include "contract/store_contract.h"
#include "support/fault_proxy.h"

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
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("a server");
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
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("a server");
  const VoucherId id = sell(100);
  powers().stallStock(true);  // the rows are written by then, the stock is not
  std::thread killer([&] {
    std::this_thread::sleep_for(scaled(milliseconds(300)));
    server->killSessions();
  });
  // Long enough for one repetition, which stalls as well.
  const auto cut =
      store().persist(batchOf(1, 10, id), now_, payBy_, Deadline::in(scaled(milliseconds(2000))));
  killer.join();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::Unavailable) << cut.error().text;
  powers().stallStock(false);
  EXPECT_EQ(powers().number(kRows), 0);
  EXPECT_EQ(persistUntilAnswered(store(), batchOf(1, 10, id), now_), 10u);
}

TEST_P(StoreContract, S18_ACommitWithoutAnAnswerIsUnknownAndRepeatedThereIsOneRow) {
  SLUICE_NEEDS_POWERS(world());
  StoreServer* const server = powers().server();
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("a server");
  const VoucherId id = sell(10'000);
  FaultProxy proxy({{}, server->port()});
  const auto far = server->makeThrough(proxy.port());
  ASSERT_TRUE(far->start(soon()));
  ASSERT_TRUE(far->persist(batchOf(1, 10, id), now_, payBy_, soon()));
  const std::uint64_t before = proxy.bytes(Way::ToClient);
  ASSERT_TRUE(far->persist(batchOf(11, 10, id), now_, payBy_, soon()));
  const std::uint64_t answers = proxy.bytes(Way::ToClient) - before;
  // All but the last byte of the answer to COMMIT.
  proxy.cutAfter(Way::ToClient, answers - 1);
  const auto unknown = far->persist(batchOf(21, 10, id), now_, payBy_, soon());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::OutcomeUnknown) << unknown.error().text;
  proxy.pass();
  EXPECT_EQ(powers().number(kRows), 30) << "it had happened";
  const auto again = far->persist(batchOf(21, 10, id), now_, payBy_, soon());
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_THAT(again.value(), testing::Each(kAlreadyPending));
  EXPECT_EQ(powers().number(kRows), 30);
  EXPECT_EQ(voucher(id).remaining, 9'970);
}

TEST_P(StoreContract, S17_S18_CutAnywhereInTheTalkABatchIsStoredOnceOrNotAtAll) {
  SLUICE_NEEDS_POWERS(world());
  StoreServer* const server = powers().server();
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("a server");
  const VoucherId id = sell(1'000'000);
  FaultProxy proxy({{}, server->port()});
  const auto far = server->makeThrough(proxy.port());
  ASSERT_TRUE(far->start(soon()));
  std::int64_t next = 1;
  const auto batch = [&] { return batchOf(next, 10, id); };
  ASSERT_TRUE(far->persist(batch(), now_, payBy_, soon()));
  const std::uint64_t before = proxy.bytes(Way::ToServer);
  next += 10;
  ASSERT_TRUE(far->persist(batch(), now_, payBy_, soon()));
  const std::uint64_t talk = proxy.bytes(Way::ToServer) - before;
  const std::uint64_t steps = sized(std::uint64_t{12}, std::uint64_t{200});
  for (std::uint64_t k = 0; k < steps; ++k) {
    next += 10;
    proxy.cutAfter(k % 2 == 0 ? Way::ToServer : Way::ToClient, talk * k / steps);
    EXPECT_EQ(persistUntilAnswered(*far, batch(), now_), 10u);
    proxy.pass();
    EXPECT_EQ(totals(id).rows, next + 9) << "after " << k << " of " << steps << " cuts";
  }
}

TEST_P(StoreContract, S19_AFrozenServerHoldsNobodyBeyondTheDeadlineAndLosesNothing) {
  SLUICE_NEEDS_POWERS(world());
  StoreServer* const server = powers().server();
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("a server");
  const VoucherId id = sell(100);
  persist(batchOf(1, 10, id));
  server->freeze();
  const Deadline bound = Deadline::in(scaled(milliseconds(15000)));
  const auto refused =
      store().persist(batchOf(11, 10, id), now_, payBy_, Deadline::in(scaled(milliseconds(300))));
  const auto unread = store().findOrder(OrderId(1), Deadline::in(scaled(milliseconds(300))));
  EXPECT_FALSE(bound.passed());
  server->resume();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(errorTraits(refused.error().code).mayRetry) << refused.error().text;
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().code, ErrorCode::Unavailable) << unread.error().text;
  EXPECT_EQ(persistUntilAnswered(store(), batchOf(11, 10, id), now_), 10u);
  EXPECT_EQ(totals(id).rows, 20);
}

TEST_P(StoreContract, S19_AServerThatRestartsUnderLoadLosesAndDoublesNothing) {
  SLUICE_NEEDS_POWERS(world());
  StoreServer* const server = powers().server();
  if (server == nullptr) SLUICE_SKIP_UNCLAIMED("a server");
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
