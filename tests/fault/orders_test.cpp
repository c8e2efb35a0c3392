// What happens to orders whose events come in an awkward order, through the real server: fronts admit, a
// worker stores later.
#include <gtest/gtest.h>

#include "fault/sale.h"

namespace sluice::test {
namespace {

// A server whose admissions wait until become() makes it fulfil them.
class AwkwardOrders : public testing::Test {
 protected:
  AwkwardOrders() { server_.start({{"role", "front"}}); }
  void becomeWorkerToo() {
    server_.terminate();
    server_.start();
  }
  HttpReply cancel(const std::string& order, std::int64_t voucher, std::int64_t user) {
    return http(server_.port(), "POST",
                "/api/v1/orders/" + order + "/cancel?voucher=" + std::to_string(voucher),
                {{"X-User-Id", std::to_string(user)}});
  }
  std::string statusOf(const std::string& order, std::int64_t voucher, std::int64_t user) {
    const HttpReply reply = server_.get("/api/v1/orders/" + order + "?voucher=" + std::to_string(voucher),
                                        {{"X-User-Id", std::to_string(user)}});
    return reply.status == 200 ? jsonMember(reply.body, "status") : std::to_string(reply.status);
  }
  std::string database() const { return server_.dataDir() + "/sluice.db"; }
  ServerProcess server_;
};

TEST_F(AwkwardOrders, CancelledWhileQueuedLeavesOneDeadRowAndItsStockComesBackOnce) {
  server_.createVoucher(1, 2);
  const std::string order = jsonMember(server_.order(1, 7).body, "orderId");
  EXPECT_EQ(statusOf(order, 1, 7), "queued");
  const HttpReply cancelled = cancel(order, 1, 7);
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
  EXPECT_EQ(statusOf(order, 1, 7), "cancelled");
  // The stock is there again, for him too.
  const HttpReply again = server_.order(1, 7);
  EXPECT_EQ(again.status, 202) << again.body;
  becomeWorkerToo();
  const std::string second = jsonMember(again.body, "orderId");
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(10000),
                                        [&] { return statusOf(second, 1, 7) == "pending_payment"; }));
  EXPECT_EQ(statusOf(order, 1, 7), "cancelled");
  EXPECT_EQ(queryNumber(database(), "SELECT count(*) FROM orders"), 2);
  expectCleanAudit(server_);
}

TEST_F(AwkwardOrders, OfOnePieceAndTwoWantedTheRefusalSaysThatFewerAreLeft) {
  server_.createVoucher(1, 1, 5);
  const HttpReply refused = server_.order(1, 7, R"({"quantity":2})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(jsonMember(refused.body, "code"), "INSUFFICIENT");
  EXPECT_EQ(server_.order(1, 7).status, 202);
  EXPECT_EQ(jsonMember(server_.order(1, 8).body, "code"), "SOLD_OUT");
}

TEST_F(AwkwardOrders, TheBuyerOfTheLastPieceLearnsThatHeHasIt) {
  server_.createVoucher(1, 1);
  const HttpReply first = server_.order(1, 7);
  const HttpReply second = server_.order(1, 7);
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(jsonMember(second.body, "code"), "ALREADY_ORDERED");
  EXPECT_EQ(jsonMember(second.body, "orderId"), jsonMember(first.body, "orderId"));
}

TEST_F(AwkwardOrders, ALimitOfThreeCountsPiecesOverSeveralOrders) {
  server_.createVoucher(1, 100, 3);
  EXPECT_EQ(server_.order(1, 7).status, 202);
  EXPECT_EQ(server_.order(1, 7, R"({"quantity":2})").status, 202);
  EXPECT_EQ(jsonMember(server_.order(1, 7).body, "code"), "ALREADY_ORDERED");
  EXPECT_EQ(server_.order(1, 8, R"({"quantity":3})").status, 202);
  becomeWorkerToo();
  EXPECT_TRUE(ServerProcess::eventually(
      milliseconds(10000), [&] { return queryNumber(database(), "SELECT count(*) FROM orders") == 3; }));
  expectCleanAudit(server_);
}

}  // namespace
}  // namespace sluice::test
