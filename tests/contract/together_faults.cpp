// Queue and store together when the store is away, an order is bad, or messages come twice: E3, E4, E6.
#include <thread>

#include "contract/together.h"

namespace sluice::test {
namespace {

Deadline inTime() { return Deadline::in(scaled(milliseconds(30'000))); }

std::vector<Attempt> admittedOf(const std::vector<OrderAnswer>& answers) {
  std::vector<Attempt> winners;
  for (const OrderAnswer& answer : answers) {
    if (answer.verdict == Verdict::Admitted) winners.push_back({0, 202, {}, answer.order.text()});
  }
  return winners;
}

TEST_P(Together, E3_WithTheStoreAwayFulfilmentPausesPutsNothingAsideAndGoesOnByItself) {
  // One failure of its own would put a message aside: none may be counted while the store is away.
  ServerProcess server(place_.with({{"fulfilment.failures.max", "1"}, {"process.lease", "60s"}}));
  server.start();
  server.createVoucher(kVoucher, 1000);
  auto winners = admitted(storm(server, kVoucher, 1, 100));
  EXPECT_EQ(winners.size(), 100U);
  expectAllAccountedFor(winners);
  place_.world->takeStoreAway();
  const Deadline away = Deadline::in(sized(milliseconds(8'000), milliseconds(60'000)));
  const auto meanwhile = admitted(storm(server, kVoucher, 1'000, 100));
  EXPECT_EQ(meanwhile.size(), 100U) << "admissions need no store";
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
    return server.get("/readyz").body.find("fulfilment is paused: store") != std::string::npos;
  })) << server.get("/readyz").body;
  const std::string order = "/api/v1/orders/" + meanwhile.back().order + "?voucher=1";
  const HttpHeaders user = {{"X-User-Id", std::to_string(meanwhile.back().user)}};
  const HttpReply status = server.get(order, user);
  EXPECT_EQ(status.status, 200) << "queued or unknown, never not found: " << status.body;
  while (!away.passed()) {
    std::this_thread::sleep_for(milliseconds(50));
  }
  place_.world->bringStoreBack();
  winners.insert(winners.end(), meanwhile.begin(), meanwhile.end());
  const Look look = expectAllAccountedFor(winners);
  EXPECT_EQ(look.rows.size(), 200U);
  EXPECT_EQ(look.voucher().deadLettered, 0);
  EXPECT_EQ(look.voucher().lost, 0);
  EXPECT_EQ(jsonMember(server.get(order, user).body, "status"), "pending_payment");
  expectOrdersFlowAgain(server, 900'000);
}

TEST_P(Together, E3_AwayBeyondTheLeaseOfTheProcessNumberNothingIsTakenUntilItIsBack) {
  ServerProcess server(place_.settings);
  server.start();
  server.createVoucher(kVoucher, 10'000);
  auto winners = admitted(storm(server, kVoucher, 1, 50));
  EXPECT_EQ(winners.size(), 50U);
  place_.world->takeStoreAway();
  // Ids are issued as long as the lease runs, then no more: another process may have the number.
  std::vector<Attempt> attempts;
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
    const auto more = storm(server, kVoucher, 1'000 + static_cast<std::int64_t>(attempts.size()), 16);
    attempts.insert(attempts.end(), more.begin(), more.end());
    return countCode(more, "UNAVAILABLE") == 16;
  }));
  expectHonest(attempts);
  EXPECT_EQ(server.get("/readyz").status, 503);
  place_.world->bringStoreBack();
  expectOrdersFlowAgain(server, 900'000);
  const auto all = askAgain(server, kVoucher, attempts, bound());
  winners.insert(winners.end(), all.begin(), all.end());
  const Look look = expectAllAccountedFor(winners);
  EXPECT_EQ(look.rows.size(), winners.size() + 1) << "one order a user";
}

TEST_P(Together, E4_OfABatchWithOneBadOrderTheRestIsStoredAndTheBadOneIsADeadLetter) {
  constexpr std::int64_t kUsers = 40;
  FaultyEngine engine(place_.with({{"fulfilment.failures.max", "2"}, {"log.file", place_.data.file("log")}}));
  engine.store().poison(UserId(7));
  engine.start();
  engine.sell(VoucherId(kVoucher), kUsers);
  const auto answers = engine.orderAll(VoucherId(kVoucher), kUsers);
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] {
    const EngineStats stats = engine.engine().stats();
    return stats.stored == kUsers - 1 && stats.deadLettered == 1;
  })) << engine.engine().stats().stored;
  DeadLetters letters(engine.parts());
  const auto listed = letters.list("", 10, inTime());
  ASSERT_TRUE(listed.ok()) << listed.error().text;
  ASSERT_EQ(listed.value().size(), 1U);
  const DeadLetter& letter = listed.value().front();
  EXPECT_EQ(letter.admission->order, answers.at(6).order);
  EXPECT_NE(letter.reason.find("poisoned"), std::string::npos) << letter.reason;
  EXPECT_EQ(letter.failures, 1U) << "the second put it aside";

  engine.store().cure();
  ASSERT_TRUE(letters.replay(letter.id, inTime()).ok());
  EXPECT_TRUE(ServerProcess::eventually(bound(), [&] { return engine.engine().stats().stored == kUsers; }));
  engine.stop();
  const Look look = expectAllAccountedFor(admittedOf(answers));
  EXPECT_TRUE(look.audit.clean()) << look.text();
}

TEST_P(Together, E6_WithEveryMessageTwiceEachHasOneRow) {
  constexpr std::int64_t kUsers = 300;
  FaultyEngine engine(place_.with({{"log.file", place_.data.file("log")}}));
  engine.queue().deliverTwice();
  engine.start();
  engine.sell(VoucherId(kVoucher), kUsers);
  const auto answers = engine.orderAll(VoucherId(kVoucher), kUsers);
  EXPECT_TRUE(ServerProcess::eventually(bound(),
                                        [&] {
                                          const EngineStats stats = engine.engine().stats();
                                          return stats.stored == kUsers && stats.already == kUsers;
                                        }))
      << engine.engine().stats().stored << " stored, " << engine.engine().stats().already << " already";
  engine.stop();
  const Look look = expectAllAccountedFor(admittedOf(answers));
  EXPECT_EQ(look.rows.size(), static_cast<std::size_t>(kUsers));
  EXPECT_TRUE(look.audit.clean()) << look.text();
}

}  // namespace
}  // namespace sluice::test
