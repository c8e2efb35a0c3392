// Every file of config/: each starts, takes an order and stores it, as it stands.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/child_process.h"

#include "support/database_server.h"
#include "support/http_client.h"
#include "support/places.h"
#include "support/private_rabbitmq.h"
#include "support/program.h"
#include "support/server_process.h"
#include "support/temp_folder.h"

namespace sluice::test {
namespace {

const std::string kFolder = places::source() + "/config/";

std::string fileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A server with one of the files, or with several, the later over the earlier. Port and data folder are the
// test's own, and so is what is given as `sets`; everything else is the file's.
class ServerOfFile {
 public:
  explicit ServerOfFile(const std::vector<std::string>& names, const std::vector<std::string>& sets = {}) {
    for (const std::string& name : names) {
      globals_.insert(globals_.end(), {"-c", kFolder + name});
    }
    globals_.insert(globals_.end(), {"--set", "http.port=0", "--set", "data.dir=" + folder_.file("data")});
    for (const std::string& set : sets) {
      globals_.insert(globals_.end(), {"--set", set});
    }
    ChildOptions options;
    options.arguments = {places::binary()};
    options.arguments.insert(options.arguments.end(), globals_.begin(), globals_.end());
    options.arguments.emplace_back("serve");
    options.outputFile = folder_.file("server.log");
    auto started = ChildProcess::start(options);
    EXPECT_TRUE(started) << started.error().text;
    process_ = std::move(started).take();
    const std::string announcement = "ready on http://127.0.0.1:";
    const bool up = ServerProcess::eventually(milliseconds(60000),
                                              [&] { return log().find(announcement) != std::string::npos; });
    EXPECT_TRUE(up) << log();
    port_ =
        static_cast<std::uint16_t>(std::stoi(log().substr(log().find(announcement) + announcement.size())));
  }

  [[nodiscard]] ProgramResult command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), globals_.begin(), globals_.end());
    return runSluice(arguments);
  }
  [[nodiscard]] std::string log() const { return fileText(folder_.file("server.log")); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  int end() { return process_->end(milliseconds(30000)); }

 private:
  TempFolder folder_;
  std::vector<std::string> globals_;
  std::unique_ptr<ChildProcess> process_;
  std::uint16_t port_ = 0;
};

class ConfigFile : public testing::TestWithParam<std::string> {};

void expectAnOrderGoesThrough(ServerOfFile& server) {
  const ProgramResult created =
      server.command({"voucher", "create", "--title", "Test", "--stock", "3", "--load"});
  ASSERT_EQ(created.exitCode, 0) << created.err;
  HttpReply answer;
  // The server learns of a new voucher within a second.
  ASSERT_TRUE(ServerProcess::eventually(milliseconds(20000),
                                        [&] {
                                          answer = http(server.port(), "POST", "/api/v1/vouchers/1/orders",
                                                        {{"X-User-Id", "42"}}, R"({"quantity":1})");
                                          return answer.status == 202;
                                        }))
      << answer.status << answer.body;
  const std::string path = "/api/v1/orders/" + jsonMember(answer.body, "orderId") + "?voucher=1";
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(20000), [&] {
    return jsonMember(http(server.port(), "GET", path, {{"X-User-Id", "42"}}).body, "status") ==
           "pending_payment";
  })) << server.log();
  const ProgramResult audit = server.command({"audit"});
  EXPECT_EQ(audit.exitCode, 0) << audit.out << audit.err;
  EXPECT_EQ(server.end(), 0) << server.log();
}

TEST_P(ConfigFile, StartsAndCarriesAnOrderToItsEnd) {
  ServerOfFile server({GetParam()});
  expectAnOrderGoesThrough(server);
}

INSTANTIATE_TEST_SUITE_P(All, ConfigFile,
                         testing::Values("quickstart.properties", "step1-blocking-queue.properties",
                                         "step2-redis-stream.properties"));

TEST(ConfigFiles, Step3CarriesAnOrderOverABroker) {
  const PrivateRabbitmq broker;
  ServerOfFile server({"step3-rabbitmq.properties"},
                      {"queue.rabbitmq.port=" + std::to_string(broker.port())});
  expectAnOrderGoesThrough(server);
}

struct StoreFile {
  std::string store;
  DatabaseKind database;
  std::string setting;  // of the private server, which says what a commit means
  friend std::ostream& operator<<(std::ostream& out, const StoreFile& file) { return out << file.store; }
};

// The file of a store over a step, with a private server of that kind in the place of the usual one.
class StoreFiles : public testing::TestWithParam<StoreFile> {};

TEST_P(StoreFiles, GoOverAnyStep) {
  const DatabaseServer database(GetParam().database);
  database.createDatabase("sluice");
  std::vector<std::string> sets;
  for (const auto& [key, value] : database.database().storeOptions("sluice")) {
    sets.push_back("store." + GetParam().store + "." + key + "=" + value);
  }
  ServerOfFile server({"step2-redis-stream.properties", "store-" + GetParam().store + ".properties"}, sets);
  EXPECT_NE(server.log().find(GetParam().setting), std::string::npos) << server.log();
  expectAnOrderGoesThrough(server);
}

INSTANTIATE_TEST_SUITE_P(
    All, StoreFiles,
    testing::Values(StoreFile{"pg", DatabaseKind::Postgres, "fsync or full_page_writes is off"},
                    StoreFile{"mysql", DatabaseKind::Mariadb, "innodb_flush_log_at_trx_commit=2"}),
    [](const auto& file) { return file.param.store; });

TEST(ConfigFiles, AreAllSound) {
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const ProgramResult check = runSluice({"config", "check", "-c", entry.path().string()});
    EXPECT_EQ(check.exitCode, 0) << entry.path() << ": " << check.err;
  }
}

}  // namespace
}  // namespace sluice::test
