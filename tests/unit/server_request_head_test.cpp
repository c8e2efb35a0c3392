// Request heads: what is read, and what is refused with which status.
#include <gtest/gtest.h>

#include "server/request_head.h"

namespace sluice::server {
namespace {

// The status with which bytes are refused; 0 where they are read; -1 where more is needed. The views of `out`
// point into `bytes`.
int refusal(const std::string& bytes, RequestHead* out = nullptr) {
  RequestHead own;
  RequestHead& head = out == nullptr ? own : *out;
  HeadScanner scanner;
  const auto length = scanner.scan(bytes);
  if (scanner.fault()) return scanner.fault()->status;
  if (!length) return -1;
  const auto fault = parseHead(std::string_view(bytes).substr(0, *length), head);
  return fault ? fault->status : 0;
}

std::string get(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n"; }
std::string post(const std::string& fields) { return "POST / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n"; }

TEST(RequestHead, ReadsMethodTargetAndFields) {
  RequestHead head;
  const std::string bytes =
      "POST /a/b?c=d HTTP/1.1\r\nHost: shop.example:80\r\ncontent-length: 14\r\nX-Thing: \t two words "
      "\t\r\n\r\n";
  ASSERT_EQ(refusal(bytes, &head), 0);
  EXPECT_EQ(head.method, Method::Post);
  EXPECT_EQ(head.path, "/a/b");
  EXPECT_EQ(head.query, "c=d");
  EXPECT_EQ(head.contentLength, 14u);
  EXPECT_TRUE(head.keepAlive);
  ASSERT_EQ(head.headers().size(), 3u);
  EXPECT_EQ(head.headers()[2].name, "X-Thing");
  EXPECT_EQ(head.headers()[2].value, "two words");
}

TEST(RequestHead, KnowsWhenTheConnectionStays) {
  RequestHead head;
  ASSERT_EQ(refusal(get("Connection: close\r\n"), &head), 0);
  EXPECT_FALSE(head.keepAlive);
  ASSERT_EQ(refusal(get("Connection: Upgrade, Close\r\n"), &head), 0);
  EXPECT_FALSE(head.keepAlive);
  ASSERT_EQ(refusal("GET / HTTP/1.0\r\n\r\n", &head), 0);
  EXPECT_FALSE(head.keepAlive);
  ASSERT_EQ(refusal("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", &head), 0);
  EXPECT_TRUE(head.keepAlive);
}

TEST(RequestHead, ReadsAbsoluteTargets) {
  RequestHead head;
  const std::string bytes = "GET http://shop.example:80/a?b=1 HTTP/1.1\r\nHost: shop.example\r\n\r\n";
  ASSERT_EQ(refusal(bytes, &head), 0);
  EXPECT_EQ(head.path, "/a");
  EXPECT_EQ(head.query, "b=1");
  EXPECT_EQ(refusal("GET http://user@shop.example/a HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
}

TEST(RequestHead, WaitsForTheEmptyLineAndScansEachByteOnce) {
  HeadScanner scanner;
  const std::string bytes = get("A: b\r\n");
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    ASSERT_FALSE(scanner.scan(std::string_view(bytes).substr(0, length)));
    ASSERT_FALSE(scanner.fault());
  }
  EXPECT_EQ(scanner.scan(bytes + "more"), bytes.size());
}

TEST(RequestHead, H01LengthBesideTransferEncoding) {
  EXPECT_EQ(refusal(post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(refusal(post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")), 400);
}

TEST(RequestHead, H02SeveralLengths) {
  EXPECT_EQ(refusal(post("Content-Length: 5\r\nContent-Length: 6\r\n")), 400);
  EXPECT_EQ(refusal(post("Content-Length: 5\r\nContent-Length: 5\r\n")), 400);
  EXPECT_EQ(refusal(post("Content-Length: 5, 5\r\n")), 400);
}

TEST(RequestHead, H03LengthsThatAreNotDigits) {
  for (const char* value :
       {"+5", "-5", "5 6", "0x5", "1,0", "", "12345678901234567890", "5;", "five", "5.0"}) {
    EXPECT_EQ(refusal(post(std::string("Content-Length: ") + value + "\r\n")), 400) << value;
  }
}

TEST(RequestHead, H04H05TransferEncodings) {
  EXPECT_EQ(refusal(post("Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(refusal(post("Transfer-Encoding: xchunked\r\n")), 501);
  EXPECT_EQ(refusal(post("Transfer-Encoding: chunked, identity\r\n")), 501);
  EXPECT_EQ(refusal(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(refusal(post("Transfer-Encoding: chunked\r\n")), 411);
  EXPECT_EQ(refusal(get("Transfer-Encoding: chunked\r\n")), 411);
  EXPECT_EQ(refusal("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(RequestHead, H08BodyMethodsNeedALength) {
  EXPECT_EQ(refusal(post("")), 411);
  EXPECT_EQ(refusal(post("Content-Length: 0\r\n")), 0);
}

TEST(RequestHead, H11FieldsOfAWrongForm) {
  for (const char* field : {"Name : x\r\n", "no colon\r\n", "A: b\r\n folded\r\n", "A: b\r\n\tfolded\r\n",
                            ": x\r\n", "A b: c\r\n", "A(b): c\r\n"}) {
    EXPECT_EQ(refusal(get(field)), 400) << field;
  }
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n Host: x\r\n\r\n"), 400);
}

TEST(RequestHead, H12BytesThatDoNotBelong) {
  EXPECT_EQ(refusal("GET / HTTP/1.1\nHost: x\n\n"), 400);
  EXPECT_EQ(refusal(get("A: b\rc\r\n")), 400);
  EXPECT_EQ(refusal(get(std::string("A: b\0c\r\n", 8))), 400);
  EXPECT_EQ(refusal(get("A: b\xFF\r\n")), 400);
  EXPECT_EQ(refusal(get("\xFF: b\r\n")), 400);
  EXPECT_EQ(refusal(get("A: caf\xC3\xA9\r\n")), 400);
  EXPECT_EQ(refusal(get("A: b\x01\r\n")), 400);
  EXPECT_EQ(refusal("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
}

TEST(RequestHead, H13Hosts) {
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusal(get("Host: y\r\n")), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: x/y\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: u@x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: \r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"), 0);
}

TEST(RequestHead, H14Versions) {
  EXPECT_EQ(refusal("GET /\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/9.9\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
  EXPECT_EQ(refusal("GET / HTTP/1.2\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(refusal("GET / http/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1 \r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
}

TEST(RequestHead, H15LargeHeads) {
  std::string many;
  for (int k = 0; k < 63; ++k)
    many += "A: b\r\n";
  EXPECT_EQ(refusal(get(many)), 0);
  EXPECT_EQ(refusal(get(many + "A: b\r\n")), 431);
  EXPECT_EQ(refusal(get("A: " + std::string(9 * 1024, 'x') + "\r\n")), 431);
  EXPECT_EQ(refusal(get("A: " + std::string(8 * 1000, 'x') + "\r\nB: " + std::string(8 * 1000, 'x') +
                        "\r\nC: " + std::string(800, 'x') + "\r\n")),
            431);
}

TEST(RequestHead, H16MethodsAndLongTargets) {
  EXPECT_EQ(refusal("GET /" + std::string(5 * 1024, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
  EXPECT_EQ(refusal("GET /" + std::string(5 * 1024, 'a')), 414);
  EXPECT_EQ(refusal("BREW / HTTP/1.1\r\nHost: x\r\n\r\n"), 501);
  EXPECT_EQ(refusal("get / HTTP/1.1\r\nHost: x\r\n\r\n"), 501);
  EXPECT_EQ(refusal("G@T / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"), 405);
  EXPECT_EQ(refusal("GET x HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET /#a HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
}

TEST(RequestHead, H18EncodedWordsAreText) {
  RequestHead head;
  const std::string bytes = get("A: =?utf-8?Q?a=0d=0aSet-Cookie:x=3D1?=\r\n");
  ASSERT_EQ(refusal(bytes, &head), 0);
  EXPECT_EQ(head.headers()[1].value, "=?utf-8?Q?a=0d=0aSet-Cookie:x=3D1?=");
}

TEST(RequestHead, H24Expectations) {
  RequestHead head;
  ASSERT_EQ(refusal(post("Content-Length: 4294967296\r\nExpect: 100-continue\r\n"), &head), 0);
  EXPECT_TRUE(head.expectsContinue);
  EXPECT_EQ(refusal(post("Content-Length: 5\r\nExpect: miracles\r\n")), 417);
}

}  // namespace
}  // namespace sluice::server
