// Bad input, on every front: a clear answer, nothing changed, and the next honest request is served.
#include <chrono>
#include <thread>

#include "http/http_site.h"

namespace sluice::test {
namespace {

struct BadRequest {
  std::string name;
  std::string bytes;
  int status;          // 0: no answer is due, the connection ends
  bool closes = true;  // behind the answer
};

std::string head(const std::string& line, const std::string& fields) {
  return line + "\r\nHost: x\r\n" + fields + "\r\n";
}

std::string post(const std::string& path, const std::string& fields, const std::string& body) {
  return head("POST " + path + " HTTP/1.1",
              "Content-Length: " + std::to_string(body.size()) + "\r\n" + fields) +
         body;
}

constexpr const char* kJson = "Content-Type: application/json\r\n";
constexpr const char* kUser = "X-User-Id: 7\r\n";

class Hostile : public ::testing::TestWithParam<std::string> {
 protected:
  HttpSite site{GetParam()};

  void expectRefused(const BadRequest& bad) {
    const std::uint64_t asked = site.engine.asked();
    RawConnection connection(site.port());
    ASSERT_TRUE(connection.send(bad.bytes)) << bad.name;
    const HttpReply reply = connection.receive();
    EXPECT_EQ(reply.status, bad.status) << bad.name << ": " << reply.body;
    if (bad.status != 0) {
      EXPECT_EQ(reply.headers.at("content-type"), "application/problem+json") << bad.name;
      EXPECT_FALSE(jsonMember(reply.body, "code").empty()) << bad.name;
      EXPECT_GT(jsonMember(reply.body, "detail").size(), 5u) << bad.name;
      EXPECT_EQ(reply.headers.at("connection"), bad.closes ? "close" : "keep-alive") << bad.name;
    }
    if (bad.closes) {
      EXPECT_TRUE(connection.closedWithin(milliseconds(3000))) << bad.name;
    }
    EXPECT_EQ(site.engine.asked(), asked) << bad.name << " reached the engine";
    EXPECT_EQ(site.stock(), 10) << bad.name;
    // On the same connection where it stays, else on a new one.
    const std::string honest = head("GET /healthz HTTP/1.1", "");
    if (!bad.closes) {
      EXPECT_TRUE(connection.send(honest));
      EXPECT_EQ(connection.receive().status, 200) << bad.name;
    }
    EXPECT_EQ(site.get("/healthz").status, 200) << bad.name;
  }

  void expectAllRefused(const std::vector<BadRequest>& all) {
    for (const BadRequest& bad : all)
      expectRefused(bad);
    EXPECT_EQ(site.order(7).status, 202);
  }

