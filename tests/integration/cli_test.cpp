// The command line as people meet it: help, exit codes, messages that say what is right, and a clean end.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "sluice/child_process.h"

#include "support/http_client.h"
#include "support/places.h"
#include "support/private_redis.h"
#include "support/program.h"
#include "support/server_process.h"
#include "support/temp_folder.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Help : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<std::string> words(const std::string& line) {
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
  }
};

TEST_P(Help, SaysWhatTheCommandDoesWithAnExample) {
  std::vector<std::string> arguments = words(GetParam());
  arguments.emplace_back("--help");
  const ProgramResult help = runSluice(arguments);
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.out, HasSubstr("Usage: sluice " + GetParam()));
  EXPECT_THAT(help.out,
              HasSubstr("sluice " + (GetParam().empty() ? std::string("demo") : words(GetParam()).front())));
  EXPECT_THAT(help.err, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Commands, Help,
                         testing::Values("", "serve", "demo", "voucher", "voucher create", "voucher list",
                                         "voucher show", "voucher load", "voucher close", "voucher sync",
                                         "voucher update", "orders", "orders show", "orders cancel",
                                         "orders list", "dead", "dead list", "dead show", "dead replay",
                                         "dead drop", "audit", "config", "config check", "config show",
                                         "config reference", "plugins", "plugins list", "plugins describe"));

struct Bad {
  std::vector<std::string> arguments;
  std::string says;
};

class BadArguments : public testing::TestWithParam<Bad> {};

TEST_P(BadArguments, AreExplainedOnStandardErrorWithExitCode2) {
  const ProgramResult result = runSluice(GetParam().arguments);
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, StartsWith("sluice: "));
  EXPECT_THAT(result.err, HasSubstr(GetParam().says));
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadArguments,
    testing::Values(
        Bad{{}, "sluice --help"}, Bad{{"vocher"}, "did you mean voucher?"},
        Bad{{"voucher", "creat"}, "did you mean create?"},
        Bad{{"config", "check", "--est", "a=b"}, "did you mean --set?"},
        Bad{{"plugins", "describe"}, "name is required"},
        Bad{{"config", "check", "--set", "novalue"}, "key=value"},
        Bad{{"config", "check", "--set", "http.prot=1"}, "did you mean http.port?"},
        Bad{{"config", "check", "--set", "http.port=70000"}, "65535"},
        Bad{{"config", "check", "--set", "queue=streem"}, "stream"},
        Bad{{"config", "check", "-c", "/does/not/exist.properties"}, "/does/not/exist.properties"},
        Bad{{"config", "check", "--set", "admin.token=0123456789abcdef0123456789abcdef"}, "admin.token"},
        Bad{{"serve", "--role", "boss"}, "--role"},
        Bad{{"serve", "--set", "redis.embedded=maybe"}, "redis.embedded"},
        Bad{{"demo", "--users", "0"}, "--users"}, Bad{{"demo", "--repeat", "2"}, "--repeat"},
        Bad{{"demo", "-c", "x.properties"}, "--queue"}, Bad{{"orders", "show", "-5"}, "order"},
        Bad{{"orders", "show", "12x"}, "order id"}, Bad{{"orders", "list", "1", "--status", "payed"}, "paid"},
        Bad{{"voucher", "show", "0"}, "voucher id"},
        Bad{{"voucher", "create", "--title", "x", "--stock", "-1"}, "--stock"},
        Bad{{"voucher", "create", "--title", "x", "--stock", "1", "--begin", "tomorrow"},
            "2026-11-11T00:00:00Z"},
        Bad{{"voucher", "create", "--title", "x", "--stock", "1", "--begin", "+2h", "--end", "+1h"}, "end"},
        Bad{{"voucher", "create", "--title", "x", "--stock", "1", "--eligible-file", "/none"},
            "--eligible-file"}));

