// The configuration: layers and their precedence, strict files, secrets that never show, plugins' options,
// relations, all faults at once.
#include "sluice/config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/embedded_redis.h"

#include "support/places.h"
#include "support/temp_folder.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Sets = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kPlanted = "planted-secret-0123456789abcdefghijkl";

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    const std::string fixtures = test::places::testBuild() + "/fixtures/";
    fs::create_directory(plugins());
    fs::copy_file(fixtures + "good.so", plugins() + "/queue_minimal.so");
    fs::copy_file(fixtures + "good_store.so", plugins() + "/store_modest.so");
    fs::copy_file(fixtures + "demanding_store.so", plugins() + "/store_demanding.so");
  }

  [[nodiscard]] std::string plugins() const { return folder_.file("plugins"); }

  std::string write(const std::string& name, std::string_view content, mode_t mode = 0644) const {
    const std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  // The plugins of this test are the weakest layer, so that every other can say something else.
  Config read(ConfigSources sources, std::vector<ConfigFault>& faults) const {
    const std::string base = "plugins.dir = " + plugins() + "\nqueue = minimal\nstore = modest\n";
    sources.files.insert(sources.files.begin(), write("base.properties", base));
    return Config::load(sources, faults);
  }

  [[nodiscard]] std::string faultsOf(ConfigSources sources) const {
    std::vector<ConfigFault> faults;
    (void)read(std::move(sources), faults);
    std::string all;
    for (const ConfigFault& fault : faults) {
      all += fault.key + ": " + fault.text + "\n";
    }
    return all;
  }
  [[nodiscard]] std::string faultsOfSets(Sets sets) const { return faultsOf({{}, std::move(sets), {}}); }
  [[nodiscard]] std::string faultsOfFile(std::string_view content) const {
    return faultsOf({{write("test.properties", content)}, {}, {}});
  }

  [[nodiscard]] Config sound(ConfigSources sources) const {
    std::vector<ConfigFault> faults;
    Config config = read(std::move(sources), faults);
    for (const ConfigFault& fault : faults) {
      ADD_FAILURE() << fault.key << ": " << fault.text;
    }
    return config;
  }

  static Config::Line lineOf(const Config& config, const std::string& key) {
    const auto lines = config.show();
    const auto found =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.key == key; });
    return found == lines.end() ? Config::Line{} : *found;
  }

  test::TempFolder folder_;
};

TEST_F(ConfigTest, TheTableOfTheProgramIsSound) {
  std::vector<ConfigFault> faults;
  const OptionMap map = checkOptions(coreOptions(), {}, "", faults);
  for (const ConfigFault& fault : faults) {
    ADD_FAILURE() << fault.key << ": " << fault.text;
  }
  EXPECT_EQ(map.display().size(), coreOptions().size()) << "a key stands twice";
  EXPECT_EQ(map.integer("gate.inflight.max"), 20000);
  EXPECT_EQ(map.duration("orders.pay.within"), milliseconds(15 * 60 * 1000));
}

TEST_F(ConfigTest, LaterLayersWinAndAreNamed) {
  const std::string first =
      write("first.properties", "http.port = 1001\nhttp.threads = 11\njournal.max = 5000\nlog.level=error\n");
  const std::string second =
      write("second.properties", "# a comment\n\nhttp.port = 1002\nhttp.threads = 12\njournal.max : = 1\n");
  const std::string third =
      write("third.properties", "! a comment too\nhttp.port=1003\r\n   http.threads   =  13  \r\n");
  const Config config = sound({{first, third},
                               {{"http.port", "1005"}},
                               {{"SLUICE_HTTP_PORT", "1004"}, {"SLUICE_HTTP_THREADS", "14"}}});
  EXPECT_EQ(config.core().integer("http.port"), 1005);
  EXPECT_EQ(config.core().integer("http.threads"), 14);
  EXPECT_EQ(config.core().integer("journal.max"), 5000);
  EXPECT_EQ(lineOf(config, "http.port").origin, "--set");
  EXPECT_EQ(lineOf(config, "http.threads").origin, "environment SLUICE_HTTP_THREADS");
  EXPECT_EQ(lineOf(config, "journal.max").origin, first + ":3");
  EXPECT_EQ(lineOf(config, "http.queue").origin, "default");
  EXPECT_EQ(lineOf(config, "journal.max").value, "5000");
  EXPECT_THAT(faultsOf({{first, second}, {}, {}}), StartsWith(second + ": line 5 has ':'"));
}

