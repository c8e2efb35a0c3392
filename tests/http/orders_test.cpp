// What buyers and machines see over HTTP, on every front.
#include <stdexcept>

#include <Poco/Exception.h>

#include "http/http_site.h"

namespace sluice::test {
namespace {

class Orders : public ::testing::TestWithParam<std::string> {
 protected:
  HttpSite site{GetParam()};

  // What fulfilment does, in one step.
  void fulfil() {
    auto batch = site.fakes.queue.receive(0, 100, Deadline::in(milliseconds(200)));
    ASSERT_TRUE(batch.ok());
    for (const Delivery& delivery : batch.value()) {
      const UtcTime now = site.fakes.clock.now();
      ASSERT_TRUE(
          site.fakes.store.persist({&delivery.admission, 1}, now, now + std::chrono::minutes(15), soon())
              .ok());
      const Settlement done{delivery.token, SettleKind::Done, milliseconds(0), true, {}};
      ASSERT_TRUE(site.fakes.queue.settle(0, {&done, 1}, soon()).ok());
    }
  }
};

TEST_P(Orders, AreAdmittedWithAnAddressAndTheDurabilityThatIsGiven) {
  const HttpReply reply = site.order(7);
  ASSERT_EQ(reply.status, 202) << reply.body;
  const std::string id = jsonMember(reply.body, "orderId");
  EXPECT_EQ(reply.body, "{\"orderId\":\"" + id + "\",\"status\":\"queued\"}");
  EXPECT_EQ(reply.headers.at("location"), "/api/v1/orders/" + id + "?voucher=" + site.voucher.id.text());
  EXPECT_EQ(reply.headers.at("sluice-durability"), "L1");
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_EQ(reply.headers.at("cache-control"), "no-store");
  EXPECT_EQ(site.stock(), 9);
}

TEST_P(Orders, WithoutABodyMeanOnePiece) {
  EXPECT_EQ(site.order(7, "").status, 202);
  EXPECT_EQ(site.order(8, "{}").status, 202);
  EXPECT_EQ(site.stock(), 8);
}

TEST_P(Orders, AskedAgainNameTheOrderThatExists) {
  const std::string id = jsonMember(site.order(7).body, "orderId");
  const HttpReply again = site.order(7);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.headers.at("content-type"), "application/problem+json");
  EXPECT_EQ(jsonMember(again.body, "code"), "ALREADY_ORDERED");
  EXPECT_EQ(jsonMember(again.body, "orderId"), id);
}

TEST_P(Orders, WithTheSameIdempotencyKeyGetTheSameAnswer) {
  const HttpHeaders key = {{"Idempotency-Key", "0123456789abcdef"}};
  const std::string id = jsonMember(site.order(7, R"({"quantity":1})", key).body, "orderId");
  const HttpReply again = site.order(7, R"({"quantity":1})", key);
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(jsonMember(again.body, "orderId"), id);
  EXPECT_EQ(site.stock(), 9);
}

TEST_P(Orders, AreRefusedWithTheStatusOfTheirVerdict) {
  for (const Verdict verdict : kVerdicts) {
    site.engine.answerWith([verdict](const OrderRequest&) {
      return OrderAnswer{verdict, OrderId(77), false};
    });
    const HttpReply reply = site.order(7);
    const server::VerdictAnswer& expected = server::verdictAnswer(verdict);
    EXPECT_EQ(reply.status, expected.status) << verdictName(verdict);
    if (verdict == Verdict::Admitted) continue;
    EXPECT_EQ(jsonMember(reply.body, "code"), expected.code);
    EXPECT_EQ(jsonMember(reply.body, "orderId"), expected.withOrder ? "77" : "") << verdictName(verdict);
    EXPECT_EQ(reply.headers.contains("retry-after"), expected.status == 503) << verdictName(verdict);
  }
}

TEST_P(Orders, OfAVoucherThatDoesNotExistAre404) {
  EXPECT_EQ(site.post("/api/v1/vouchers/999/orders", 7).status, 404);
}

TEST_P(Orders, ShowTheirWholeLife) {
  const std::string id = jsonMember(site.order(7).body, "orderId");
  const std::string address = "/api/v1/orders/" + id + "?voucher=" + site.voucher.id.text();
  EXPECT_EQ(jsonMember(site.get(address, 7).body, "status"), "queued");
  fulfil();
  const HttpReply stored = site.get(address, 7);
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(jsonMember(stored.body, "status"), "pending_payment");
  EXPECT_FALSE(jsonMember(stored.body, "payBy").empty());
  EXPECT_EQ(jsonMember(site.post("/api/v1/orders/" + id + "/pay", 7).body, "status"), "paid");
  const HttpReply tooLate =
      site.post("/api/v1/orders/" + id + "/cancel?voucher=" + site.voucher.id.text(), 7);
  EXPECT_EQ(tooLate.status, 409) << tooLate.body;
  const HttpReply refunded = site.admin("POST", "/admin/v1/orders/" + id + "/refund");
  EXPECT_EQ(jsonMember(refunded.body, "status"), "refunded") << refunded.body;
}

TEST_P(Orders, CanBeCancelledWhileQueued) {
  const std::string id = jsonMember(site.order(7).body, "orderId");
  const HttpReply cancelled =
      site.post("/api/v1/orders/" + id + "/cancel?voucher=" + site.voucher.id.text(), 7);
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
  EXPECT_EQ(jsonMember(cancelled.body, "status"), "cancelled");
  EXPECT_EQ(jsonMember(cancelled.body, "reason"), "by_user");
  EXPECT_EQ(site.stock(), 10);
}

TEST_P(Orders, AreTheirUsersOnly) {
  const std::string id = jsonMember(site.order(7).body, "orderId");
  const std::string address = "/api/v1/orders/" + id + "?voucher=" + site.voucher.id.text();
  const HttpReply foreign = site.get(address, 8);
  EXPECT_EQ(foreign.status, 404);
  fulfil();
  const HttpReply stored = site.get(address, 8);
  EXPECT_EQ(stored.status, 404);
  EXPECT_EQ(jsonMember(stored.body, "code"), "NOT_FOUND");
  EXPECT_EQ(site.post("/api/v1/orders/" + id + "/pay", 8).status, 404);
  EXPECT_EQ(site.post("/api/v1/orders/" + id + "/cancel?voucher=" + site.voucher.id.text(), 8).status, 404);
  EXPECT_EQ(jsonMember(site.get(address, 7).body, "status"), "pending_payment");
}

TEST_P(Orders, AreUnknownAndNotMissingWhileTheStoreIsAway) {
  const std::string id = jsonMember(site.order(7).body, "orderId");
  site.fakes.store.faults.always("*", ErrorCode::Unavailable);
  const HttpReply reply = site.get("/api/v1/orders/" + id + "?voucher=" + site.voucher.id.text(), 7);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(jsonMember(reply.body, "status"), "unknown");
  EXPECT_EQ(site.order(8).status, 202) << "orders are taken while the store is away";
}

TEST_P(Orders, ThatAnOperatorMustLookAtAreDelayed) {
  const std::string id = jsonMember(site.order(7).body, "orderId");
  site.engine.setDeadLettered(true);
  const HttpReply reply = site.get("/api/v1/orders/" + id + "?voucher=" + site.voucher.id.text(), 7);
  EXPECT_EQ(jsonMember(reply.body, "status"), "queued");
  EXPECT_EQ(jsonMember(reply.body, "delayed"), "true");
}

TEST_P(Orders, CannotBePaidWhereThereIsNoDemoPayment) {
  server::ServiceOptions options = serviceOptions();
  options.demoPayment = false;
  HttpSite real(GetParam(), siteOptions(), options);
  EXPECT_EQ(real.post("/api/v1/orders/5/pay", 7).status, 404);
}

TEST_P(Orders, AreNotTakenByAWorker) {
  server::ServiceOptions options = serviceOptions();
  options.role = Role::Worker;
  HttpSite worker(GetParam(), siteOptions(), options);
  EXPECT_EQ(worker.order(7).status, 404);
  EXPECT_EQ(worker.get("/readyz").status, 200);
  EXPECT_EQ(worker.get("/metrics").status, 200);
  EXPECT_EQ(worker.admin("GET", "/admin/v1/vouchers").status, 200);
}

TEST_P(Orders, SeeVouchersWithLiveStockAndTheServersTime) {
  ASSERT_EQ(site.order(7).status, 202);
  const HttpReply one = site.get("/api/v1/vouchers/" + site.voucher.id.text());
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(jsonMember(one.body, "stock"), "9") << one.body;
  EXPECT_FALSE(jsonMember(one.body, "serverTime").empty());
  const HttpReply all = site.get("/api/v1/vouchers");
  EXPECT_NE(all.body.find("\"vouchers\":[{\"voucherId\":\"" + site.voucher.id.text() + "\""),
            std::string::npos)
      << all.body;
  EXPECT_EQ(site.get("/api/v1/vouchers/999").status, 404);
  for (const char* query : {"limit=0", "limit=101", "limit=10000000000", "after=x", "after=-1", "offset=1",
                            "limit=1&limit=1", "sort=;DROP"}) {
    EXPECT_EQ(site.get(std::string("/api/v1/vouchers?") + query).status, 400) << query;
  }
}

TEST_P(Orders, AreNotTakenWhereReadinessSaysSo) {
  EXPECT_EQ(site.get("/readyz").status, 200);
  EXPECT_EQ(site.get("/healthz").status, 200);
  site.engine.setReadiness({.ready = false,
                            .forwarder = {},
                            .reasons = {"Redis does not answer"},
                            .warnings = {},
                            .durability = Durability::L0});
  const HttpReply reply = site.get("/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("\"reasons\":[\"Redis does not answer\"]"), std::string::npos) << reply.body;
  EXPECT_EQ(site.get("/healthz").status, 200);
}