TEST(Cli, NamesEveryFaultOfAConfigurationAtOnce) {
  const ProgramResult result = runSluice({"config", "check", "--set", "http.prot=1", "--set", "role=boss"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("2 faults"));
  EXPECT_THAT(result.err, HasSubstr("http.prot"));
  EXPECT_THAT(result.err, HasSubstr("role"));
}

TEST(Cli, ReadsSluicePropertiesOfTheCurrentFolderWhereNoFileIsNamed) {
  const TempFolder folder;
  std::ofstream(folder.file("sluice.properties")) << "http.port = 8099\n";
  const ProgramResult show = runSluice({"config", "show", "--set", "http.backlog=77"}, folder.path());
  EXPECT_EQ(show.exitCode, 0) << show.err;
  EXPECT_THAT(show.out, testing::ContainsRegex("http.port +8099 +.*sluice.properties"));
  EXPECT_THAT(show.out, testing::ContainsRegex("http.backlog +77 +--set"));
  EXPECT_THAT(show.out, testing::ContainsRegex("queue +stream +default"));
}

TEST(Cli, TellsTheVersionsOfProgramAndLibraries) {
  const ProgramResult version = runSluice({"--version"});
  EXPECT_EQ(version.exitCode, 0);
  EXPECT_THAT(version.out, testing::ContainsRegex("^sluice [0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(version.out, HasSubstr("Poco"));
}

TEST(Cli, ListsAndDescribesPlugins) {
  const ProgramResult list = runSluice({"plugins", "list"});
  EXPECT_EQ(list.exitCode, 0) << list.err;
  EXPECT_THAT(list.out, testing::ContainsRegex("queue +stream"));
  EXPECT_THAT(list.out, testing::ContainsRegex("store +sqlite"));
  const ProgramResult describe = runSluice({"plugins", "describe", "sqlite"});
  EXPECT_EQ(describe.exitCode, 0) << describe.err;
  EXPECT_THAT(describe.out, HasSubstr("store.sqlite."));
}

TEST(Cli, NamesTheNearestPlugin) {
  const ProgramResult result = runSluice({"plugins", "describe", "sqlit"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("did you mean sqlite?"));
}

TEST(Cli, SaysThatAServerIsAwayWithExitCode3) {
  const TempFolder folder;
  const ProgramResult result = runSluice({"--set", "redis.socket=" + folder.file("none.sock"), "--set",
                                          "data.dir=" + folder.file("data"), "voucher", "list"});
  EXPECT_EQ(result.exitCode, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("none.sock"));
}

// One embedded Redis and store for a whole story; each command starts and ends both.
class Story : public testing::Test {
 protected:
  ProgramResult sluice(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"--set", "redis.embedded=true", "--set", "data.dir=" + folder_.file("data")});
    return runSluice(arguments);
  }
  TempFolder folder_;
};

TEST_F(Story, OfAVoucherFromCreationToItsClose) {
  const ProgramResult created =
      sluice({"voucher", "create", "--title", "Concert", "--stock", "100", "--begin", "-1h", "--end", "+2h"});
  ASSERT_EQ(created.exitCode, 0) << created.err;
  EXPECT_THAT(created.out, HasSubstr("Voucher 1 is created"));
  EXPECT_THAT(sluice({"voucher", "show", "1"}).out, HasSubstr("not loaded"));
  const ProgramResult loaded = sluice({"voucher", "load", "1"});
  ASSERT_EQ(loaded.exitCode, 0) << loaded.err;
  EXPECT_THAT(loaded.out, HasSubstr("100 in stock"));
  const ProgramResult again = sluice({"voucher", "load", "1"});
  EXPECT_EQ(again.exitCode, 1) << "keys exist";
  EXPECT_THAT(again.err, StartsWith("sluice: "));
  const ProgramResult updated =
      sluice({"voucher", "update", "1", "--stock", "150", "--title", "Concert, late"});
  EXPECT_EQ(updated.exitCode, 0) << updated.err;
  const ProgramResult list = sluice({"voucher", "list"});
  EXPECT_THAT(list.out, testing::ContainsRegex("1 +Concert, late +on_sale"));
  EXPECT_THAT(list.out, HasSubstr("150"));
  EXPECT_THAT(sluice({"voucher", "sync", "1"}).out, HasSubstr("already"));
  EXPECT_EQ(sluice({"voucher", "close", "1"}).exitCode, 0);
  EXPECT_THAT(sluice({"voucher", "show", "1"}).out, HasSubstr("closed"));
  EXPECT_EQ(sluice({"voucher", "show", "7"}).exitCode, 1);
}

TEST_F(Story, OfAnAuditThatIsClean) {
  ASSERT_EQ(sluice({"voucher", "create", "--title", "Concert", "--stock", "10", "--load"}).exitCode, 0);
  const ProgramResult clean = sluice({"audit"});
  EXPECT_EQ(clean.exitCode, 0) << clean.out << clean.err;
  EXPECT_THAT(clean.out, HasSubstr("Audit clean"));
  const ProgramResult json = sluice({"audit", "--json"});
  EXPECT_EQ(json.exitCode, 0);
  EXPECT_THAT(json.out, HasSubstr("\"clean\":true"));
}

TEST_F(Story, OfUsersThatMayOrder) {
  std::ofstream(folder_.file("users")) << "# the invited\n7\n8\n\n";
  const ProgramResult created = sluice({"voucher", "create", "--title", "Private", "--stock", "10", "--load",
                                        "--eligible-file", folder_.file("users")});
  ASSERT_EQ(created.exitCode, 0) << created.err;
  EXPECT_THAT(sluice({"voucher", "show", "1"}).out, HasSubstr("eligible users only"));
  std::ofstream(folder_.file("users")) << "7\nbob\n";
  const ProgramResult bad = sluice(
      {"voucher", "create", "--title", "Private", "--stock", "10", "--eligible-file", folder_.file("users")});
  EXPECT_EQ(bad.exitCode, 2);
  EXPECT_THAT(bad.err, HasSubstr("line 2"));
}

TEST(CliWithServer, ShowsListsAndCancelsOrders) {
  ServerProcess server;
  server.start();
  server.createVoucher(1, 5);
  const HttpReply answer = server.order(1, 42);
  ASSERT_EQ(answer.status, 202) << answer.body;
  const std::string order = jsonMember(answer.body, "orderId");
  ASSERT_TRUE(ServerProcess::eventually(milliseconds(20000), [&] {
    return server.command({"orders", "show", order}).output.find("pending_payment") != std::string::npos;
  }));
  EXPECT_THAT(server.command({"orders", "list", "1"}).output, HasSubstr(order));
  EXPECT_EQ(server.command({"orders", "list", "1", "--user", "43"}).output, "No orders.\n");
  const auto cancelled = server.command({"orders", "cancel", order});
  EXPECT_EQ(cancelled.exitCode, 0) << cancelled.output;
  EXPECT_THAT(cancelled.output, HasSubstr("cancelled"));
  const auto unknown = server.command({"orders", "show", "999"});
  EXPECT_EQ(unknown.exitCode, 1);
  EXPECT_THAT(unknown.output, HasSubstr("--voucher and --user"));
  EXPECT_EQ(server.command({"dead", "list"}).output, "There are no dead letters.\n");
  EXPECT_EQ(server.command({"dead", "show", "1-0"}).exitCode, 1);
  EXPECT_EQ(server.terminate(), 0);
}

TEST(CliWithServer, SendsPeopleToTheServerForLettersInItsMemory) {
  ServerProcess server({{"queue", "inproc"}, {"journal", "off"}});
  server.start();
  const auto result = server.command({"dead", "list"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("/admin/v1/dead"));
}

// What a blocking queue holds dies with its process; the audit names each such order and its user.
TEST(CliWithServer, ListsLostOrdersOneByOne) {
  ServerProcess server(
      {{"queue", "inproc"}, {"journal", "off"}, {"fulfilment.pace", "30s"}, {"process.lease", "2s"}});
  server.start();
  server.createVoucher(1, 5);
  std::vector<std::string> orders;
  for (const std::int64_t user : {771, 772}) {
    const HttpReply answer = server.order(1, user);
    ASSERT_EQ(answer.status, 202) << answer.body;
    orders.push_back(jsonMember(answer.body, "orderId"));
  }
  server.kill();
  ServerProcess::CommandResult audit;
  // Until the dead process' lease has run out, the orders may be in its memory.
  EXPECT_TRUE(ServerProcess::eventually(milliseconds(30000), [&] {
    audit = server.command({"audit"});
    return audit.exitCode == 1;
  })) << audit.output;
  EXPECT_THAT(audit.output, HasSubstr("VIOLATION NO_LOST_ADMISSION"));
  EXPECT_THAT(audit.output, HasSubstr("Lost: 2"));
  EXPECT_THAT(audit.output, testing::ContainsRegex(orders[0] + " +771"));
  EXPECT_THAT(audit.output, testing::ContainsRegex(orders[1] + " +772"));
  EXPECT_THAT(server.command({"audit", "--json"}).output, HasSubstr(orders[0]));
}

TEST(CliWithServer, SaysWhichPortIsInUse) {
  ServerProcess server;
  server.start();
  const TempFolder folder;
  const std::string port = std::to_string(server.port());
  const ProgramResult second = runSluice({"serve", "--set", "redis.embedded=true", "--set",
                                          "data.dir=" + folder.file("data"), "--set", "http.port=" + port});
  EXPECT_EQ(second.exitCode, 2) << second.err;
  EXPECT_THAT(second.err, HasSubstr(port));
}

class CtrlC : public testing::TestWithParam<int> {};

TEST_P(CtrlC, EndsServerAndRedisAndLeavesNothingRunning) {
  const TempFolder folder;
  ChildOptions options;
  options.arguments = {places::binary(), "demo", "--keep", "--users",          "10",
                       "--stock",        "5",    "--data", folder.file("demo")};
  options.outputFile = folder.file("output");
  const auto demo = ChildProcess::start(options);
  ASSERT_TRUE(demo) << demo.error().text;
  const auto output = [&] {
    std::ostringstream text;
    text << std::ifstream(options.outputFile).rdbuf();
    return text.str();
  };
  ASSERT_TRUE(ServerProcess::eventually(milliseconds(60000), [&] {
    return output().find("Ctrl-C") != std::string::npos;
  })) << output();
  EXPECT_THAT(processesWith(folder.path()), Not(IsEmpty()));
  ASSERT_EQ(::kill(demo.value()->pid(), GetParam()), 0);
  ASSERT_TRUE(demo.value()->wait(Deadline::in(milliseconds(60000)))) << output();
  EXPECT_TRUE(
      ServerProcess::eventually(milliseconds(20000), [&] { return processesWith(folder.path()).empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Signals, CtrlC, testing::Values(SIGINT, SIGTERM, SIGKILL));

}  // namespace
}  // namespace sluice::test
