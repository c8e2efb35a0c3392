// The small parts between a request and its answer: routes, queries, problems, identity, instants, the wire
// format.
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "server/auth.h"
#include "server/problem.h"
#include "server/query.h"
#include "server/router.h"
#include "server/utc_text.h"
#include "support/temp_folder.h"

namespace sluice::server {
namespace {

Router smallRouter() {
  return Router({{Method::Post, "/v/{id}/orders", Access::User, 0, 10},
                 {Method::Get, "/v", Access::Anyone, 1},
                 {Method::Get, "/v/{id}", Access::Anyone, 2},
                 {Method::Patch, "/v/{id}", Access::Operator, 3}});
}

TEST(Router, FindsTheRouteAndItsParameters) {
  const Router router = smallRouter();
  const RouteMatch match = router.match(Method::Post, "/v/17/orders");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->handler, 0u);
  EXPECT_EQ(match.parameters.values[0], "17");
  EXPECT_EQ(router.match(Method::Get, "/v").route->handler, 1u);
  EXPECT_EQ(router.match(Method::Head, "/v/17").route->handler, 2u);
  EXPECT_EQ(router.match(Method::Patch, "/v/17").route->handler, 3u);
}

TEST(Router, KnowsOnlyItsOwnPaths) {
  const Router router = smallRouter();
  for (const char* path : {"", "/", "/v/", "/v//orders", "/v/17/orders/", "/V", "/v/17/orders/x",
                           "/v/17/order", "//v", "/%76", "*", "/v;x", "/v/../v/17/x"}) {
    EXPECT_FALSE(router.match(Method::Get, path).pathKnown) << path;
  }
}

TEST(Router, NamesTheAllowedMethods) {
  const Router router = smallRouter();
  const RouteMatch match = router.match(Method::Delete, "/v/17");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_TRUE(match.pathKnown);
  EXPECT_EQ(router.allowed("/v/17"), "GET, HEAD, PATCH");
}

TEST(Router, PrintsItsTable) {
  const std::string table = smallRouter().table();
  EXPECT_NE(table.find("POST   /v/{id}/orders"), std::string::npos);
  EXPECT_NE(table.find("operator"), std::string::npos);
}

TEST(Query, ReadsKnownNamesOnce) {
  std::array<QueryParameter, 2> known = {{{"after", {}, false}, {"limit", {}, false}}};
  ASSERT_FALSE(readQuery("limit=10&after=1-2", known));
  EXPECT_EQ(known[0].value, "1-2");
  EXPECT_EQ(known[1].value, "10");
  for (const char* query :
       {"limit=1&limit=2", "unknown=1", "limit", "limit=%31", "limit=1+1", "=1", "&limit=1", "limit=;DROP"}) {
    std::array<QueryParameter, 2> fresh = {{{"after", {}, false}, {"limit", {}, false}}};
    EXPECT_TRUE(readQuery(query, fresh)) << query;
  }
}

TEST(Problem, EveryVerdictHasItsOwnCodeAndAStatusOfDesign) {
  std::set<std::string_view> codes;
  for (const Verdict verdict : kVerdicts) {
    const VerdictAnswer& answer = verdictAnswer(verdict);
    if (verdict == Verdict::Admitted) {
      EXPECT_EQ(answer.status, 202);
      continue;
    }
    EXPECT_TRUE(codes.insert(answer.code).second) << answer.code;
    EXPECT_FALSE(answer.detail.empty());
    EXPECT_EQ(answer.retryAfter, answer.status == 503) << answer.code;
  }
  const auto status = [](Verdict verdict) { return verdictAnswer(verdict).status; };
  for (const Verdict verdict : {Verdict::SoldOut, Verdict::Insufficient, Verdict::AlreadyOrdered,
                                Verdict::OverLimit, Verdict::NotStarted, Verdict::Ended, Verdict::Paused}) {
    EXPECT_EQ(status(verdict), 409);
  }
  for (const Verdict verdict :
       {Verdict::Busy, Verdict::Unavailable, Verdict::Frozen, Verdict::OutcomeUnknown})
    EXPECT_EQ(status(verdict), 503);
  EXPECT_EQ(status(Verdict::NotEligible), 403);
  EXPECT_EQ(status(Verdict::NotFound), 404);
  EXPECT_EQ(status(Verdict::KeyReused), 422);
  EXPECT_TRUE(verdictAnswer(Verdict::AlreadyOrdered).withOrder);
  EXPECT_TRUE(verdictAnswer(Verdict::OutcomeUnknown).withOrder);
}

TEST(Problem, HasTheMembersOfTheStandardAndOurs) {
  HttpResponse response;
  setProblem(response, 409, "SOLD_OUT", "Nothing is \"left\".", OrderId(5));
  EXPECT_EQ(response.contentType, kProblemType);
  EXPECT_EQ(
      response.body,
      R"({"type":"urn:sluice:problem:SOLD_OUT","title":"Conflict","status":409,"code":"SOLD_OUT","detail":"Nothing is \"left\".","orderId":"5"})");
}

TEST(Problem, ShowsOperatorsMoreThanBuyers) {
  const Error error{ErrorCode::Unavailable, "cannot reach redis.internal:6379"};
  HttpResponse buyer;
  setError(buyer, error, false);
  EXPECT_EQ(buyer.status, 503);
  EXPECT_EQ(buyer.header("Retry-After"), "1");
  EXPECT_EQ(buyer.body.find("internal"), std::string::npos);
  HttpResponse detailed;
  setError(detailed, error, true);
  EXPECT_NE(detailed.body.find("redis.internal"), std::string::npos);
}