TEST_P(Orders, AreCountedByTheMetrics) {
  ASSERT_EQ(site.order(7).status, 202);
  ASSERT_EQ(site.get("/nothing").status, 404);
  const HttpReply reply = site.get("/metrics");
  EXPECT_EQ(reply.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(reply.body.find("sluice_verdicts_total{verdict=\"admitted\"} 1\n"), std::string::npos);
  EXPECT_NE(reply.body.find("sluice_http_answers_total{class=\"2xx\"} 1\n"), std::string::npos);
  EXPECT_NE(reply.body.find("sluice_http_answers_total{class=\"4xx\"} 1\n"), std::string::npos);
  EXPECT_NE(reply.body.find("sluice_http_requests_total 3\n"), std::string::npos);
}

TEST_P(Orders, AreServedAfterAHandlerThrew) {
  const std::vector<std::function<void()>> throwers = {[] { throw Poco::IOException("secret detail"); },
                                                       [] { throw std::runtime_error("secret detail"); },
                                                       [] { throw 5; }};
  for (const auto& thrower : throwers) {
    site.fakes.store.faults.onCall([&](std::string_view) { thrower(); });
    const HttpReply reply = site.admin("GET", "/admin/v1/vouchers");
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(jsonMember(reply.body, "code"), "INTERNAL");
    EXPECT_EQ(reply.body.find("secret"), std::string::npos);
    site.fakes.store.faults.onCall({});
  }
  EXPECT_EQ(site.order(7).status, 202);
}

INSTANTIATE_TEST_SUITE_P(Fronts, Orders, ::testing::ValuesIn(frontNames()));

}  // namespace
}  // namespace sluice::test
