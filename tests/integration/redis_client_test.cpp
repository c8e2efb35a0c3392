// The Redis client and the embedded server against real servers: what works, what fails, and how the failure
// is named.
#include <csignal>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sluice/embedded_redis.h"
#include "sluice/limits.h"
#include "sluice/redis.h"

#include "support/manual_clock.h"
#include "support/private_redis.h"

namespace sluice {
namespace {

Deadline soon() { return Deadline::in(milliseconds(5000)); }

std::unique_ptr<RedisConnection> connected(const RedisTarget& target) {
  auto connection = RedisConnection::connect(target, soon());
  if (!connection) throw std::runtime_error(connection.error().text);
  return std::move(connection).take();
}

TEST(RedisConnection, CarriesAnyBytes) {
  test::PrivateRedis redis;
  auto connection = connected(redis.target());
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  ASSERT_TRUE(connection->call({"SET", all, all}, soon()).ok());
  auto reply = connection->call({"GET", all}, soon());
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply.value().value().text(), all);
}

TEST(RedisConnection, KeepsErrorRepliesInTheirPlaceInAPipeline) {
  test::PrivateRedis redis;
  auto connection = connected(redis.target());
  const std::vector<RedisArgs> commands = {{"SET", "a", "text"}, {"INCR", "a"}, {"GET", "a"}};
  auto replies = connection->pipeline(commands, soon());
  ASSERT_TRUE(replies.ok());
  EXPECT_TRUE(replies.value()[1].value().isError());
  EXPECT_EQ(replies.value()[2].value().text(), "text");
  EXPECT_FALSE(connection->broken());
}

TEST(RedisConnection, LoadsAScriptThatRedisDoesNotHave) {
  test::PrivateRedis redis;
  auto connection = connected(redis.target());
  const RedisScript script("echo", "return ARGV[1]");
  const std::vector<std::string_view> args = {"hello"};
  for (int round = 0; round < 3; ++round) {
    auto reply = connection->eval(script, {}, args, soon());
    ASSERT_TRUE(reply.ok()) << reply.error().text;
    EXPECT_EQ(reply.value().value().text(), "hello");
    redis.command({"SCRIPT", "FLUSH"});
  }
}

TEST(RedisConnection, EntersWithPasswordAndNamesAWrongOne) {
  test::PrivateRedis redis;
  redis.command({"CONFIG", "SET", "requirepass", "right horse"});
  RedisTarget target = redis.target();
  auto refused = RedisConnection::connect(target, soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  target.password = "wrong horse";
  refused = RedisConnection::connect(target, soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  EXPECT_EQ(refused.error().text.find("horse"), std::string::npos) << refused.error().text;
  target.password = "right horse";
  target.database = 3;
  EXPECT_TRUE(RedisConnection::connect(target, soon()).ok());
}

TEST(RedisConnection, RefusesTlsWithTheReason) {
  RedisTarget target;
  target.tls = true;
  auto refused = RedisConnection::connect(target, soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  EXPECT_NE(refused.error().text.find("tunnel"), std::string::npos);
}

TEST(RedisConnection, SaysUnknownWhenAFrozenServerDoesNotAnswerByTheDeadline) {
  test::PrivateRedis redis;
  auto connection = connected(redis.target());
  redis.freeze();
  const auto began = std::chrono::steady_clock::now();
  auto reply = connection->call({"INCR", "n"}, Deadline::in(milliseconds(200)));
  const auto took = std::chrono::steady_clock::now() - began;
  redis.resume();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::OutcomeUnknown);
  EXPECT_TRUE(connection->broken());
  EXPECT_GE(took, milliseconds(200));
  // The late reply must never answer another question.
  EXPECT_EQ(connection->call({"GET", "n"}, soon()).error().code, ErrorCode::Unavailable);
}

TEST(RedisConnection, SaysUnavailableWhereNothingListens) {
  RedisTarget target;
  target.socketPath = "/tmp/sluice-nothing-listens-here.sock";
  auto refused = RedisConnection::connect(target, soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
}

TEST(RedisConnection, RefusesARequestThatAFrozenServerDoesNotTake) {
  test::PrivateRedis redis;
  auto connection = connected(redis.target());
  redis.freeze();
  const std::string big(64 * 1024 * 1024, 'x');  // more than any socket buffer
  auto reply = connection->call({"SET", "big", big}, Deadline::in(milliseconds(300)));
  redis.resume();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::OutcomeUnknown);  // a part of it has left
}

TEST(RedisConnection, IsInterruptedFromAnotherThread) {
  test::PrivateRedis redis;
  auto connection = connected(redis.target());
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(100));
    connection->interrupt();
  });
  auto reply = connection->call({"BLPOP", "nothing", "30"}, Deadline::in(milliseconds(30000)));
  other.join();
  EXPECT_FALSE(reply.ok());
  EXPECT_TRUE(connection->broken());
}

