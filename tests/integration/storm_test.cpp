// The storm client against a small server that answers, refuses, cuts off and stays silent as told.
#include "cli/storm.h"

#include <mutex>
#include <set>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice {
namespace {

constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string request(std::size_t number) {
  return "GET /" + std::to_string(number) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

// Accepts everything, and handles each connection in a thread of its own once its request came.
class Server {
 public:
  using Behaviour = std::function<void(int socket, const std::string& request)>;

  explicit Server(Behaviour behaviour)
      : behaviour_(std::move(behaviour)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1024), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (std::thread& handler : handlers_) {
      handler.join();
    }
    ::close(listener_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void run() {
    for (int socket = 0; (socket = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      handlers_.emplace_back([this, socket] {
        std::string received(4096, '\0');
        const auto count = ::recv(socket, received.data(), received.size(), 0);
        if (count > 0) {
          received.resize(static_cast<std::size_t>(count));
          behaviour_(socket, received);
        }
        ::close(socket);
      });
    }
  }

  Behaviour behaviour_;
  int listener_;
  std::uint16_t port_ = 0;
  std::vector<std::thread> handlers_;
  std::thread thread_;
};

void answer(int socket, std::string_view text) {
  EXPECT_GE(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), 0);
}

StormPlan planFor(std::uint16_t port, std::size_t requests) {
  StormPlan plan;
  plan.port = port;
  for (std::size_t number = 0; number < requests; ++number) {
    plan.requests.push_back(request(number));
  }
  return plan;
}

Result<StormReport> run(const StormPlan& plan) {
  const std::atomic<bool> cancelled{false};
  return runStorm(plan, cancelled, {});
}

TEST(Storm, AsksEachRequestOnceAndReadsEveryAnswer) {
  std::mutex mutex;
  std::multiset<std::string> seen;
  Server server([&](int socket, const std::string& received) {
    {
      const std::lock_guard lock(mutex);
      seen.insert(received);
    }
    answer(socket, kAnswer);
  });
  const StormPlan plan = planFor(server.port(), 200);
  const Result<StormReport> report = run(plan);
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report.value().connectionErrors, 0u);
  ASSERT_EQ(report.value().answers.size(), 200u);
  for (const StormAnswer& one : report.value().answers) {
    EXPECT_EQ(one.fault, StormFault::None);
    EXPECT_EQ(one.status, 200);
    EXPECT_EQ(one.body, "ok");
    EXPECT_GT(one.latency.count(), 0);
    EXPECT_LE(one.latency, report.value().answering);
  }
  EXPECT_EQ(seen, std::multiset<std::string>(plan.requests.begin(), plan.requests.end()));
}

TEST(Storm, CountsConnectionsThatEndInsideTheAnswer) {
  Server server([](int socket, const std::string& received) {
    answer(socket, received.starts_with("GET /3 ") ? kAnswer.substr(0, 20) : kAnswer);
  });
  const Result<StormReport> report = run(planFor(server.port(), 10));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report.value().answers[3].fault, StormFault::Broken);
  EXPECT_EQ(report.value().connectionErrors, 1u);
  EXPECT_EQ(report.value().answers[4].fault, StormFault::None);
}

TEST(Storm, CallsAnAnswerThatIsNotHttpMalformed) {
  Server server([](int socket, const std::string&) { answer(socket, "SSH-2.0-nothing\r\n\r\n"); });
  const Result<StormReport> report = run(planFor(server.port(), 1));
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report.value().answers[0].fault, StormFault::Malformed);
}

TEST(Storm, GivesUpWhereNobodyAnswers) {
  Server server([](int socket, const std::string&) {
    std::array<char, 16> byte{};
    while (::recv(socket, byte.data(), byte.size(), 0) > 0) {
    }
  });
  StormPlan plan = planFor(server.port(), 3);
  plan.answerWithin = milliseconds(100);
  const Result<StormReport> report = run(plan);
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report.value().answers[0].fault, StormFault::TimedOut);
}

TEST(Storm, RetriesARefusedConnectAndCountsEachAttempt) {
  std::uint16_t port = 0;
  {
    const Server gone([](int, const std::string&) {});
    port = gone.port();
  }
  StormPlan plan = planFor(port, 2);
  plan.connectAttempts = 3;
  const Result<StormReport> report = run(plan);
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report.value().connectionErrors, 6u);
  EXPECT_EQ(report.value().answers[0].fault, StormFault::NotConnected);
  EXPECT_EQ(report.value().answers[1].fault, StormFault::NotConnected);
}

TEST(Storm, SaysWhatThisMachineCannotCarry) {
  StormPlan plan = planFor(1, 1);
  plan.host = "localhost";
  EXPECT_EQ(run(plan).error().code, ErrorCode::Misconfigured);
  plan = planFor(1, raiseDescriptorLimit());
  const Result<StormReport> tooMany = run(plan);
  ASSERT_FALSE(tooMany);
  EXPECT_NE(tooMany.error().text.find("descriptors"), std::string::npos);
}

TEST(Storm, StopsWhereItIsCancelled) {
  std::atomic<bool> cancelled{true};
  EXPECT_EQ(runStorm(planFor(1, 1), cancelled, {}).error().code, ErrorCode::Stopped);
}

}  // namespace
}  // namespace sluice