TEST_F(ConfigTest, AllFaultsComeAtOnceWithKeyLayerAndWhatIsRight) {
  const std::string file =
      write("sale.properties", "http.prot = 8080\nhttp.threads = many\nredis.tls = true\nnonsense\n");
  const std::string faults =
      faultsOf({{file}, {{"gate.batches", "0"}}, {{"SLUICE_QUEUE_MINIMAL_WAIT", "soon"}}});
  EXPECT_THAT(faults, HasSubstr("http.prot: unknown key; did you mean http.port? (" + file + ":1)"));
  EXPECT_THAT(faults,
              HasSubstr("http.threads: 'many' is not a whole number, 1..4096; write decimal digits (" + file +
                        ":2)"));
  EXPECT_THAT(faults, HasSubstr("redis.tls: cannot be true: hiredis 0.14 has no TLS"));
  EXPECT_THAT(faults, HasSubstr(file + ": line 4 has no '='"));
  EXPECT_THAT(faults, HasSubstr("gate.batches: '0' is outside 1..64 (--set)"));
  EXPECT_THAT(faults, HasSubstr("queue.minimal.wait: 'soon' is not a duration"));
  EXPECT_THAT(faults, HasSubstr("(environment SLUICE_QUEUE_MINIMAL_WAIT)"));
  EXPECT_EQ(std::count(faults.begin(), faults.end(), '\n'), 6) << faults;
}

TEST_F(ConfigTest, LinesThatCouldBeReadInTwoWaysAreRefused) {
  EXPECT_THAT(faultsOfFile("role: all\n"), HasSubstr("line 1 has no '='"));
  EXPECT_THAT(faultsOfFile("http.address : a = b\n"), HasSubstr("':' before '='"));
  EXPECT_THAT(faultsOfFile("data.dir = a\\\nb\n"),
              AllOf(HasSubstr("line 1 has a backslash"), HasSubstr("line 2 has no '='")));
  EXPECT_THAT(faultsOfFile("data.dir = C:\\tmp\n"), HasSubstr("backslash"));
  EXPECT_THAT(faultsOfFile("data.dir = ${system.homeDir}/x\n"), HasSubstr("not expanded"));
  EXPECT_THAT(faultsOfFile("http.port = 1\n\nhttp.port = 2\n"),
              HasSubstr("line 3 gives http.port again after line 1"));
  EXPECT_THAT(faultsOfFile("= 1\n"), HasSubstr("no key"));
  EXPECT_THAT(faultsOfFile("HTTP.Port = 1\n"), HasSubstr("malformed key"));
  EXPECT_THAT(faultsOfFile("http..port = 1\n"), HasSubstr("malformed key"));
  EXPECT_THAT(faultsOfFile("\xEF\xBB\xBFhttp.port = 1\n"), HasSubstr("byte order mark"));
  EXPECT_THAT(faultsOfFile(std::string_view("data.dir = a\0b\n", 15)), HasSubstr("control characters"));
  EXPECT_THAT(faultsOfFile("data.dir = " + std::string(5000, 'x') + "\n"), HasSubstr("longer than 4 KiB"));
}

TEST_F(ConfigTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(faultsOf({{"/nowhere/sale.properties"}, {}, {}}),
              HasSubstr("/nowhere/sale.properties: cannot be read: No such file"));
  EXPECT_THAT(faultsOf({{folder_.path()}, {}, {}}), HasSubstr("not a regular file"));
  EXPECT_THAT(faultsOfFile(std::string(1024 * 1024 + 1, '#')), HasSubstr("larger than 1 MiB"));
  EXPECT_EQ(faultsOfFile(""), "");
}

