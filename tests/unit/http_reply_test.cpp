// The storm client's reading of HTTP responses: whole, in pieces, and wrong.
#include "cli/http_reply.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using State = HttpReply::State;

constexpr std::string_view kSized =
    "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\ncontent-length: 4\r\n\r\nbody";

TEST(HttpReply, ReadsASizedBody) {
  HttpReply reply;
  EXPECT_EQ(reply.feed(kSized), State::Done);
  EXPECT_EQ(reply.status(), 202);
  EXPECT_EQ(reply.body(), "body");
  EXPECT_EQ(reply.header("CONTENT-TYPE"), "application/json");
  EXPECT_EQ(reply.header("Location"), std::nullopt);
}

TEST(HttpReply, ReadsTheSameByteByByte) {
  HttpReply reply;
  for (std::size_t at = 0; at < kSized.size(); ++at) {
    ASSERT_EQ(reply.state(), State::NeedMore) << at;
    reply.feed(kSized.substr(at, 1));
  }
  EXPECT_EQ(reply.state(), State::Done);
  EXPECT_EQ(reply.body(), "body");
}

TEST(HttpReply, ReadsChunksInAnyPieces) {
  constexpr std::string_view kChunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n3;x=y\r\n and\r\n0\r\nTrailer: "
      "1\r\n\r\n";
  for (std::size_t piece = 1; piece < kChunked.size(); ++piece) {
    HttpReply reply;
    for (std::size_t at = 0; at < kChunked.size(); at += piece) {
      reply.feed(kChunked.substr(at, piece));
    }
    // The third chunk says 3 bytes and has 4.
    EXPECT_EQ(reply.state(), State::Bad) << piece;
  }
  HttpReply reply;
  EXPECT_EQ(reply.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\nA;x=y\r\n and "
                       "more.\r\n0\r\n\r\n"),
            State::Done);
  EXPECT_EQ(reply.body(), "body and more.");
}

TEST(HttpReply, ReadsUntilTheConnectionEndsWhereThereIsNoLength) {
  HttpReply reply;
  EXPECT_EQ(reply.feed("HTTP/1.0 200 OK\r\n\r\nsome"), State::NeedMore);
  EXPECT_EQ(reply.feed(" more"), State::NeedMore);
  EXPECT_EQ(reply.endOfStream(), State::Done);
  EXPECT_EQ(reply.body(), "some more");
}

TEST(HttpReply, PassesOverAnInterimAnswer) {
  HttpReply reply;
  EXPECT_EQ(reply.feed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
            State::Done);
  EXPECT_EQ(reply.status(), 404);
}

TEST(HttpReply, HasNoBodyWith204) {
  HttpReply reply;
  EXPECT_EQ(reply.feed("HTTP/1.1 204 No Content\r\n\r\n"), State::Done);
}

TEST(HttpReply, CallsAnEndInsideTheAnswerAFault) {
  for (std::size_t cut = 0; cut < kSized.size(); ++cut) {
    HttpReply reply;
    reply.feed(kSized.substr(0, cut));
    EXPECT_EQ(reply.endOfStream(), State::Bad) << cut;
  }
}

TEST(HttpReply, CallsBytesBehindTheAnswerAFault) {
  HttpReply reply;
  EXPECT_EQ(reply.feed(std::string(kSized) + "x"), State::Bad);
  HttpReply later;
  later.feed(kSized);
  EXPECT_EQ(later.feed("x"), State::Bad);
}

class BadReply : public testing::TestWithParam<std::string> {};

TEST_P(BadReply, IsAFault) {
  HttpReply reply;
  EXPECT_EQ(reply.feed(GetParam()), State::Bad) << reply.status();
  EXPECT_FALSE(reply.fault().empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadReply,
    testing::Values("HTTP/2 200 OK\r\n\r\n", "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
                    "HTTP/1.1 999 No\r\n\r\n", "HTTP/1.1 2000\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\n", "HTTP/1.1 200 OK\r\n folded: 1\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd", std::string(20000, 'x'),
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(300, '1')));

}  // namespace
}  // namespace sluice
