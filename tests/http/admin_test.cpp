// What operators do over HTTP, and that nobody else can, on every front.
#include "http/http_site.h"
#include "support/sale.h"

namespace sluice::test {
namespace {

constexpr const char* kTea =
    R"({"title":"Tea","begin":"2025-12-31T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5,"limitPerUser":2})";

class Admin : public ::testing::TestWithParam<std::string> {
 protected:
  HttpSite site{GetParam()};
  std::string voucherPath() const { return "/admin/v1/vouchers/" + site.voucher.id.text(); }
};

TEST_P(Admin, CreatesLoadsShowsAndClosesAVoucher) {
  const HttpReply created = site.admin("POST", "/admin/v1/vouchers", kTea);
  ASSERT_EQ(created.status, 201) << created.body;
  const std::string path = created.headers.at("location");
  EXPECT_EQ(path, "/admin/v1/vouchers/" + jsonMember(created.body, "voucherId"));
  const HttpReply loaded = site.admin("POST", path + "/load");
  EXPECT_EQ(loaded.status, 200) << loaded.body;
  EXPECT_EQ(jsonMember(loaded.body, "stock"), "5");
  EXPECT_EQ(site.admin("POST", path + "/load").status, 409) << "it is there already";
  const HttpReply shown = site.admin("GET", path);
  EXPECT_EQ(jsonMember(shown.body, "limitPerUser"), "2");
  EXPECT_EQ(jsonMember(site.admin("POST", path + "/close").body, "state"), "closed");
  EXPECT_EQ(site.admin("POST", path + "/sync").status, 200);
}

TEST_P(Admin, ChangesAVoucherOnlyFromTheVersionItKnows) {
  const HttpReply changed =
      site.admin("PATCH", voucherPath(), R"({"version":1,"stock":12,"title":"More tea"})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(jsonMember(changed.body, "version"), "2");
  EXPECT_EQ(jsonMember(changed.body, "title"), "More tea");
  EXPECT_EQ(site.stock(), 12);
  EXPECT_EQ(site.admin("PATCH", voucherPath(), R"({"version":1,"stock":20})").status, 409);
  EXPECT_EQ(site.admin("PATCH", voucherPath(), R"({"stock":20})").status, 400);
  EXPECT_EQ(site.stock(), 12);
}

TEST_P(Admin, RefusesSettingsThatAreNotSound) {
  for (
      const char* body :
      {"", "{}", R"({"title":"x"})",
       R"({"title":"","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5})",
       R"({"title":"x","begin":"2026-01-01","end":"2026-02-01T00:00:00Z","stock":5})",
       R"({"title":"x","begin":"2026-03-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":-1})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":1.5})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":"5"})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5,"limitPerUser":0})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5,"limitPerUser":4294967297})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5,"state":"sold"})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5,"id":5})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5,"id":"0"})",
       R"({"title":"x","begin":"2026-01-01T00:00:00Z","end":"2026-02-01T00:00:00Z","stock":5,"remaining":9})"}) {
    EXPECT_EQ(site.admin("POST", "/admin/v1/vouchers", body).status, 400) << body;
  }
  EXPECT_EQ(site.fakes.store.listVouchers({}, 10, soon()).value().size(), 1u);
}

TEST_P(Admin, AddsEligibleUsersInOneLargeBody) {
  std::string body = R"({"users":["1")";
  for (int user = 2; user <= 4000; ++user)
    body += ",\"" + std::to_string(user) + "\"";
  body += "]}";
  ASSERT_GT(body.size(), 16u * 1024);
  EXPECT_EQ(site.admin("POST", voucherPath() + "/eligible", body).status, 200);
  EXPECT_EQ(site.fakes.store.listEligible(site.voucher.id, {}, 1000, soon()).value().size(), 1000u);
  EXPECT_EQ(site.admin("POST", voucherPath() + "/eligible", R"({"users":["0"]})").status, 400);
  EXPECT_EQ(site.admin("POST", voucherPath() + "/eligible", R"({"users":[1]})").status, 400);
  EXPECT_EQ(site.admin("POST", voucherPath() + "/eligible", std::string(65 * 1024, ' ')).status, 413);
}

TEST_P(Admin, CancelsAQueuedOrderByItsVoucherAndUser) {
  const std::string id = jsonMember(site.order(7).body, "orderId");
  const std::string names = "?voucher=" + site.voucher.id.text() + "&user=7";
  EXPECT_EQ(jsonMember(site.admin("GET", "/admin/v1/orders/" + id + names).body, "status"), "queued");
  const HttpReply cancelled = site.admin("POST", "/admin/v1/orders/" + id + "/cancel" + names);
  EXPECT_EQ(jsonMember(cancelled.body, "reason"), "by_operator") << cancelled.body;
  EXPECT_EQ(jsonMember(site.admin("GET", "/admin/v1/orders/" + id).body, "status"), "cancelled");
  EXPECT_EQ(site.stock(), 10);
}

TEST_P(Admin, ListsReplaysAndDropsDeadLetters) {
  site.fakes.queue.injectUndecodable("\xFFjunk");
  const HttpReply list = site.admin("GET", "/admin/v1/dead?limit=10");
  const std::string id = jsonMember(list.body, "id");
  ASSERT_FALSE(id.empty()) << list.body;
  EXPECT_EQ(jsonMember(site.admin("GET", "/admin/v1/dead/" + id).body, "id"), id);
  EXPECT_EQ(site.admin("POST", "/admin/v1/dead/" + id + "/replay").status, 409) << "it does not decode";
  EXPECT_EQ(site.admin("POST", "/admin/v1/dead/" + id + "/drop").status, 200);
  EXPECT_EQ(site.admin("GET", "/admin/v1/dead/" + id).status, 404);
  EXPECT_EQ(site.admin("GET", "/admin/v1/dead/%2e%2e").status, 400);
}

