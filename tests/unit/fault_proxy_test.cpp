// FaultProxy: each way of breaking a line, against a small server that sends back what it gets.
#include "support/fault_proxy.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/temp_folder.h"

namespace sluice::test {
namespace {

constexpr milliseconds kLong{20000};  // for what must happen
constexpr milliseconds kShort{150};   // for what must not

template <typename Address>
int listenOn(const Address& address) {
  const int made =
      ::socket(reinterpret_cast<const sockaddr*>(&address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
      << std::strerror(errno);
  EXPECT_EQ(::listen(made, 64), 0);
  return made;
}

// Sends back what it gets, one thread a connection, and ends a connection when its client does.
class EchoServer {
 public:
  EchoServer() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener_ = listenOn(address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    where_.port = ntohs(address.sin_port);
    thread_ = std::thread([this] { acceptAll(); });
  }
  explicit EchoServer(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    listener_ = listenOn(address);
    where_.socketPath = path;
    thread_ = std::thread([this] { acceptAll(); });
  }
  ~EchoServer() {
    ending_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  [[nodiscard]] const ProxiedServer& where() const { return where_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void acceptAll() {
    std::vector<std::thread> threads;
    while (true) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) break;
      threads.emplace_back([this, client] { echo(client); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  void echo(int client) {
    std::vector<char> buffer(65536);
    while (!ending_) {
      pollfd watched{client, POLLIN, 0};
      if (::poll(&watched, 1, 20) == 0) continue;
      const auto got = ::recv(client, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      bytes_ += static_cast<std::uint64_t>(got);
      if (!sendAll(client, buffer.data(), static_cast<std::size_t>(got))) break;
    }
    ::close(client);
  }
  bool sendAll(int client, const char* from, std::size_t size) {
    while (size > 0 && !ending_) {
      pollfd watched{client, POLLOUT, 0};
      if (::poll(&watched, 1, 20) == 0) continue;
      const auto sent = ::send(client, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent < 0) continue;
      from += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  ProxiedServer where_;
  int listener_ = -1;
  std::atomic<bool> ending_{false};
  std::atomic<std::uint64_t> bytes_{0};
  std::thread thread_;
};

class Client {
 public:
  explicit Client(const FaultProxy& proxy) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(proxy.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connectError_ =
        ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] int connectError() const { return connectError_; }
  void send(const std::string& text) const {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // What the socket takes without waiting.
  [[nodiscard]] std::size_t pour(const std::string& text) const {
    const auto sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  void sayEnd() const { ::shutdown(socket_, SHUT_WR); }
  // Up to `size` bytes; fewer where the time is over or the line has ended.
  [[nodiscard]] std::string receive(std::size_t size, milliseconds wait = kLong) {
    std::string all;
    const Deadline deadline = Deadline::in(wait);
    while (all.size() < size && !over_) {
      pollfd watched{socket_, POLLIN, 0};
      if (::poll(&watched, 1, static_cast<int>(deadline.remaining().count())) == 0) break;
      std::string part(size - all.size(), '\0');
      const auto got = ::recv(socket_, part.data(), part.size(), 0);
      if (got > 0) all.append(part, 0, static_cast<std::size_t>(got));
      if (got == 0) over_ = 0;
      if (got < 0) over_ = errno;
    }
    return all;
  }
  // 0 closed, an errno (ECONNRESET), or -1: it goes on.
  [[nodiscard]] int ending(milliseconds wait = kLong) {
    (void)receive(1, wait);
    return over_.value_or(-1);
  }

 private:
  int socket_;
  int connectError_;
  std::optional<int> over_;
};

class FaultProxyTest : public testing::Test {
 protected:
  [[nodiscard]] static std::string ask(Client& client, const std::string& text, milliseconds wait = kLong) {
    client.send(text);
    return client.receive(text.size(), wait);
  }
  template <typename Done>
  [[nodiscard]] static bool eventually(Done done) {
    const Deadline deadline = Deadline::in(kLong);
    while (!done() && !deadline.passed()) {
      std::this_thread::sleep_for(milliseconds(2));
    }
    return done();
  }
  EchoServer server_;
  FaultProxy proxy_{server_.where()};
};

TEST_F(FaultProxyTest, PassesEveryByteBothWaysAndCountsThem) {
  Client client(proxy_);
  EXPECT_EQ(ask(client, "hello"), "hello");
  std::string much;
  for (int k = 0; k < 200000; ++k) {
    much += static_cast<char>(k * 7);
  }
  EXPECT_EQ(ask(client, much), much);
  EXPECT_EQ(proxy_.bytes(Way::ToServer), much.size() + 5);
  EXPECT_EQ(proxy_.bytes(Way::ToClient), much.size() + 5);
  EXPECT_EQ(proxy_.connections(), 1U);
  EXPECT_EQ(proxy_.lines(), 1U);
}

TEST_F(FaultProxyTest, TheEndOfOneSideReachesTheOtherAndTheLineIsForgotten) {
  Client client(proxy_);
  client.send("last words");
  client.sayEnd();
  EXPECT_EQ(client.receive(10), "last words");
  EXPECT_EQ(client.ending(), 0);
  EXPECT_TRUE(eventually([&] { return proxy_.lines() == 0; }));
}

TEST_F(FaultProxyTest, RefusesNewConnectionsAndLeavesThoseThereAlone) {
  Client before(proxy_);
  EXPECT_EQ(ask(before, "a"), "a");
  proxy_.refuse();
  const Client refused(proxy_);
  EXPECT_EQ(refused.connectError(), ECONNREFUSED);
  EXPECT_EQ(ask(before, "b"), "b");
  proxy_.pass();
  Client after(proxy_);
  EXPECT_EQ(ask(after, "c"), "c");
}

TEST_F(FaultProxyTest, CutsWhatIsThereAndServesWhoComesAgain) {
  Client closed(proxy_);
  EXPECT_EQ(ask(closed, "a"), "a");
  proxy_.cut();
  EXPECT_EQ(closed.ending(), 0);
  Client reset(proxy_);
  EXPECT_EQ(ask(reset, "b"), "b");
  proxy_.cut(Ending::Reset);
  EXPECT_EQ(reset.ending(), ECONNRESET);
  Client again(proxy_);
  EXPECT_EQ(ask(again, "c"), "c");
  EXPECT_EQ(proxy_.connections(), 3U);
}

TEST_F(FaultProxyTest, StalledNothingMovesAndNothingIsLost) {
  Client client(proxy_);
  EXPECT_EQ(ask(client, "a"), "a");
  proxy_.stall();
  EXPECT_EQ(ask(client, "later", kShort), "");
  EXPECT_EQ(server_.bytes(), 1U);
  Client other(proxy_);
  EXPECT_EQ(other.connectError(), 0) << "half open: the connection is made";
  other.send("me too");
  EXPECT_EQ(other.ending(kShort), -1);
  proxy_.pass();
  EXPECT_EQ(client.receive(5), "later");
  EXPECT_EQ(other.receive(6), "me too");
}

TEST_F(FaultProxyTest, AStalledLineHoldsABoundedAmountAndNoEndPasses) {
  Client client(proxy_);
  EXPECT_EQ(ask(client, "a"), "a");
  proxy_.stall(Way::ToServer);
  const std::string megabyte(1 << 20, 'x');
  std::size_t taken = 0;
  for (std::size_t more = 1; more > 0; taken += more) {
    more = client.pour(megabyte);
    ASSERT_LT(taken, 100U << 20) << "buffers of the system, and no more";
  }
  client.sayEnd();
  EXPECT_EQ(client.ending(kShort), -1);
  EXPECT_EQ(server_.bytes(), 1U);
  proxy_.pass();
  EXPECT_EQ(client.receive(taken).size(), taken);
  EXPECT_EQ(client.ending(), 0);
}

TEST_F(FaultProxyTest, DropsOneWayWhileTheOtherPasses) {
  Client client(proxy_);
  proxy_.drop(Way::ToServer);
  EXPECT_EQ(ask(client, "never", kShort), "");
  EXPECT_TRUE(eventually([&] { return proxy_.dropped(Way::ToServer) == 5; }));
  EXPECT_EQ(server_.bytes(), 0U);
  proxy_.pass();
  EXPECT_EQ(ask(client, "but this"), "but this");
  proxy_.drop(Way::ToClient);
  EXPECT_EQ(ask(client, "answer lost", kShort), "");
  EXPECT_TRUE(eventually([&] { return proxy_.dropped(Way::ToClient) == 11; }));
  EXPECT_EQ(server_.bytes(), 8U + 11U) << "the question arrived";
  proxy_.pass();
  EXPECT_EQ(ask(client, "c"), "c");
}

TEST_F(FaultProxyTest, DelaysWithoutChangingTheOrder) {
  Client client(proxy_);
  proxy_.delay(Way::ToServer, milliseconds(60));
  proxy_.delay(Way::ToClient, milliseconds(60));
  const SteadyTime before = std::chrono::steady_clock::now();
  client.send("one ");
  client.send("two ");
  client.send("three");
  EXPECT_EQ(client.receive(13), "one two three");
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(120));
}

TEST_F(FaultProxyTest, SlicesIntoPiecesOfTheSizeAskedFor) {
  Client client(proxy_);
  proxy_.slice(Way::ToServer, 3);
  proxy_.slice(Way::ToClient, 1);
  EXPECT_EQ(ask(client, "ten bytes."), "ten bytes.");
  EXPECT_GE(proxy_.pieces(Way::ToServer), 4U);
  EXPECT_EQ(proxy_.pieces(Way::ToClient), 10U);
}

TEST_F(FaultProxyTest, CutsAfterExactlySoManyBytes) {
  Client client(proxy_);
  Client bystander(proxy_);
  EXPECT_EQ(ask(client, "whole"), "whole");
  proxy_.cutAfter(Way::ToClient, 7);
  client.send("this is too long");
  EXPECT_EQ(client.receive(100), "this is");
  EXPECT_EQ(client.ending(), 0);
  EXPECT_EQ(bystander.ending(), 0) << "the network is cut, not one line";
  Client again(proxy_);
  EXPECT_EQ(ask(again, "this is whole again"), "this is whole again");
  proxy_.cutAfter(Way::ToServer, 4, Ending::Reset);
  const std::uint64_t before = server_.bytes();
  again.send("half of it");
  EXPECT_EQ(again.ending(), ECONNRESET);
  EXPECT_LE(server_.bytes(), before + 4);
  EXPECT_EQ(proxy_.cuts(), 2U);
}

TEST_F(FaultProxyTest, ReachesAServerOnAUnixSocket) {
  const TempFolder folder;
  const EchoServer server(folder.file("echo.sock"));
  FaultProxy proxy(server.where());
  Client client(proxy);
  EXPECT_EQ(ask(client, "hello"), "hello");
  proxy.cut(Ending::Reset);
  EXPECT_EQ(client.ending(), ECONNRESET);
}

TEST_F(FaultProxyTest, AServerThatIsAwayEndsTheConnectionAtOnce) {
  const TempFolder folder;
  const FaultProxy proxy({folder.file("nobody.sock"), 0});
  Client client(proxy);
  EXPECT_EQ(client.ending(), ECONNRESET);
  EXPECT_EQ(proxy.connections(), 1U);
}

TEST_F(FaultProxyTest, EndsWithItsObjectWhateverItsLinesAreDoing) {
  auto proxy = std::make_unique<FaultProxy>(server_.where());
  Client client(*proxy);
  proxy->delay(Way::ToClient, kLong);
  client.send("slow");
  EXPECT_TRUE(eventually([&] { return server_.bytes() == 4; }));
  Client stalled(*proxy);
  proxy->stall(Way::ToServer);
  stalled.send("stuck");
  proxy.reset();
  EXPECT_NE(client.ending(), -1);
  EXPECT_NE(stalled.ending(), -1);
}

TEST_F(FaultProxyTest, IsSwitchedByOneWhileOthersTalk) {
  std::atomic<bool> done{false};
  std::atomic<int> answered{0};
  std::vector<std::thread> talkers;
  for (int k = 0; k < 4; ++k) {
    talkers.emplace_back([&] {
      while (!done) {
        Client client(proxy_);
        const std::string text(3000, 'x');
        (void)client.pour(text);
        answered += client.receive(text.size(), milliseconds(20)) == text ? 1 : 0;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    proxy_.slice(Way::ToClient, 700);
    proxy_.delay(Way::ToServer, milliseconds(1));
    proxy_.cutAfter(Way::ToClient, 10000, Ending::Reset);
    std::this_thread::sleep_for(milliseconds(4));
    proxy_.stall();
    proxy_.cut();
    proxy_.refuse();
    proxy_.drop(Way::ToClient);
    proxy_.pass();
  }
  EXPECT_TRUE(eventually([&] { return answered > 0; }));
  done = true;
  for (std::thread& talker : talkers) {
    talker.join();
  }
}

}  // namespace
}  // namespace sluice::test
