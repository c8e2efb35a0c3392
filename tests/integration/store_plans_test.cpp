// What a server itself says of a store's statements on 200,000 orders: every question is answered by an
// index, and after migrating nothing needs a right but to read and write rows.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/limits.h"

#include "integration/server_world.h"

namespace sluice::test {
namespace {

using std::chrono::minutes;

constexpr std::int64_t kVouchers = 20;
constexpr std::int64_t kOrders = 200'000;

Deadline soon() { return Deadline::in(scaled(milliseconds(30000))); }

std::string textOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Orders 1 and up, evenly over vouchers and 50,000 users, one in ten paid, one in ten cancelled and of these
// one in ten not released yet. `numbers` is a table expression of 1 .. kOrders with the column n.
std::string fillStatement(const std::string& numbers) {
  return "INSERT INTO orders (id, user_id, voucher_id, quantity, slot, status, reason, admitted_at, "
         "stored_at, "
         "updated_at, pay_by, released_at) SELECT n, 1 + n % 50000, 1 + n % 20, 1, CASE WHEN n % 10 = 2 THEN "
         "NULL ELSE "
         "1 + n / 50000 END, CASE n % 10 WHEN 1 THEN 2 WHEN 2 THEN 4 ELSE 1 END, CASE n % 10 WHEN 2 THEN 3 "
         "ELSE "
         "0 END, 1767225600000 + n, 1767225600000 + n, 1767225600000 + n, CASE WHEN n % 10 IN (1, 2) THEN "
         "NULL ELSE "
         "1767229200000 + n END, CASE WHEN n % 10 = 2 AND n % 100 <> 2 THEN 1767229200000 END FROM " +
         numbers;
}

// Every call that reads, and those that change little.
void askEverything(OrderStore& store) {
  const UtcTime now = fromMillis(1767225600000 + kOrders);
  const VoucherId voucher(7);
  const UserId user(6);
  EXPECT_TRUE(store.findOrder(OrderId(77), soon()));
  EXPECT_TRUE(store.findOrders(std::vector<OrderId>{OrderId(1), OrderId(99'000)}, soon()));
  EXPECT_TRUE(store.listOrders(voucher, UserId(), std::nullopt, OrderId(50'000), 50, soon()));
  EXPECT_TRUE(store.listOrders(voucher, UserId(), OrderStatus::Paid, OrderId(), 50, soon()));
  EXPECT_TRUE(store.listOrders(voucher, user, std::nullopt, OrderId(), 50, soon()));
  EXPECT_TRUE(store.recentOrders(minutes(1), {}, 100, soon()));
  EXPECT_TRUE(store.recentOrders(minutes(1), {now - milliseconds(10), OrderId(kOrders - 10)}, 100, soon()));
  EXPECT_TRUE(store.unreleased(100, soon()));
  EXPECT_TRUE(store.expire(fromMillis(1767229200000 + 20), 100, soon()));
  EXPECT_TRUE(store.totals(VoucherId(6), 1, soon()));
  EXPECT_TRUE(store.pay(OrderId(100'000), now, soon()));
  std::vector<Admission> batch;
  for (std::int64_t k = 1; k <= 200; ++k) {
    batch.push_back({OrderId(kOrders + k), UserId(60'000 + k), VoucherId(1 + k % kVouchers), 1, now});
  }
  EXPECT_TRUE(store.persist(batch, now, now + minutes(15), soon()));
  EXPECT_TRUE(store.cancel({batch[0], DeadReason::ByUser}, now, soon()));
  EXPECT_TRUE(store.markReleased(std::vector<OrderId>{batch[0].order}, now, soon()));
}

// The plans and statements that name `table` and what makes them bad.
std::vector<std::string> linesWith(const std::string& text, const std::string& sign) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(sign) != std::string::npos) found.push_back(line);
  }
  return found;
}

class Plans : public testing::TestWithParam<ServerKind> {};

TEST_P(Plans, AreServedByAnIndexAndNeedNoRightButToReadAndWriteRows) {
  WorldServer server(GetParam());
  ServerWorld world(server);
  const auto store = world.make();
  ASSERT_TRUE(store->migrate(soon()));
  ASSERT_TRUE(store->start(soon()));
  VoucherSettings settings = settingsOf(1'000'000, 100);
  for (std::int64_t k = 0; k < kVouchers; ++k) {
    ASSERT_TRUE(store->createVoucher(VoucherId(), settings, soon()));
  }
  const std::string log = server.server().database().folder() + "/server.log";
  const std::string slow = server.server().database().folder() + "/data/slow.log";
  if (server.isPostgres()) {
    world.run(fillStatement("generate_series(1, " + std::to_string(kOrders) + ") AS numbers (n)"));
    world.run("VACUUM ANALYZE");
    world.run(
        "CREATE ROLE clerk; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk");
    world.run("ALTER DATABASE " + world.database() + " SET session_preload_libraries = 'auto_explain'");
    world.run("ALTER DATABASE " + world.database() + " SET auto_explain.log_min_duration = 0");
    // Last: from here on even our own questions are asked as the clerk.
    world.run("ALTER DATABASE " + world.database() + " SET role = 'clerk'");
  } else {
    world.run(fillStatement("(SELECT seq AS n FROM seq_1_to_" + std::to_string(kOrders) + ") AS numbers"));
    world.run("ANALYZE TABLE orders, vouchers");
    server.administer("REVOKE ALL ON " + world.database() +
                      ".* FROM sluice@'%'; GRANT SELECT, INSERT, UPDATE, "
                      "DELETE ON " +
                      world.database() + ".* TO sluice@'%'");
    server.administer(
        "SET GLOBAL slow_query_log_file = 'slow.log', GLOBAL long_query_time = 1000, "
        "GLOBAL log_queries_not_using_indexes = 1, GLOBAL slow_query_log = 1");
  }
  world.run("UPDATE vouchers SET remaining = allocated - 9000");
  const auto watched = world.make();
  ASSERT_TRUE(watched->start(soon()));
  EXPECT_TRUE(watched->createVoucher(VoucherId(), settings, soon()));
  EXPECT_TRUE(watched->leaseProcess("clerk", minutes(1), systemClock().now(), soon()));
  askEverything(*watched);
  watched->close();
  store->close();
  if (server.isPostgres()) {
    const std::string plans = textOf(log);
    EXPECT_THAT(linesWith(plans, "Index"), testing::SizeIs(testing::Gt(10U))) << "the plans are not logged";
    EXPECT_THAT(linesWith(plans, "Seq Scan on orders"), testing::IsEmpty());
  } else {
    EXPECT_TRUE(std::filesystem::exists(slow)) << "the statements are not logged";
    std::vector<std::string> bad;
    for (const std::string& line : linesWith(textOf(slow), "FROM orders")) {
      // This one walks a temporary table of its own, and the orders by index.
      if (line.rfind("SELECT above.", 0) != 0) bad.push_back(line);
    }
    EXPECT_THAT(bad, testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Server, Plans, testing::Values(serverKind()),
                         [](const auto&) { return std::string("Store"); });

}  // namespace
}  // namespace sluice::test