TEST_P(Admin, CountsReplaysAndDropsTheDeadLettersThatAFilterMeans) {
  for (std::int64_t user = 1; user <= 5; ++user) {
    ASSERT_EQ(site.order(user).status, 202);
    deadLetterOne(site.fakes.parts());
  }
  site.fakes.queue.injectUndecodable("junk");
  const std::string ofVoucher = "?voucher=" + site.voucher.id.text();
  const HttpReply listed = site.admin("GET", "/admin/v1/dead" + ofVoucher + "&user=3");
  EXPECT_NE(listed.body.find(R"("userId":"3")"), std::string::npos) << listed.body;
  EXPECT_EQ(listed.body.find(R"("userId":"4")"), std::string::npos) << listed.body;
  const HttpReply counted = site.admin("POST", "/admin/v1/dead/replay" + ofVoucher + "&dryRun=true");
  EXPECT_EQ(jsonMember(counted.body, "matched"), "5") << counted.body;
  const HttpReply part = site.admin("POST", "/admin/v1/dead/replay" + ofVoucher + "&limit=2");
  EXPECT_EQ(jsonMember(part.body, "done"), "2") << part.body;
  EXPECT_EQ(jsonMember(part.body, "more"), "true") << part.body;
  const HttpReply rest =
      site.admin("POST", "/admin/v1/dead/replay" + ofVoucher + "&after=" + jsonMember(part.body, "next") +
                             "&until=" + jsonMember(part.body, "until"));
  EXPECT_EQ(jsonMember(rest.body, "done"), "3") << rest.body;
  EXPECT_EQ(jsonMember(rest.body, "more"), "false") << rest.body;
  const HttpReply failed = site.admin("POST", "/admin/v1/dead/replay?undecodable=true");
  EXPECT_EQ(jsonMember(failed.body, "failed"), "1") << failed.body;
  EXPECT_EQ(jsonMember(site.admin("POST", "/admin/v1/dead/drop?all=true").body, "done"), "1");
  EXPECT_EQ(site.admin("GET", "/admin/v1/dead").body, R"({"deadLetters":[]})");
}

TEST_P(Admin, RefusesToTouchManyDeadLettersWithoutSayingWhich) {
  site.fakes.queue.injectUndecodable("junk");
  for (const char* query : {"", "?limit=5", "?dryRun=true", "?all=yes", "?since=yesterday", "?voucher=0",
                            "?undecodable=1", "?nonsense=1", "?all=true&limit=101"}) {
    EXPECT_EQ(site.admin("POST", std::string("/admin/v1/dead/drop") + query).status, 400) << query;
  }
  EXPECT_EQ(site.admin("GET", "/admin/v1/dead?dryRun=true").status, 400);
  EXPECT_NE(site.admin("GET", "/admin/v1/dead").body.find("junk"), std::string::npos);
}

TEST_P(Admin, RunsTheAudit) {
  ASSERT_EQ(site.order(7).status, 202);
  const HttpReply clean = site.admin("GET", "/admin/v1/audit");
  EXPECT_EQ(clean.status, 200);
  EXPECT_EQ(jsonMember(clean.body, "clean"), "true") << clean.body;
  site.fakes.qualifier.setStock(site.voucher.id, 3);
  const HttpReply broken = site.admin("GET", "/admin/v1/audit");
  EXPECT_NE(broken.body.find("CONSERVE_REDIS"), std::string::npos) << broken.body;
}

TEST_P(Admin, IsForOperatorsOnly) {
  std::size_t seen = 0;
  for (const server::Route& route : site.service.router().routes()) {
    if (!route.pattern.starts_with("/admin/")) continue;
    ++seen;
    EXPECT_EQ(route.access, server::Access::Operator) << route.pattern;
    const std::string method(server::methodName(route.method));
    std::string path(route.pattern);
    if (const std::size_t at = path.find("{id}"); at != std::string::npos) path.replace(at, 4, "1");
    EXPECT_EQ(http(site.port(), method, path).status, 401) << path;
    EXPECT_EQ(http(site.port(), method, path, {{"X-User-Id", "7"}}).status, 401) << path;
    const HttpReply wrong =
        http(site.port(), method, path, {{"Authorization", "Bearer 0123456789abcdef0123456789abcdeX"}});
    EXPECT_EQ(wrong.status, 401) << path;
    EXPECT_TRUE(wrong.headers.at("www-authenticate").starts_with("Bearer")) << path;
    EXPECT_EQ(http(site.port(), method, path + "?token=" + kOperatorToken).status, 401) << path;
  }
  EXPECT_EQ(seen, 18u);
}

TEST_P(Admin, IsOffWithoutAToken) {
  server::ServiceOptions options = serviceOptions();
  options.adminToken.clear();
  HttpSite closed(GetParam(), siteOptions(), options);
  const HttpReply reply = http(closed.port(), "GET", "/admin/v1/audit", {{"Authorization", "Bearer "}});
  EXPECT_EQ(reply.status, 403);
  EXPECT_NE(reply.body.find("admin.token.generate"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Fronts, Admin, ::testing::ValuesIn(frontNames()));

}  // namespace
}  // namespace sluice::test