// A listener that says whatever a test wants, for replies no honest server gives.
class Impostor {
 public:
  explicit Impostor(std::string answer)
      : path_(folder_.file("s")), listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, 4) != 0) {
      throw std::runtime_error("impostor cannot listen");
    }
    thread_ = std::thread([this, answer = std::move(answer)] {
      const int peer = accept(listener_, nullptr, nullptr);
      char received[4096];
      if (read(peer, received, sizeof received) <= 0 || write(peer, "+OK\r\n", 5) != 5)
        ADD_FAILURE() << "hand-shake";
      if (read(peer, received, sizeof received) <= 0 ||
          write(peer, answer.data(), answer.size()) != static_cast<ssize_t>(answer.size())) {
        ADD_FAILURE() << "answer";
      }
      while (read(peer, received, sizeof received) > 0) {
      }
      close(peer);
    });
  }
  ~Impostor() {
    thread_.join();
    close(listener_);
  }
  RedisTarget target() const {
    RedisTarget target;
    target.socketPath = path_;
    return target;
  }

 private:
  test::TempFolder folder_;
  std::string path_;
  int listener_;
  std::thread thread_;
};

TEST(RedisConnection, RefusesRepliesNoHonestServerGives) {
  for (const std::string& answer :
       {"*" + std::to_string(limits::kRedisReplyElementsMax + 1) + "\r\n", std::string("*2147483647\r\n"),
        std::string("?what\r\n"), std::string("$-7\r\n")}) {
    const Impostor impostor(answer);
    auto connection = connected(impostor.target());
    auto reply = connection->call({"GET", "x"}, soon());
    ASSERT_FALSE(reply.ok()) << answer;
    EXPECT_EQ(reply.error().code, ErrorCode::Corrupt) << answer;
    EXPECT_TRUE(connection->broken());
  }
}

TEST(RedisErrors, AreNamedByWhatTheCallerShouldDo) {
  EXPECT_EQ(redisError("OOM command not allowed when used memory > 'maxmemory'.").code,
            ErrorCode::Unavailable);
  EXPECT_EQ(
      redisError("ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed").code,
      ErrorCode::Unavailable);
  EXPECT_EQ(redisError("NOPERM this user has no permissions").code, ErrorCode::Misconfigured);
  EXPECT_EQ(redisError("NOGROUP No such key").code, ErrorCode::NotFound);
  EXPECT_EQ(redisError("BUSYGROUP exists").code, ErrorCode::Conflict);
  EXPECT_EQ(redisError("WRONGTYPE Operation").code, ErrorCode::Corrupt);
  EXPECT_EQ(redisError("ERR unknown command").code, ErrorCode::Internal);
}

TEST(RedisPool, ReplacesConnectionsThatTheServerClosedWhileIdle) {
  test::PrivateRedis redis;
  test::SeededRandom random(1);
  RedisPool pool(redis.target(), 2, random);
  { ASSERT_TRUE(pool.acquire(soon()).ok()); }
  redis.command({"CLIENT", "KILL", "TYPE", "normal"});
  auto lease = pool.acquire(soon());
  ASSERT_TRUE(lease.ok());
  EXPECT_TRUE((*lease.value()).call({"PING"}, soon()).ok());
}

