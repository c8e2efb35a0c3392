// The server as a process: what it says when it is up, how it ends, and when it refuses to start.
#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/server_process.h"

namespace sluice::test {
namespace {

TEST(Serve, TakesAnOrderToItsRowAndStopsInOrder) {
  ServerProcess server;
  server.start();
  server.createVoucher(1, 5);
  ASSERT_TRUE(
      ServerProcess::eventually(milliseconds(10000), [&] { return server.get("/readyz").status == 200; }));
  HttpReply reply;
  ASSERT_TRUE(ServerProcess::eventually(milliseconds(10000), [&] {
    reply = server.order(1, 7);
    return reply.status != 404;
  }));
  ASSERT_EQ(reply.status, 202) << reply.body;
  const std::string address = reply.headers.at("location");
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(10000), [&] {
    return jsonMember(server.get(address, {{"X-User-Id", "7"}}).body, "status") == "pending_payment";
  }));
  EXPECT_EQ(jsonMember(server.admin("GET", "/admin/v1/audit").body, "clean"), "true");
  EXPECT_EQ(server.terminate(), 0);
  EXPECT_NE(server.log().find("stopped"), std::string::npos);
}

TEST(Serve, AnswersEveryOrderThatItTookWhileItStops) {
  ServerProcess server;
  server.start();
  server.createVoucher(1, 100000);
  ASSERT_TRUE(
      ServerProcess::eventually(milliseconds(10000), [&] { return server.order(1, 1).status == 202; }));
  // Each client sends on one connection until the server says that it closes; a request that was sent whole
  // has an answer.
  std::atomic<int> answered{0};
  std::atomic<int> lost{0};
  std::vector<std::thread> clients;
  for (int client = 1; client <= 4; ++client) {
    clients.emplace_back([&, client] {
      RawConnection connection(server.port());
      for (int k = 0;; ++k) {
        const std::string user = std::to_string(client * 1000000 + k);
        const std::string request =
            "POST /api/v1/vouchers/1/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-User-Id: " + user +
            "\r\n\r\n";
        if (!connection.send(request)) return;
        const HttpReply reply = connection.receive();
        reply.status == 0 ? ++lost : ++answered;
        if (reply.status == 0 || reply.headers.at("connection") == "close") return;
      }
    });
  }
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(10000), [&] { return answered > 50; }));
  EXPECT_EQ(server.terminate(), 0);
  for (std::thread& client : clients)
    client.join();
  EXPECT_EQ(lost, 0);
}

TEST(Serve, PrefersTheGivenTokenAndNeverWritesItDown) {
  ServerProcess server({{"redis.embedded", "true"}, {"admin.token.generate", "true"}});
  const std::string file = server.folder() + "/data/admin.token";
  server.start();
  // The environment gives a token here, so none is generated.
  struct stat facts {};
  EXPECT_NE(::stat(file.c_str(), &facts), 0);
  EXPECT_EQ(server.admin("GET", "/admin/v1/vouchers").status, 200);
  EXPECT_EQ(server.log().find("0123456789abcdef0123456789abcdef"), std::string::npos);
  EXPECT_EQ(server.terminate(), 0);
}

TEST(Serve, RefusesAPortThatIsTaken) {
  ServerProcess first;
  first.start();
  const ServerProcess second;
  const ServerProcess::CommandResult result =
      second.command({"--set", "http.port=" + std::to_string(first.port()), "serve"});
  EXPECT_EQ(result.exitCode, 2) << result.output;
  EXPECT_NE(result.output.find("http.port"), std::string::npos) << result.output;
  EXPECT_EQ(first.get("/healthz").status, 200);
}

TEST(Serve, SaysWhatIsLostWithoutAJournal) {
  ServerProcess server({{"redis.embedded", "true"}, {"queue", "inproc"}, {"journal", "off"}});
  server.start();
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(5000), [&] {
    return server.log().find("journal = off") != std::string::npos;
  })) << server.log();
  EXPECT_EQ(server.terminate(), 0);
}

}  // namespace
}  // namespace sluice::test