TEST(Answer, IsOneTextWithItsLength) {
  HttpResponse response;
  response.status = 202;
  response.body = "{}";
  response.add("Location", "/x");
  std::string out;
  appendResponse(response, false, fromMillis(1767225600000), out);
  EXPECT_EQ(out.substr(0, 64), "HTTP/1.1 202 Accepted\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nCont");
  EXPECT_NE(out.find("Content-Length: 2\r\n"), std::string::npos);
  EXPECT_NE(out.find("Location: /x\r\n"), std::string::npos);
  EXPECT_TRUE(out.ends_with("Connection: keep-alive\r\n\r\n{}"));
  response.keepAlive = false;
  out.clear();
  appendResponse(response, true, fromMillis(0), out);
  EXPECT_TRUE(out.ends_with("Connection: close\r\n\r\n"));
  EXPECT_NE(out.find("Content-Length: 2\r\n"), std::string::npos);
}

HttpRequest withHeaders(std::span<const HttpHeader> headers) {
  HttpRequest request;
  request.headers = headers;
  return request;
}

TEST(HeaderAuth, TakesOnePositiveNumber) {
  const auto auth = makeHeaderAuth();
  const std::vector<HttpHeader> fine = {{"x-user-id", "9223372036854775807"}};
  EXPECT_EQ(std::get<UserId>(auth->identify(withHeaders(fine))).value(),
            std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"", "0", "-1", "+1", "01", "1e3", "1.5", "9223372036854775808", "1 ", "0x1", "1,2",
                           "'1'", "1'OR'1'='1"}) {
    const std::vector<HttpHeader> wrong = {{"X-User-Id", text}};
    EXPECT_EQ(std::get<HttpFault>(auth->identify(withHeaders(wrong))).status, 401) << text;
  }
  EXPECT_EQ(std::get<HttpFault>(auth->identify(withHeaders({}))).status, 401);
}

TEST(HeaderAuth, RefusesTwoHeadersAndIgnoresTheUnderscoreTwin) {
  const auto auth = makeHeaderAuth();
  const std::vector<HttpHeader> twice = {{"X-User-Id", "1"}, {"X-USER-ID", "1"}};
  EXPECT_EQ(std::get<HttpFault>(auth->identify(withHeaders(twice))).status, 400);
  const std::vector<HttpHeader> twin = {{"X_User_Id", "1"}};
  EXPECT_EQ(std::get<HttpFault>(auth->identify(withHeaders(twin))).status, 401);
}

TEST(AdminAuth, NeedsItsToken) {
  const std::string token(32, 'a');
  const AdminAuth auth(token);
  const std::vector<HttpHeader> right = {{"Authorization", "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}};
  EXPECT_FALSE(auth.refuse(withHeaders(right)));
  for (const char* value : {"", "Bearer", "Bearer ", "Bearer b", "Basic aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                            "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}) {
    const std::vector<HttpHeader> wrong = {{"Authorization", value}};
    EXPECT_EQ(auth.refuse(withHeaders(wrong))->status, 401) << value;
  }
  EXPECT_EQ(auth.refuse(withHeaders({}))->status, 401);
  const std::vector<HttpHeader> twice = {right[0], right[0]};
  EXPECT_EQ(auth.refuse(withHeaders(twice))->status, 400);
}

TEST(AdminAuth, WithoutATokenNobodyIsAnOperator) {
  const std::vector<HttpHeader> empty = {{"Authorization", "Bearer "}};
  const auto fault = AdminAuth("").refuse(withHeaders(empty));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->status, 403);
  EXPECT_NE(fault->detail.find("admin.token"), std::string_view::npos);
}

TEST(AdminToken, IsMadeOnceForItsOwnerOnly) {
  const test::TempFolder folder;
  const auto first = generatedAdminToken(folder.path());
  ASSERT_TRUE(first.ok()) << first.error().text;
  EXPECT_EQ(first.value().size(), 64u);
  EXPECT_EQ(generatedAdminToken(folder.path()).value(), first.value());
  struct stat facts {};
  ASSERT_EQ(::stat(adminTokenPath(folder.path()).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0600u);
}

TEST(AdminToken, IsRefusedWhereOthersCanReadItOrNothingIsInIt) {
  const test::TempFolder folder;
  const std::string path = adminTokenPath(folder.path());
  ASSERT_TRUE(generatedAdminToken(folder.path()).ok());
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(generatedAdminToken(folder.path()).error().code, ErrorCode::Misconfigured);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << "short\n";
  EXPECT_EQ(generatedAdminToken(folder.path()).error().code, ErrorCode::Misconfigured);
}

TEST(UtcText, WritesAndReadsInstants) {
  EXPECT_EQ(utcText(fromMillis(1794398400123)), "2026-11-11T12:00:00.123Z");
  EXPECT_EQ(toMillis(*parseUtcText("2026-11-11T12:00:00.123Z")), 1794398400123);
  EXPECT_EQ(toMillis(*parseUtcText("2026-11-11T12:00:00Z")), 1794398400000);
  EXPECT_EQ(toMillis(*parseUtcText("2026-11-11T12:00:00.5Z")), 1794398400500);
  EXPECT_EQ(parseUtcText(utcText(fromMillis(0))), fromMillis(0));
  for (const char* text :
       {"", "2026-11-11", "2026-11-11T12:00:00", "2026-11-11T12:00:00+00:00", "2026-11-11 12:00:00Z",
        "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2026-11-11T24:00:00Z", "2026-11-11T12:60:00Z",
        "2026-11-11T12:00:60Z", "1969-11-11T12:00:00Z", "2026-11-11T12:00:00.Z", "2026-11-11T12:00:00.1234Z",
        "2026-1-11T12:00:00Z", "2026-11-11T12:00:00z", "+026-11-11T12:00:00Z"}) {
    EXPECT_FALSE(parseUtcText(text)) << text;
  }
}

}  // namespace
}  // namespace sluice::server