TEST_F(ConfigTest, ValuesAreTakenAsTheyStand) {
  const std::string file =
      write("raw.properties", "data.dir = /srv/a = b: c # d\nqueue.minimal.greeting = 秒杀 100%\n");
  const Config config = sound({{file}, {}, {}});
  EXPECT_EQ(config.dataDir(), "/srv/a = b: c # d");
  EXPECT_EQ(config.queueOptions().text("greeting"), "秒杀 100%");
  EXPECT_EQ(sound({{}, {{"queue.minimal.greeting", "${http.port}"}}, {}}).queueOptions().text("greeting"),
            "${http.port}");
}

TEST_F(ConfigTest, TheEnvironmentIsCheckedLikeEverythingElse) {
  EXPECT_THAT(faultsOf({{}, {}, {{"SLUICE_HTTP_PROT", "1"}}}),
              HasSubstr("http.prot: unknown key; did you mean http.port? (environment SLUICE_HTTP_PROT)"));
  EXPECT_THAT(faultsOf({{}, {}, {{"SLUICE_Http_Port", "1"}}}), HasSubstr("SLUICE_Http_Port: malformed name"));
  EXPECT_THAT(faultsOf({{}, {}, {{"SLUICE_", "1"}}}), HasSubstr("malformed name"));
  EXPECT_EQ(faultsOf({{}, {}, {{"PATH", "/bin"}, {"SLUICE", "1"}}}), "");
  // What Kubernetes adds for a service called "sluice".
  EXPECT_EQ(faultsOf({{},
                      {},
                      {{"SLUICE_PORT", "tcp://10.0.0.1:80"},
                       {"SLUICE_SERVICE_HOST", "10.0.0.1"},
                       {"SLUICE_PORT_80_TCP", "x"}}}),
            "");
}

TEST_F(ConfigTest, TheEnvironmentOfThisProcessIsReadWhole) {
  ASSERT_EQ(::setenv("SLUICE_CONFIG_TEST", "a=b", 1), 0);  // NOLINT(concurrency-mt-unsafe): one thread
  EXPECT_THAT(processEnvironment(),
              ::testing::Contains(std::pair<std::string, std::string>("SLUICE_CONFIG_TEST", "a=b")));
  ::unsetenv("SLUICE_CONFIG_TEST");  // NOLINT(concurrency-mt-unsafe): one thread
}

TEST_F(ConfigTest, ASecretIsReadFromTheEnvironmentOrItsFile) {
  const std::string secret = write("token", std::string(kPlanted) + "\n", 0600);
  for (const Config& config :
       {sound({{}, {}, {{"SLUICE_ADMIN_TOKEN", kPlanted}}}), sound({{}, {{"admin.token.file", secret}}, {}}),
        sound({{}, {}, {{"SLUICE_ADMIN_TOKEN_FILE", secret}}})}) {
    EXPECT_EQ(config.core().text("admin.token"), kPlanted);
    EXPECT_EQ(lineOf(config, "admin.token").value, "***");
  }
}

TEST_F(ConfigTest, TheOriginOfASecretIsNamed) {
  const std::string secret = write("token", kPlanted, 0640);
  EXPECT_EQ(lineOf(sound({{}, {}, {{"SLUICE_ADMIN_TOKEN", kPlanted}}}), "admin.token").origin,
            "environment SLUICE_ADMIN_TOKEN");
  EXPECT_EQ(lineOf(sound({{}, {{"admin.token.file", secret}}, {}}), "admin.token").origin,
            "admin.token.file, --set");
}

