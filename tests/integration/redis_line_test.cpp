// The Redis client over a line that breaks: cut, stalled, one-way, slow, in pieces. What it answers tells
// whether the command may have run, and it answers by the deadline.
#include <gtest/gtest.h>

#include "sluice/redis.h"

#include "support/effort.h"
#include "support/fault_proxy.h"
#include "support/private_redis.h"

namespace sluice::test {
namespace {

class RedisLine : public testing::Test {
 protected:
  RedisLine() {
    target_.port = proxy_.port();
    connection_ = connected();
  }
  [[nodiscard]] std::unique_ptr<RedisConnection> connected() const {
    auto made = RedisConnection::connect(target_, inTime());
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(made).take();
  }
  [[nodiscard]] static Deadline inTime() { return Deadline::in(scaled(milliseconds(20000))); }
  [[nodiscard]] static Deadline shortly() { return Deadline::in(milliseconds(200)); }

  PrivateRedis redis_{{}, RedisListens::OnAPortToo};
  FaultProxy proxy_{{"", redis_.port()}};
  RedisTarget target_;
  std::unique_ptr<RedisConnection> connection_;
};

TEST_F(RedisLine, InPiecesOfOneByteEveryReplyIsWhole) {
  proxy_.slice(Way::ToServer, 1);
  proxy_.slice(Way::ToClient, 1);
  for (const char* value : {"", "a", "\r\n$5\r\nhello", "twenty bytes of text"}) {
    ASSERT_TRUE(connection_->call({"SET", "key", value}, inTime()).ok());
    const auto reply = connection_->call({"GET", "key"}, inTime());
    ASSERT_TRUE(reply.ok()) << reply.error().text;
    EXPECT_EQ(reply.value().value().text(), value);
  }
  EXPECT_GT(proxy_.pieces(Way::ToClient), 20U);
}

TEST_F(RedisLine, CutWithinTheCommandOrTheReplyIsUnknown) {
  proxy_.cutAfter(Way::ToServer, 10);
  const auto halfAsked = connection_->call({"INCR", "counter"}, inTime());
  ASSERT_FALSE(halfAsked.ok());
  EXPECT_EQ(halfAsked.error().code, ErrorCode::OutcomeUnknown);
  EXPECT_TRUE(connection_->broken());
  EXPECT_FALSE(redis_.command({"GET", "counter"}).value().isText()) << "half a command is none";

  const auto again = connected();
  proxy_.cutAfter(Way::ToClient, 1, Ending::Reset);
  const auto halfAnswered = again->call({"INCR", "counter"}, inTime());
  ASSERT_FALSE(halfAnswered.ok());
  EXPECT_EQ(halfAnswered.error().code, ErrorCode::OutcomeUnknown);
  EXPECT_EQ(redis_.number({"GET", "counter"}), 1);
}

TEST_F(RedisLine, StalledOrOneWayItIsUnknownByTheDeadlineAndTheConnectionIsGivenUp) {
  proxy_.drop(Way::ToClient);
  const auto unanswered = connection_->call({"INCR", "counter"}, shortly());
  ASSERT_FALSE(unanswered.ok());
  EXPECT_EQ(unanswered.error().code, ErrorCode::OutcomeUnknown);
  EXPECT_EQ(redis_.number({"GET", "counter"}), 1) << "it ran";
  proxy_.pass();
  const auto again = connected();
  proxy_.stall();
  const auto stalled = again->call({"INCR", "counter"}, shortly());
  ASSERT_FALSE(stalled.ok());
  EXPECT_EQ(stalled.error().code, ErrorCode::OutcomeUnknown);
  EXPECT_TRUE(again->broken());
  const auto half = RedisConnection::connect(target_, shortly());
  EXPECT_FALSE(half.ok() && half.value()->call({"PING"}, shortly()).ok());
}

TEST_F(RedisLine, ASlowLineIsJustSlow) {
  proxy_.delay(Way::ToClient, milliseconds(50));
  const SteadyTime before = std::chrono::steady_clock::now();
  EXPECT_TRUE(connection_->call({"PING"}, inTime()).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(50));
}

TEST_F(RedisLine, RefusedAndCutAPoolIsUsedAgainOnceTheLineIsWhole) {
  RedisPool pool(target_, 2, systemRandom());
  ASSERT_TRUE(pool.acquire(inTime()).ok());
  proxy_.refuse();
  proxy_.cut(Ending::Reset);
  const auto away = pool.acquire(shortly());
  ASSERT_FALSE(away.ok());
  EXPECT_EQ(away.error().code, ErrorCode::Unavailable);
  proxy_.pass();
  bool answered = false;
  for (const Deadline end = inTime(); !answered && !end.passed();) {
    const auto lease = pool.acquire(inTime());
    answered = lease.ok() && (*lease.value()).call({"PING"}, inTime()).ok();
  }
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace sluice::test