  std::string orderWith(const std::string& body) {
    return post(site.orderPath(), std::string(kJson) + kUser, body);
  }
};

TEST_P(Hostile, Framing) {
  const std::string line = "POST " + site.orderPath() + " HTTP/1.1";
  const std::string fields = std::string(kJson) + kUser;
  const std::string smuggled = orderWith("{\"quantity\":1}");
  expectAllRefused({
      {"H01 both lengths",
       head(line, fields + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n" + smuggled,
       400},
      {"H02 two lengths", head(line, fields + "Content-Length: 0\r\nContent-Length: 5\r\n") + smuggled, 400},
      {"H02 a list", head(line, fields + "Content-Length: 5, 5\r\n") + smuggled, 400},
      {"H03 plus", head(line, fields + "Content-Length: +0\r\n") + smuggled, 400},
      {"H03 minus", head(line, fields + "Content-Length: -5\r\n") + smuggled, 400},
      {"H03 comma", head(line, fields + "Content-Length: 1,0\r\n") + smuggled, 400},
      {"H03 hex", head(line, fields + "Content-Length: 0x5\r\n") + smuggled, 400},
      {"H03 empty", head(line, fields + "Content-Length: \r\n") + smuggled, 400},
      {"H03 20 digits", head(line, fields + "Content-Length: 10000000000000000000\r\n") + smuggled, 400},
      {"H04 gzip, chunked", head(line, fields + "Transfer-Encoding: gzip, chunked\r\n") + smuggled, 501},
      {"H04 xchunked", head(line, fields + "Transfer-Encoding: xchunked\r\n") + smuggled, 501},
      {"H05 chunked",
       head(line, fields + "Transfer-Encoding: chunked\r\n") + "e\r\n{\"quantity\":1}\r\n0\r\n\r\n", 411},
      {"H06 a huge chunk", head(line, fields + "Transfer-Encoding: chunked\r\n") + "FFFFFFFFF\r\n", 411},
      {"H07 trailers",
       head(line, fields + "Transfer-Encoding: chunked\r\n") + "0\r\nA: b\r\nC: d\r\n\r\n" + smuggled, 411},
      {"H08 no length", head(line, fields), 411},
      {"H11 blank before the colon", head(line, fields + "Content-Length : 0\r\n") + smuggled, 400},
      {"H11 no colon", head(line, fields + "Content-Length\r\n"), 400},
      {"H11 folded", head(line, fields + "A: b\r\n Content-Length: 0\r\n") + smuggled, 400},
      {"H11 blank first", "GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n" + smuggled, 400},
      {"H12 bare LF", "GET /healthz HTTP/1.1\nHost: x\n\n" + smuggled, 400},
      {"H12 bare CR", head("GET /healthz HTTP/1.1", "A: b\rc\r\n") + smuggled, 400},
      {"H12 NUL", head("GET /healthz HTTP/1.1", std::string("A: b\0c\r\n", 8)) + smuggled, 400},
      {"H12 0xFF in a value", head("GET /healthz HTTP/1.1", "A: \xFF\r\n") + smuggled, 400},
      {"H12 0xFF as first byte",
       head("GET /healthz HTTP/1.1",
            "\xFF"
            "A: b\r\n") +
           smuggled,
       400},
      {"H13 no Host", "GET /healthz HTTP/1.1\r\n\r\n" + smuggled, 400},
      {"H13 two Hosts", head("GET /healthz HTTP/1.1", "Host: y\r\n") + smuggled, 400},
      {"H13 Host with a path", "GET /healthz HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
      {"H14 0.9", "GET /healthz\r\n\r\n", 400},
      {"H14 9.9", "GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", 505},
      {"H14 HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"H14 1.0 with an encoding", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"random bytes",
       std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(200, '\x7f'), 400},
  });
}

TEST_P(Hostile, Sizes) {
  std::string many;
  for (int k = 0; k < 64; ++k)
    many += "A: b\r\n";
  const std::string fields = std::string(kJson) + kUser;
  expectAllRefused({
      {"H15 65 headers", head("GET /healthz HTTP/1.1", many), 431},
      {"H15 9 KiB in one header", head("GET /healthz HTTP/1.1", "A: " + std::string(9 * 1024, 'x') + "\r\n"),
       431},
      {"H15 17 KiB in all",
       "GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + std::string(8000, 'x') +
           "\r\nB: " + std::string(8000, 'x') + "\r\nC: " + std::string(1500, 'x') + "\r\n\r\n",
       431},
      {"H15 a head without end", "GET /healthz HTTP/1.1\r\nA: " + std::string(200 * 1024, 'x'), 431},
      {"H16 a long target", head("GET /" + std::string(5 * 1024, 'a') + " HTTP/1.1", ""), 414},
      {"H24 4 GiB announced",
       head("POST " + site.orderPath() + " HTTP/1.1",
            fields + "Expect: 100-continue\r\nContent-Length: 4294967296\r\n"),
       413},
      {"H24 unknown expectation",
       head("POST " + site.orderPath() + " HTTP/1.1", fields + "Expect: miracles\r\nContent-Length: 0\r\n"),
       417},
      {"H40 one byte too many", orderWith(std::string(4 * 1024 + 1, ' ')), 413},
      {"a large body for no address", post("/nothing", kUser, std::string(64 * 1024, 'x')), 413},
  });
}

TEST_P(Hostile, Methods) {
  expectAllRefused({
      {"H16 unknown method", head("BREW /healthz HTTP/1.1", ""), 501},
      {"H16 TRACE", head("TRACE /healthz HTTP/1.1", ""), 405, false},
      {"H16 CONNECT", head("CONNECT x:80 HTTP/1.1", ""), 405},
      {"wrong method", head("GET " + site.orderPath() + " HTTP/1.1", kUser), 405, false},
      {"DELETE", head("DELETE /healthz HTTP/1.1", ""), 405, false},
      {"OPTIONS", head("OPTIONS /healthz HTTP/1.1", ""), 405, false},
      {"OPTIONS *", head("OPTIONS * HTTP/1.1", ""), 404, false},
      {"unknown path", head("GET /nothing HTTP/1.1", ""), 404, false},
      {"H27 dots", head("GET /../../etc/passwd HTTP/1.1", ""), 404, false},
      {"H27 encoded dots", head("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1", ""), 404, false},
      {"H27 encoded NUL", head("GET /healthz%00 HTTP/1.1", ""), 404, false},
      {"trailing slash", head("GET /healthz/ HTTP/1.1", ""), 404, false},
      {"upper case", head("GET /HEALTHZ HTTP/1.1", ""), 404, false},
      {"root", head("GET / HTTP/1.1", ""), 404, false},
  });
  const HttpReply wrong = site.get(site.orderPath(), 7);
  EXPECT_EQ(wrong.headers.at("allow"), "POST");
}

TEST_P(Hostile, Bodies) {
  const std::vector<std::string> bodies = {"{",
                                           "{\"quantity\":1",
                                           "{\"quantity\":1}}",
                                           "{\"quantity\":1} {\"quantity\":1}",
                                           "{\"quantity\":1}//x",
                                           "\xEF\xBB\xBF{\"quantity\":1}",
                                           "[]",
                                           "1",
                                           "null",
                                           "{\"quantity\":1,\"quantity\":1}",
                                           "{\"quantity\":1,\"price\":0}",
                                           "{\"quantity\":1,\"user_id\":8}",
                                           "{\"quantity\":1.0}",
                                           "{\"quantity\":1.5}",
                                           "{\"quantity\":1e3}",
                                           "{\"quantity\":-0}",
                                           "{\"quantity\":01}",
                                           "{\"quantity\":\"1\"}",
                                           "{\"quantity\":true}",
                                           "{\"quantity\":null}",
                                           "{\"quantity\":NaN}",
                                           "{\"quantity\":0}",
                                           "{\"quantity\":-1}",
                                           "{\"quantity\":1001}",
                                           "{\"quantity\":2147483648}",
                                           "{\"quantity\":4294967297}",
                                           "{\"quantity\":9223372036854775807}",
                                           "{\"quantity\":9223372036854775808}",
                                           "{\"quantity\":1" + std::string(400, '0') + "}",
                                           std::string(4000, '['),
                                           "{\"quantity\":" + std::string(4000, '{'),
                                           "{\"\xC0\xAF\":1}",
                                           "{\"quantity\\u0000\":1}",
                                           std::string("{\"quantity\":1}\0", 15),
                                           "\x1f\x8b\x08",
                                           "quantity=1"};
  std::vector<BadRequest> all;
  for (const std::string& body : bodies)
    all.push_back({"body " + body.substr(0, 60), orderWith(body), 400, false});
  const std::string good = "{\"quantity\":1}";
  for (const char* type :
       {"", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/json; charset=utf-16\r\n", "Content-Type: application/jsonx\r\n",
        "Content-Type: application/json\r\nContent-Type: application/json\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"}) {
    all.push_back({std::string("H28 H39 ") + type, post(site.orderPath(), std::string(type) + kUser, good),
                   415, false});
  }
  expectAllRefused(all);
  EXPECT_EQ(http(site.port(), "POST", site.orderPath(), {{"X-User-Id", "8"}}, good).status, 202);
}

TEST_P(Hostile, Ids) {
  std::vector<BadRequest> all;
  for (const char* id : {"0",
                         "-1",
                         "+1",
                         "01",
                         "1e3",
                         "1.0",
                         "1.5",
                         "0x1",
                         "1,000",
                         "9223372036854775808",
                         "99999999999999999999",
                         "true",
                         "null",
                         "NaN",
                         "1'OR'1'='1",
                         "1;DROP",
                         "*",
                         "{x}",
                         "1%00",
                         "%31"}) {
    const std::string path = std::string("/api/v1/vouchers/") + id + "/orders";
    all.push_back({std::string("voucher ") + id, post(path, std::string(kJson) + kUser, "{\"quantity\":1}"),
                   400, false});
    all.push_back({std::string("order ") + id,
                   head(std::string("GET /api/v1/orders/") + id + "?voucher=1 HTTP/1.1", kUser), 400, false});
    all.push_back(
        {std::string("user ") + id,
         post(site.orderPath(), std::string(kJson) + "X-User-Id: " + id + "\r\n", "{\"quantity\":1}"), 401,
         false});
    all.push_back({std::string("query ") + id,
                   head(std::string("GET /api/v1/orders/1?voucher=") + id + " HTTP/1.1", kUser), 400, false});
  }
  all.push_back({"no user", post(site.orderPath(), kJson, "{\"quantity\":1}"), 401, false});
  all.push_back({"two users", post(site.orderPath(), std::string(kJson) + kUser + kUser, "{\"quantity\":1}"),
                 400, false});
  all.push_back({"H17 underscore twin",
                 post(site.orderPath(), std::string(kJson) + "X_User_Id: 7\r\n", "{\"quantity\":1}"), 401,
                 false});
  all.push_back(
      {"H34 repeated query", head("GET /api/v1/orders/1?voucher=1&voucher=1 HTTP/1.1", kUser), 400, false});
  all.push_back(
      {"H34 unknown query", head("GET /api/v1/orders/1?voucher=1&user=8 HTTP/1.1", kUser), 400, false});
  all.push_back({"no voucher", head("GET /api/v1/orders/1 HTTP/1.1", kUser), 400, false});
  for (const std::string& key :
       {std::string("short"), std::string(65, 'a'), std::string(300, 'a'), std::string("0123456789{}abcdef"),
        std::string("0123456789 abcdef"), std::string()}) {
    all.push_back({"H37 key " + key,
                   post(site.orderPath(), std::string(kJson) + kUser + "Idempotency-Key: " + key + "\r\n",
                        "{\"quantity\":1}"),
                   400, false});
  }
  all.push_back({"H37 two keys",
                 post(site.orderPath(),
                      std::string(kJson) + kUser +
                          "Idempotency-Key: 0123456789abcdef\r\nIdempotency-Key: 0123456789abcdef\r\n",
                      "{\"quantity\":1}"),
                 400, false});
  expectAllRefused(all);
}

TEST_P(Hostile, H18HeadersAreNeverEchoed) {
  const HttpHeaders tricky = {{"X-User-Id", "7"},
                              {"Origin", "=?utf-8?Q?a=0d=0aSet-Cookie:x=3D1?="},
                              {"X-Request-Id", "=?utf-32?B?////?="},
                              {"Idempotency-Key", "=?utf-8?Q?a=0d=0aSet-Cookie:x=3D1?="}};
  const HttpReply reply = http(site.port(), "POST", site.orderPath(), tricky);
  EXPECT_EQ(reply.status, 400);
  EXPECT_FALSE(reply.headers.contains("set-cookie"));
  EXPECT_EQ(reply.body.find("utf"), std::string::npos);
  EXPECT_EQ(site.get("/%0d%0aSet-Cookie:x=1").headers.contains("set-cookie"), false);
}

TEST_P(Hostile, H09MoreBytesThanDeclaredAreNoBody) {
  RawConnection connection(site.port());
  ASSERT_TRUE(connection.send(site.orderText(7) + "garbage\r\n\r\n"));
  EXPECT_EQ(connection.receive().status, 202);
  EXPECT_EQ(connection.receive().status, 400);
  EXPECT_TRUE(connection.closedWithin(milliseconds(3000)));
  EXPECT_EQ(site.stock(), 9);
}

TEST_P(Hostile, H10ABodyThatNobodyReadsEndsTheConnection) {
  RawConnection connection(site.port());
  const std::string inner = site.orderText(7);
  ASSERT_TRUE(connection.send(
      head("GET /healthz HTTP/1.1", "Content-Length: " + std::to_string(inner.size()) + "\r\n") + inner));
  const HttpReply reply = connection.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_TRUE(connection.closedWithin(milliseconds(3000)));
  EXPECT_EQ(site.engine.asked(), 0u);
}

TEST_P(Hostile, H23PipelinedOrdersAreAnsweredInOrder) {
  std::string bytes;
  for (int user = 1; user <= 100; ++user)
    bytes += site.orderText(user);
  RawConnection connection(site.port());
  ASSERT_TRUE(connection.send(bytes));
  int admitted = 0;
  for (int user = 1; user <= 100; ++user) {
    const HttpReply reply = connection.receive();
    ASSERT_TRUE(reply.status == 202 || reply.status == 409) << user << ": " << reply.status;
    EXPECT_EQ(reply.status, user <= 10 ? 202 : 409);
    admitted += reply.status == 202 ? 1 : 0;
  }
  EXPECT_EQ(admitted, 10);
  EXPECT_EQ(site.engine.asked(), 100u);
}

TEST_P(Hostile, H24AnExpectedContinueIsGiven) {
  RawConnection connection(site.port());
  ASSERT_TRUE(
      connection.send(head("POST " + site.orderPath() + " HTTP/1.1",
                           std::string(kJson) + kUser + "Expect: 100-continue\r\nContent-Length: 14\r\n")));
  EXPECT_EQ(connection.receive().status, 100);
  ASSERT_TRUE(connection.send("{\"quantity\":1}"));
  EXPECT_EQ(connection.receive().status, 202);
}

TEST_P(Hostile, HeadIsGetWithoutABody) {
  RawConnection connection(site.port());
  ASSERT_TRUE(connection.send(head("HEAD /healthz HTTP/1.1", "") +
                              head("GET /healthz HTTP/1.1", "Connection: close\r\n")));
  std::string all;
  // Both answers name the same length; only the second has a body, so the text ends with it.
  const HttpReply first = connection.receive();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.headers.at("content-length"), "14");
  // The client took 14 bytes of the second head for the first's body.
  EXPECT_EQ(first.body, "HTTP/1.1 200 O");
}

INSTANTIATE_TEST_SUITE_P(Fronts, Hostile, ::testing::ValuesIn(frontNames()));

// --- time and crowds ---

class Slow : public ::testing::TestWithParam<std::string> {
 protected:
  static server::FrontOptions quick() {
    server::FrontOptions options = siteOptions();
    options.requestTimeout = milliseconds(300);
    options.keepAlive = milliseconds(300);
    return options;
  }
};

TEST_P(Slow, HalfARequestIsAnswered408) {
  HttpSite site(GetParam(), quick());
  const std::string order = site.orderText(7);
  for (const std::size_t length : {std::size_t{3}, std::size_t{40}, order.size() - 1}) {
    RawConnection connection(site.port());
    ASSERT_TRUE(connection.send(order.substr(0, length)));
    EXPECT_EQ(connection.receive().status, 408) << length;
    EXPECT_TRUE(connection.closedWithin(milliseconds(3000)));
  }
  EXPECT_EQ(site.engine.asked(), 0u);
  EXPECT_EQ(site.order(7).status, 202);
}

TEST_P(Slow, ADripOfBytesDoesNotRenewTheDeadline) {
  HttpSite site(GetParam(), quick());
  RawConnection connection(site.port());
  std::atomic<bool> done{false};
  std::thread drip([&] {
    for (const char byte : site.orderText(7)) {
      if (done || !connection.send(std::string(1, byte))) return;
      std::this_thread::sleep_for(milliseconds(50));
    }
  });
  EXPECT_EQ(connection.receive().status, 408);
  done = true;
  drip.join();
  EXPECT_EQ(site.engine.asked(), 0u);
}

TEST_P(Slow, ARequestThatIsCutOffChangesNothing) {
  HttpSite site(GetParam(), quick());
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, site.orderText(7).size() - 1}) {
    RawConnection connection(site.port());
    ASSERT_TRUE(connection.send(site.orderText(7).substr(0, length)));
    connection.finish();
    EXPECT_TRUE(connection.closedWithin(milliseconds(3000)));
  }
  EXPECT_EQ(site.engine.asked(), 0u);
  EXPECT_EQ(site.order(7).status, 202);
}

TEST_P(Slow, AnIdleConnectionIsClosed) {
  HttpSite site(GetParam(), quick());
  RawConnection connection(site.port());
  ASSERT_TRUE(connection.send(site.orderText(7)));
  EXPECT_EQ(connection.receive().headers.at("connection"), "keep-alive");
  EXPECT_TRUE(connection.closedWithin(milliseconds(3000)));
}

TEST_P(Slow, AConnectionHasAnEndThatIsAnnounced) {
  HttpSite site(GetParam());
  site.engine.answerWith([](const OrderRequest&) { return OrderAnswer{Verdict::SoldOut, {}, false}; });
  RawConnection connection(site.port());
  const std::string order = site.orderText(7);
  for (int k = 1; k < server::limits::kRequestsPerConnectionMax; ++k) {
    ASSERT_TRUE(connection.send(order));
    ASSERT_EQ(connection.receive().headers.at("connection"), "keep-alive") << k;
  }
  ASSERT_TRUE(connection.send(order));
  EXPECT_EQ(connection.receive().headers.at("connection"), "close");
  EXPECT_TRUE(connection.closedWithin(milliseconds(3000)));
}

INSTANTIATE_TEST_SUITE_P(Fronts, Slow, ::testing::ValuesIn(frontNames()));

}  // namespace
}  // namespace sluice::test