TEST_F(ConfigTest, APlantedSecretNeverShows) {
  const std::string line = std::string("admin.token = ") + kPlanted + "\n";
  const std::string faults =
      faultsOf({{write("leak.properties", line + "queue.minimal.password = " + kPlanted +
                                              "\nadmin.tokn = " + kPlanted + "\n" + kPlanted + "\n"),
                 write("again.properties", line)},
                {{"redis.password", kPlanted}, {"store.nothing.password", kPlanted}},
                {{"SLUICE_ADMIN_TOKEN", kPlanted}}});
  EXPECT_THAT(faults, Not(HasSubstr("planted")));
  EXPECT_THAT(faults, HasSubstr("admin.token: is a secret and stands in the open (" +
                                folder_.file("leak.properties:1") + ")"));
  EXPECT_THAT(faults, HasSubstr("admin.token: is a secret and stands in the open (" +
                                folder_.file("again.properties:1") + ")"));
  EXPECT_THAT(faults, AllOf(HasSubstr("queue.minimal.password: is a secret"),
                            HasSubstr("SLUICE_QUEUE_MINIMAL_PASSWORD")));
  EXPECT_THAT(faults, HasSubstr("redis.password: is a secret and stands in the open (--set)"));
  EXPECT_THAT(faults, HasSubstr("admin.tokn: unknown key; did you mean admin.token?"));
}

TEST_F(ConfigTest, ASecretFileThatOthersMayReadIsRefused) {
  const std::string open = write("token", kPlanted, 0644);
  EXPECT_THAT(faultsOfSets({{"admin.token.file", open}}),
              AllOf(HasSubstr("admin.token.file: secret file " + open), HasSubstr("0600"),
                    Not(HasSubstr("planted"))));
}

TEST_F(ConfigTest, PluginOptionsAreCheckedAgainstTheTableOfTheirPlugin) {
  const Config config = sound({{}, {{"queue.minimal.wait", "5s"}, {"store.modest.file", "x.db"}}, {}});
  EXPECT_EQ(config.queueOptions().duration("wait"), milliseconds(5000));
  EXPECT_EQ(config.storeOptions().text("file"), "x.db");
  EXPECT_STREQ(config.queuePlugin().name, "minimal");
  EXPECT_STREQ(config.storePlugin().name, "modest");
  EXPECT_EQ(lineOf(config, "queue.minimal.wait").value, "5s");
  EXPECT_THAT(faultsOfSets({{"queue.minimal.wiat", "5s"}}),
              HasSubstr("queue.minimal.wiat: unknown key; did you mean queue.minimal.wait?"));
  EXPECT_THAT(faultsOfSets({{"queue.minimal", "5s"}}), HasSubstr("queue.minimal: unknown key"));
}

TEST_F(ConfigTest, OptionsOfPluginsThatAreNotSelectedAreCheckedToo) {
  EXPECT_EQ(faultsOfSets({{"store.demanding.file", "x.db"}}), "");
  EXPECT_THAT(faultsOfSets({{"store.demanding.flie", "x.db"}}),
              HasSubstr("did you mean store.demanding.file?"));
  EXPECT_THAT(faultsOfSets({{"store.modets.file", "x.db"}}),
              AllOf(HasSubstr("store.modets.file: there is no store plugin called modets"),
                    HasSubstr("has: demanding, modest"), HasSubstr("did you mean modest?")));
  EXPECT_THAT(faultsOfSets({{"store", "demanding"}}), HasSubstr("store.demanding.host: must be given"));
}

TEST_F(ConfigTest, AnUnknownPluginIsNamedWithWhatIsThere) {
  EXPECT_THAT(faultsOfSets({{"queue", "minimla"}}),
              AllOf(HasSubstr("queue: there is no queue plugin called minimla"), HasSubstr("has: minimal"),
                    HasSubstr("did you mean minimal?"), HasSubstr("(--set)")));
  EXPECT_THAT(faultsOfSets({{"store", "../../etc/x"}}), HasSubstr("is not the name of a store plugin"));
}

TEST_F(ConfigTest, ThePluginFolderIsRefusedOnceAndAsAWhole) {
  EXPECT_EQ(faultsOfSets({{"plugins.dir", "plugins"}, {"queue.minimal.wait", "5s"}}),
            "plugins.dir: plugin folder plugins is relative; give an absolute path (--set)\n");
  EXPECT_THAT(faultsOfSets({{"plugins.dir", "/nowhere/at/all"}}),
              HasSubstr("plugins.dir: plugin folder /nowhere/at/all cannot be read"));
  ASSERT_EQ(::chmod(plugins().c_str(), 0777), 0);
  EXPECT_THAT(faultsOfSets({}), HasSubstr("written by everybody"));
}