TEST(RedisPool, ComesBackAfterAKilledServerAndIsQuickToRefuseMeanwhile) {
  test::PrivateRedis redis;
  test::SeededRandom random(1);
  RedisPool pool(redis.target(), 2, random);
  { ASSERT_TRUE(pool.acquire(soon()).ok()); }
  redis.kill();
  for (int k = 0; k < 50; ++k) {
    EXPECT_FALSE(pool.acquire(soon()).ok());
  }
  redis.start();
  const Deadline deadline = Deadline::in(milliseconds(5000));
  bool back = false;
  while (!back && !deadline.passed()) {
    back = pool.acquire(soon()).ok();
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(back);
}

TEST(RedisPool, IsOverloadedWhenAllAreInUseAndStopsThoseWhoWait) {
  test::PrivateRedis redis;
  test::SeededRandom random(1);
  RedisPool pool(redis.target(), 1, random);
  auto held = pool.acquire(soon());
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(pool.acquire(Deadline::in(milliseconds(50))).error().code, ErrorCode::Overloaded);
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(50));
    pool.stop();
  });
  EXPECT_EQ(pool.acquire(Deadline::in(milliseconds(20000))).error().code, ErrorCode::Stopped);
  other.join();
  EXPECT_FALSE(held.value()->call({"PING"}, soon()).ok());
}

TEST(EmbeddedRedis, IsSharedByASecondUserAndEndsWithItsOwner) {
  test::TempFolder folder;
  const EmbeddedRedisOptions options{folder.path(), "everysec", false};
  RedisTarget target;
  target.socketPath = EmbeddedRedis::socketPath(folder.path());
  auto owner = EmbeddedRedis::start(options, noLog(), soon());
  ASSERT_TRUE(owner.ok()) << owner.error().text;
  EXPECT_GT(owner.value()->serverPid(), 0);
  ASSERT_TRUE(connected(target)->call({"SET", "kept", "yes"}, soon()).ok());
  {
    auto second = EmbeddedRedis::start(options, noLog(), soon());
    ASSERT_TRUE(second.ok()) << second.error().text;
    EXPECT_EQ(second.value()->serverPid(), 0);
  }
  EXPECT_TRUE(connected(target)->call({"PING"}, soon()).ok());
  std::move(owner).take().reset();
  EXPECT_FALSE(RedisConnection::connect(target, soon()).ok());
  auto again = EmbeddedRedis::start(options, noLog(), soon());
  ASSERT_TRUE(again.ok()) << again.error().text;
  EXPECT_EQ(connected(target)->call({"GET", "kept"}, soon()).value().value().text(), "yes");
}

TEST(EmbeddedRedis, IsStartedAgainWhenItDies) {
  test::TempFolder folder;
  auto owner = EmbeddedRedis::start({folder.path(), "everysec", true}, noLog(), soon());
  ASSERT_TRUE(owner.ok()) << owner.error().text;
  const int first = owner.value()->serverPid();
  ::kill(first, SIGKILL);
  const Deadline deadline = Deadline::in(milliseconds(10000));
  RedisTarget target;
  target.socketPath = EmbeddedRedis::socketPath(folder.path());
  bool back = false;
  while (!back && !deadline.passed()) {
    const int now = owner.value()->serverPid();
    back = now != first && now != 0 && RedisConnection::connect(target, soon()).ok();
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(back);
}

TEST(EmbeddedRedis, TakesOverWhenTheOwnerItWasAttachedToHasGone) {
  test::TempFolder folder;
  auto command = EmbeddedRedis::start({folder.path(), "everysec", false}, noLog(), soon());
  ASSERT_TRUE(command.ok());
  auto server = EmbeddedRedis::start({folder.path(), "everysec", true}, noLog(), soon());
  ASSERT_TRUE(server.ok());
  EXPECT_EQ(server.value()->serverPid(), 0);
  std::move(command).take().reset();
  const Deadline deadline = Deadline::in(milliseconds(10000));
  while (server.value()->serverPid() == 0 && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_GT(server.value()->serverPid(), 0);
}

TEST(EmbeddedRedis, NamesAFolderThatCannotBeUsed) {
  auto refused = EmbeddedRedis::start({"/proc/nowhere", "everysec", false}, noLog(), soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  refused = EmbeddedRedis::start({"/tmp/" + std::string(120, 'x'), "everysec", false}, noLog(), soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("107"), std::string::npos);
}

}  // namespace
}  // namespace sluice
