// Queue and store together when processes die or end: E1, E2, E5, E7.
#include <thread>

#include "contract/together.h"

namespace sluice::test {
namespace {

constexpr int kUsers = 200;

TEST_P(Together, E1_KilledAfterTheCommitAndBeforeTheSettlementEachHasOneRow) {
  const auto winners = killAt("settle", kUsers);
  EXPECT_EQ(winners.size(), static_cast<std::size_t>(kUsers));
  const auto committed = lookAt(place_.settings).rows;
  EXPECT_GT(committed.size(), 0U);
  ServerProcess server(place_.settings);
  server.start();
  const Look look = expectAllAccountedFor(winners);
  for (const auto& [order, row] : committed) {
    ASSERT_EQ(look.rows.count(order), 1U);
    EXPECT_EQ(look.rows.at(order).updatedAt, row.updatedAt) << "decided once";
  }
  if (!survivesKill()) {
    EXPECT_EQ(look.rows.size(), committed.size());
    EXPECT_EQ(look.voucher().lost, kUsers - static_cast<std::int64_t>(committed.size()));
  }
}

TEST_P(Together, E2_KilledBeforeTheCommitEachHasOneRow) {
  const auto winners = killAt("persist", kUsers);
  EXPECT_EQ(winners.size(), static_cast<std::size_t>(kUsers));
  EXPECT_TRUE(lookAt(place_.settings).rows.empty());
  ServerProcess server(place_.settings);
  server.start();
  const Look look = expectAllAccountedFor(winners);
  EXPECT_EQ(look.rows.size(), survivesKill() ? static_cast<std::size_t>(kUsers) : 0U);
  EXPECT_EQ(look.voucher().lost, survivesKill() ? 0 : kUsers) << "lost by design, and each is named";
}

TEST_P(Together, E5_EverythingKilledInMidSaleWhatIsLeftAndWhatIsSoldAddUp) {
  constexpr std::int64_t kStock = 400;
  ServerProcess server(place_.settings);
  server.start({{"fulfilment.pace", "3ms"}});
  server.createVoucher(kVoucher, kStock);
  std::vector<Attempt> attempts;
  std::thread buyers([&] { attempts = storm(server, kVoucher, 1, 300); });
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
    return place_.redis.number({"HGET", "sluice:{0}:voucher:1", "stock"}) < kStock - 100;
  }));
  server.kill();
  place_.redis.kill();
  buyers.join();
  const auto early = admitted(attempts);
  place_.redis.start();
  server.start();
  expectAllAccountedFor(early);
  expectOrdersFlowAgain(server, 900'000);
  auto winners = admitted(storm(server, kVoucher, 10'000, 500));
  winners.insert(winners.end(), early.begin(), early.end());
  const Look look = expectAllAccountedFor(winners);
  EXPECT_EQ(look.voucher().stock, 0) << "sold out in the end";
  EXPECT_EQ(look.voucher().livePieces + look.voucher().lost, kStock);
  EXPECT_EQ(look.voucher().remaining, look.voucher().lost) << "what was lost was never sold twice";
  EXPECT_EQ(jsonMember(server.order(kVoucher, 900'001).body, "code"), "SOLD_OUT");
}

TEST_P(Together, E7_EndedUnderLoadItIsDrainedBeforeTheDeadline) {
  ServerProcess server(place_.settings);
  server.start();
  server.createVoucher(kVoucher, 100'000);
  std::vector<Attempt> attempts;
  std::thread buyers([&] { attempts = storm(server, kVoucher, 1, 3000); });
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
    return place_.redis.number({"HGET", "sluice:{0}:voucher:1", "stock"}) < 100'000 - 300;
  }));
  const SteadyTime before = std::chrono::steady_clock::now();
  EXPECT_EQ(server.terminate(), 0) << server.log();
  EXPECT_LT(std::chrono::steady_clock::now() - before, scaled(milliseconds(15'000)));
  buyers.join();
  const auto winners = admitted(attempts);
  EXPECT_GT(winners.size(), 0U);
  // What lives in the process is finished before it goes; what outlives it may be left to others, who have
  // it at once.
  if (!survivesKill()) {
    const Look look = expectAllAccountedFor(winners);
    EXPECT_EQ(look.voucher().lost, 0) << server.log();
  }
  server.start();
  expectAllAccountedFor(winners);
  expectOrdersFlowAgain(server, 900'000);
}

TEST_P(Together, E7_EndedWithABacklogThatTheStoreHeldUpNothingIsLost) {
  ServerProcess server(place_.settings);
  server.start();
  server.createVoucher(kVoucher, 1000);
  place_.world->takeStoreAway();
  const auto winners = admitted(storm(server, kVoucher, 1, 300));
  EXPECT_EQ(winners.size(), 300U);
  // Fulfilment still waits for the store, or pauses, when the end comes.
  place_.world->bringStoreBack();
  EXPECT_EQ(server.terminate(), 0) << server.log();
  if (!survivesKill()) {
    const Look look = expectAllAccountedFor(winners);
    EXPECT_EQ(look.rows.size(), 300U) << server.log();
  }
  server.start();
  const Look look = expectAllAccountedFor(winners);
  EXPECT_EQ(look.rows.size(), 300U);
  expectOrdersFlowAgain(server, 900'000);
}

}  // namespace
}  // namespace sluice::test