TEST_F(ConfigTest, WhereRedisIsMayBeSaidOnce) {
  for (const char* key : {"redis.socket", "redis.host"}) {
    EXPECT_THAT(faultsOfSets({{"redis.embedded", "true"}, {key, "/run/r.sock"}}),
                HasSubstr(std::string(key) + ": contradicts redis.embedded"));
  }
  EXPECT_THAT(faultsOfSets({{"redis.embedded", "true"}, {"redis.port", "6379"}}),
              HasSubstr("redis.port: contradicts"));
  EXPECT_THAT(faultsOfSets({{"redis.socket", "/run/r.sock"}, {"redis.host", "::1"}}),
              HasSubstr("redis.host: contradicts redis.socket"));
  EXPECT_THAT(faultsOfSets({{"redis.username", "app"}}), HasSubstr("redis.username: needs redis.password"));
  EXPECT_EQ(faultsOfSets({{"redis.embedded", "true"}, {"redis.append.fsync", "always"}}), "");
}

TEST_F(ConfigTest, AStrongerLayerMaySayAnewWhereRedisIs) {
  const std::string host = write("host.properties", "redis.host = 10.0.0.7\nredis.port = 7000\n");
  EXPECT_EQ(sound({{host}, {{"redis.socket", "/run/r.sock"}}, {}}).redisTarget().socketPath, "/run/r.sock");
  EXPECT_EQ(sound({{host}, {}, {{"SLUICE_REDIS_EMBEDDED", "on"}, {"SLUICE_DATA_DIR", "/srv/x"}}})
                .redisTarget()
                .socketPath,
            EmbeddedRedis::socketPath("/srv/x"));
  const std::string embedded = write("embedded.properties", "redis.embedded = on\n");
  EXPECT_THAT(faultsOf({{embedded, host}, {}, {}}), HasSubstr("redis.host: contradicts redis.embedded"));
  EXPECT_EQ(faultsOf({{host, embedded}, {}, {}}), "");
}

TEST_F(ConfigTest, ThePrefixOfKeysIsPlain) {
  for (const char* bad : {"", "a b", "a{b}", "a:b", "秒", "a*"}) {
    EXPECT_THAT(faultsOfSets({{"redis.prefix", bad}}), HasSubstr("redis.prefix: must be 1 to 32 letters"))
        << bad;
  }
  EXPECT_THAT(faultsOfSets({{"redis.prefix", std::string(33, 'a')}}), HasSubstr("longer than 32 bytes"));
  EXPECT_EQ(faultsOfSets({{"redis.prefix", "shop_2.test-A"}}), "");
}

TEST_F(ConfigTest, AHeaderIsTrustedOnlyWhereNobodyElseGets) {
  for (const char* open : {"0.0.0.0", "192.168.1.5", "::", "::ffff:127.0.0.1"}) {
    EXPECT_THAT(faultsOfSets({{"http.address", open}}), HasSubstr("auth.header.public = true")) << open;
    EXPECT_EQ(faultsOfSets({{"http.address", open}, {"auth.header.public", "true"}}), "") << open;
  }
  for (const char* local : {"127.0.0.1", "127.8.8.8", "::1", "localhost"}) {
    EXPECT_EQ(faultsOfSets({{"http.address", local}}), "") << local;
  }
  EXPECT_THAT(faultsOfSets({{"http.address", "example.org"}}), HasSubstr("must be an IP address"));
}

