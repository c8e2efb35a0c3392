// Many connections and the end of the server, on every front.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "cli/storm.h"
#include "http/http_site.h"

namespace sluice::test {
namespace {

class Crowd : public ::testing::TestWithParam<std::string> {};

TEST_P(Crowd, OfFiveThousandAtOneInstantIsAnsweredWhole) {
  server::FrontOptions options;  // as the program has them
  options.port = 0;
  HttpSite site(GetParam(), options);
  raiseDescriptorLimit();
  constexpr std::size_t kClients = 5000;
  StormPlan plan;
  plan.port = site.port();
  for (std::size_t user = 1; user <= kClients; ++user) {
    plan.requests.push_back(
        site.orderText(static_cast<std::int64_t>(user), R"({"quantity":1})", "Connection: close\r\n"));
  }
  const std::atomic<bool> cancelled{false};
  const auto report = runStorm(plan, cancelled, {});
  ASSERT_TRUE(report.ok()) << report.error().text;
  EXPECT_EQ(report.value().connectionErrors, 0u);
  std::size_t admitted = 0;
  for (const StormAnswer& answer : report.value().answers) {
    ASSERT_EQ(answer.fault, StormFault::None) << stormFaultName(answer.fault);
    ASSERT_TRUE(answer.status == 202 || answer.status == 409) << answer.status;
    admitted += answer.status == 202 ? 1 : 0;
  }
  EXPECT_EQ(admitted, 10u);
  EXPECT_EQ(site.engine.asked(), kClients);
}

TEST_P(Crowd, OfSilentConnectionsKeepsNobodyOut) {
  server::FrontOptions options = siteOptions();
  options.threads = 4;
  HttpSite site(GetParam(), options);
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int k = 0; k < 200; ++k)
    silent.push_back(std::make_unique<RawConnection>(site.port()));
  EXPECT_EQ(http(site.port(), "GET", "/healthz", {}, {}, milliseconds(2000)).status, 200);
  // Each of them may still speak.
  for (const auto& connection : silent)
    ASSERT_TRUE(connection->send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  for (const auto& connection : silent)
    EXPECT_EQ(connection->receive().status, 200);
}

TEST_P(Crowd, OfIdleConnectionsMakesRoomForOthers) {
  server::FrontOptions options = siteOptions();
  options.threads = 4;
  options.keepAlive = milliseconds(60000);
  HttpSite site(GetParam(), options);
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int k = 0; k < 12; ++k) {
    idle.push_back(std::make_unique<RawConnection>(site.port()));
    ASSERT_TRUE(idle.back()->send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_EQ(idle.back()->receive().status, 200) << k;
  }
}

TEST_P(Crowd, OfBusyConnectionsSharesTheThreads) {
  server::FrontOptions options = siteOptions();
  options.threads = 2;
  HttpSite site(GetParam(), options);
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int k = 0; k < 4; ++k) {
    busy.emplace_back([&] {
      while (!stop) {
        RawConnection connection(site.port());
        // As long as the server lets us keep it.
        while (!stop && connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")) {
          const HttpReply reply = connection.receive();
          if (reply.status != 200 || reply.headers.at("connection") == "close") break;
        }
      }
    });
  }
  for (int k = 0; k < 50; ++k)
    EXPECT_EQ(site.get("/healthz").status, 200);
  stop = true;
  for (std::thread& thread : busy)
    thread.join();
}

INSTANTIATE_TEST_SUITE_P(Fronts, Crowd, ::testing::ValuesIn(frontNames()));

class Stop : public ::testing::TestWithParam<std::string> {};

TEST_P(Stop, FinishesWhatIsBeingAnsweredAndLetsNobodyElseIn) {
  HttpSite site(GetParam());
  std::promise<void> begun;
  std::promise<void> goOn;
  std::shared_future<void> gate = goOn.get_future().share();
  site.engine.answerWith([&, gate](const OrderRequest&) {
    begun.set_value();
    gate.wait();
    return OrderAnswer{Verdict::Admitted, OrderId(5), true};
  });
  RawConnection slow(site.port());
  ASSERT_TRUE(slow.send(site.orderText(7)));
  begun.get_future().wait();
  RawConnection idle(site.port());
  ASSERT_TRUE(idle.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_EQ(idle.receive().status, 200);
  std::thread stopping([&] { site.front->stop(Deadline::in(milliseconds(10000))); });
  EXPECT_TRUE(idle.closedWithin(milliseconds(5000)));
  goOn.set_value();
  const HttpReply reply = slow.receive();
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.headers.at("connection"), "close");
  stopping.join();
  EXPECT_EQ(site.get("/healthz").status, 0);
  EXPECT_EQ(site.front->stats().connections, 0);
  site.front->stop(Deadline::in(milliseconds(0)));
}

TEST_P(Stop, WithoutAStartIsFine) {
  Fakes fakes;
  FakeEngine engine(fakes);
  server::Service service(engine, fakes.parts(), serviceOptions(), server::makeHeaderAuth());
  const auto front = makeFront(GetParam(), siteOptions(), service, noLog());
  ASSERT_TRUE(front->open().ok());
  front->stop(Deadline::in(milliseconds(100)));
}

TEST_P(Stop, ATakenPortIsAnErrorForPeople) {
  HttpSite site(GetParam());
  server::FrontOptions options = siteOptions();
  options.port = site.port();
  const auto second = makeFront(GetParam(), options, site.service, noLog());
  const Status opened = second->open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::Misconfigured);
  EXPECT_NE(opened.error().text.find(std::to_string(site.port())), std::string::npos);
  EXPECT_EQ(site.get("/healthz").status, 200);
}

INSTANTIATE_TEST_SUITE_P(Fronts, Stop, ::testing::ValuesIn(frontNames()));

}  // namespace
}  // namespace sluice::test
