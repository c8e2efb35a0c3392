// E8: another queue by configuration, and the same sale ends the same.
#include <algorithm>

#include "contract/together.h"

namespace sluice::test {
namespace {

// A sale by the book, step after step, so that its end is the same however orders travel.
class ScriptedSale {
 public:
  ScriptedSale(const TogetherPair& pair, const Settings& queue)
      : place_(pair, queue), server_(place_.with({{"payment.demo", "true"}})) {
    server_.start();
    server_.createVoucher(1, 6, 2);
  }

  // Every answer, then every row and the sums; ids and times left out.
  std::vector<std::string> run() {
    order(1, 1);
    order(2, 2);
    order(3, 3);
    order(1, 1);
    order(1, 1);
    order(4, 2);
    order(5, 1);
    order(6, 1);
    change(2, "cancel");
    change(1, "pay");
    change(1, "cancel");
    order(7, 1);
    order(2, 2);
    order(8, 2);
    finish();
    server_.terminate();
    return said_;
  }

 private:
  void order(std::int64_t user, int quantity) {
    const HttpReply reply = server_.order(1, user, "{\"quantity\":" + std::to_string(quantity) + "}");
    if (reply.status == 202) orders_[user] = jsonMember(reply.body, "orderId");
    said_.push_back("user " + std::to_string(user) + " orders " + std::to_string(quantity) + ": " +
                    std::to_string(reply.status) + " " + jsonMember(reply.body, "code"));
    if (reply.status == 202) waitForRow(orders_[user]);
  }
  void change(std::int64_t user, const std::string& what) {
    const HttpReply reply =
        http(server_.port(), "POST", "/api/v1/orders/" + orders_[user] + "/" + what + "?voucher=1",
             {{"X-User-Id", std::to_string(user)}});
    said_.push_back("user " + std::to_string(user) + " " + what + ": " + std::to_string(reply.status) + " " +
                    jsonMember(reply.body, reply.status == 200 ? "status" : "code"));
  }
  void waitForRow(const std::string& order) {
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(30'000)),
                                          [&] { return lookAt(place_.settings).rows.count(order) == 1; }));
  }
  void finish() {
    Look look;
    EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(30'000)), [&] {
      look = lookAt(place_.settings);
      return look.audit.clean() && look.audit.atRest;
    })) << look.text();
    std::vector<std::string> rows;
    for (const auto& [id, row] : look.rows) {
      rows.push_back("row of user " + row.user.text() + ": " + std::to_string(row.quantity) + " " +
                     std::string(orderStatusName(row.status)) + " " +
                     std::string(deadReasonName(row.reason)));
    }
    std::sort(rows.begin(), rows.end());
    said_.insert(said_.end(), rows.begin(), rows.end());
    const VoucherAudit& sums = look.voucher();
    said_.push_back("remaining " + std::to_string(sums.remaining) + ", stock " + std::to_string(sums.stock) +
                    ", held " + std::to_string(sums.held) + ", live " + std::to_string(sums.livePieces));
  }

  TogetherPlace place_;
  ServerProcess server_;
  std::map<std::int64_t, std::string> orders_;
  std::vector<std::string> said_;
};

TEST_P(Together, E8_AnotherQueueByConfigurationAndTheSameSaleEndsTheSame) {
  const auto here = ScriptedSale(GetParam(), GetParam().queue).run();
  const auto there = ScriptedSale(GetParam(), GetParam().otherQueue).run();
  EXPECT_EQ(here, there);
  const auto says = [&here](const std::string& line) {
    return std::find(here.begin(), here.end(), line) != here.end();
  };
  EXPECT_TRUE(says("user 3 orders 3: 409 OVER_LIMIT"));
  EXPECT_TRUE(says("user 6 orders 1: 409 SOLD_OUT"));
  EXPECT_TRUE(says("user 2 cancel: 200 cancelled"));
  EXPECT_TRUE(says("remaining 1, stock 1, held 5, live 5")) << testing::PrintToString(here);
}

}  // namespace
}  // namespace sluice::test