TEST_F(ConfigTest, ContradictionsOfRoleAndQueueAreRefused) {
  fs::copy_file(plugins() + "/queue_minimal.so", plugins() + "/queue_inproc.so");
  EXPECT_THAT(faultsOfSets({{"queue", "inproc"}, {"role", "front"}}),
              HasSubstr("role: cannot be front with queue = inproc"));
  EXPECT_THAT(faultsOfSets({{"queue", "inproc"}, {"role", "worker"}}),
              HasSubstr("role: cannot be worker with queue = inproc"));
  EXPECT_THAT(faultsOfSets({{"queue", "stream"}, {"journal", "off"}}),
              HasSubstr("journal: cannot be off with queue = stream"));
  EXPECT_THAT(faultsOfSets({{"queue", "inproc"}}), Not(HasSubstr("journal:")));
  EXPECT_THAT(faultsOfSets({{"fulfilment.failures.max", "11"}}),
              HasSubstr("fulfilment.deliveries.max: is below"));
  EXPECT_EQ(sound({{}, {{"role", "worker"}}, {}}).role(), Role::Worker);
}

TEST_F(ConfigTest, AShortAdminTokenIsRefused) {
  EXPECT_THAT(faultsOf({{}, {}, {{"SLUICE_ADMIN_TOKEN", "planted"}}}),
              AllOf(HasSubstr("admin.token: is shorter than 32 bytes"), Not(HasSubstr("planted"))));
}

TEST_F(ConfigTest, RangesGuardWhatMustNotBeSmall) {
  EXPECT_THAT(faultsOfSets({{"process.lease", "1s"}}), HasSubstr("outside 2s..10m"));
  EXPECT_THAT(faultsOfSets({{"fulfilment.batch", "501"}}), HasSubstr("outside 1..500"));
  EXPECT_THAT(faultsOfSets({{"http.queue", "100"}}), HasSubstr("outside 4096.."));
  EXPECT_THAT(faultsOfSets({{"data.dir", ""}}), HasSubstr("data.dir: must not be empty"));
}

TEST_F(ConfigTest, TheTargetOfRedisComesFromTheSettings) {
  const RedisTarget remote = sound({{},
                                    {{"redis.host", "10.0.0.7"},
                                     {"redis.port", "7000"},
                                     {"redis.username", "app"},
                                     {"redis.database", "3"}},
                                    {{"SLUICE_REDIS_PASSWORD", kPlanted}}})
                                 .redisTarget();
  EXPECT_EQ(remote.host, "10.0.0.7");
  EXPECT_EQ(remote.port, 7000);
  EXPECT_EQ(remote.username, "app");
  EXPECT_EQ(remote.password, kPlanted);
  EXPECT_EQ(remote.database, 3);
  EXPECT_EQ(sound({{}, {{"redis.socket", "/run/r.sock"}}, {}}).redisTarget().socketPath, "/run/r.sock");
  EXPECT_EQ(sound({{}, {{"redis.embedded", "true"}, {"data.dir", "/srv/x"}}, {}}).redisTarget().socketPath,
            EmbeddedRedis::socketPath("/srv/x"));
}

TEST_F(ConfigTest, FolderAndInstanceStayWhatTheyWereAtTheStart) {
  const Config config = sound({{}, {{"data.dir", "some/./where"}, {"http.port", "8123"}}, {}});
  EXPECT_EQ(config.dataDir(), (fs::current_path() / "some/where").string());
  EXPECT_EQ(lineOf(config, "data.dir").value, config.dataDir());
  EXPECT_EQ(lineOf(config, "plugins.dir").value, plugins());
  EXPECT_THAT(config.instance(), ::testing::MatchesRegex("[A-Za-z0-9_.-]+:8123"));
  EXPECT_THAT(sound({{}, {{"http.port", "0"}}, {}}).instance(), HasSubstr(":p" + std::to_string(::getpid())));
}

TEST_F(ConfigTest, TheReferenceHoldsEveryOptionOfProgramAndPlugins) {
  PluginLoader loader(plugins());
  const auto text = configurationReference(loader);
  ASSERT_TRUE(text.ok()) << text.error().text;
  for (const OptionSpec& spec : coreOptions()) {
    EXPECT_THAT(text.value(), HasSubstr("| `" + std::string(spec.key) + "` |"));
  }
  EXPECT_THAT(text.value(),
              AllOf(HasSubstr("## Queue `minimal`"), HasSubstr("## Store `demanding`"),
                    HasSubstr("| `store.demanding.host` | text, at most 100 bytes | must be given |")));
}

}  // namespace
}  // namespace sluice
