// Option tables: values by type and range, faults all at once with the nearest name, secrets from files, the
// Markdown that comes from them.
#include "sluice/options.h"

#include <array>
#include <fstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_folder.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kTable = std::to_array<OptionSpec>({
    {"enabled", OptionType::Boolean, "on", "", false, "Whether."},
    {"port", OptionType::Integer, "8080", "1..65535", false, "Which port."},
    {"shift", OptionType::Integer, "-1", "", false, "Any number."},
    {"wait", OptionType::Duration, "250ms", "1ms..1h", false, "How long."},
    {"room", OptionType::Size, "64KiB", "1KiB..", false, "How much."},
    {"mode", OptionType::Choice, "stream", "stream|inproc", false, "Which of two."},
    {"title", OptionType::Text, "", "..10", false, "What it is called."},
    {"folder", OptionType::Path, "data", "", false, "Where."},
    {"token", OptionType::Text, "", "..64", true, "A secret."},
});

using Given = std::map<std::string, std::string>;

std::string joined(const std::vector<ConfigFault>& faults) {
  std::string all;
  for (const ConfigFault& fault : faults) {
    all += fault.key + ": " + fault.text + "\n";
  }
  return all;
}

OptionMap checked(const Given& given) {
  std::vector<ConfigFault> faults;
  OptionMap map = checkOptions(kTable, given, "", faults);
  EXPECT_EQ(joined(faults), "");
  return map;
}

// The one fault of one setting.
std::string faultOf(const std::string& key, const std::string& value) {
  std::vector<ConfigFault> faults;
  (void)checkOptions(kTable, {{key, value}}, "queue.x.", faults);
  EXPECT_EQ(faults.size(), 1u) << key << " = " << value << "\n" << joined(faults);
  return joined(faults);
}

class SecretFile {
 public:
  SecretFile(const std::string& content, mode_t mode) {
    std::ofstream(path()) << content;
    EXPECT_EQ(::chmod(path().c_str(), mode), 0);
  }
  [[nodiscard]] std::string path() const { return folder_.file("secret"); }

 private:
  test::TempFolder folder_;
};

TEST(Options, DefaultsHoldWhereNothingIsGiven) {
  const OptionMap map = checked({});
  EXPECT_TRUE(map.boolean("enabled"));
  EXPECT_EQ(map.integer("port"), 8080);
  EXPECT_EQ(map.integer("shift"), -1);
  EXPECT_EQ(map.duration("wait"), milliseconds(250));
  EXPECT_EQ(map.integer("room"), 65536);
  EXPECT_EQ(map.text("mode"), "stream");
  EXPECT_EQ(map.text("title"), "");
  EXPECT_EQ(map.text("folder"), "data");
}

TEST(Options, ValuesAreReadByTheirType) {
  const OptionMap map = checked({{"enabled", "no"},
                                 {"port", "1"},
                                 {"wait", "2m"},
                                 {"room", "3MiB"},
                                 {"mode", "inproc"},
                                 {"title", "秒杀"}});
  EXPECT_FALSE(map.boolean("enabled"));
  EXPECT_EQ(map.integer("port"), 1);
  EXPECT_EQ(map.duration("wait"), milliseconds(120'000));
  EXPECT_EQ(map.integer("room"), 3 * 1024 * 1024);
  EXPECT_EQ(map.text("mode"), "inproc");
  EXPECT_EQ(map.text("title"), "秒杀");
}

TEST(Options, WhatIsNoValueOfTheTypeIsRefusedWithWhatWouldBe) {
  EXPECT_THAT(faultOf("enabled", "maybe"), AllOf(HasSubstr("queue.x.enabled: 'maybe'"), HasSubstr("true")));
  for (const char* bad : {"", "80a", " 80", "+80", "0x50", "99999999999999999999", "8 0", "8.0"}) {
    EXPECT_THAT(faultOf("port", bad), AllOf(HasSubstr("is not a whole number"), HasSubstr("1..65535")))
        << bad;
  }
  for (const char* bad : {"", "10", "10sec", "s", "-5s", "1.5s", "10 s", "9223372036854775807h"}) {
    EXPECT_THAT(faultOf("wait", bad), HasSubstr("250ms, 10s, 5m or 2h")) << bad;
  }
  for (const char* bad : {"64KB", "64k", "-1", "MiB", "9007199254740993GiB"}) {
    EXPECT_THAT(faultOf("room", bad), HasSubstr("64KiB")) << bad;
  }
  EXPECT_THAT(faultOf("mode", "straem"),
              AllOf(HasSubstr("one of stream, inproc"), HasSubstr("did you mean stream?")));
  EXPECT_THAT(faultOf("title", std::string("a\nb")), HasSubstr("control characters"));
  EXPECT_THAT(faultOf("title", "\xC3\x28"), HasSubstr("not UTF-8"));
}

TEST(Options, WhatIsOutOfRangeIsRefusedWithTheRange) {
  EXPECT_THAT(faultOf("port", "0"), HasSubstr("'0' is outside 1..65535"));
  EXPECT_THAT(faultOf("port", "65536"), HasSubstr("outside 1..65535"));
  EXPECT_THAT(faultOf("wait", "0ms"), HasSubstr("outside 1ms..1h"));
  EXPECT_THAT(faultOf("wait", "2h"), HasSubstr("outside 1ms..1h"));
  EXPECT_THAT(faultOf("room", "1023"), HasSubstr("outside 1KiB.."));
  EXPECT_THAT(faultOf("title", "eleven long"), HasSubstr("longer than 10 bytes"));
}

TEST(Options, UnknownKeysAreRefusedWithTheNearestName) {
  EXPECT_THAT(faultOf("prot", "1"), HasSubstr("queue.x.prot: unknown key; did you mean queue.x.port?"));
  EXPECT_THAT(faultOf("tokn", "swordfish"),
              AllOf(HasSubstr("did you mean queue.x.token?"), Not(HasSubstr("swordfish"))));
  EXPECT_THAT(faultOf("something", "1"), AllOf(HasSubstr("unknown key"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(faultOf("port.file", "/x"), HasSubstr("unknown key"));
}

TEST(Options, AllFaultsComeAtOnce) {
  std::vector<ConfigFault> faults;
  (void)checkOptions(kTable, {{"port", "x"}, {"wait", "x"}, {"mode", "x"}, {"nothing", "x"}, {"shift", "5"}},
                     "", faults);
  EXPECT_EQ(faults.size(), 4u) << joined(faults);
}

TEST(Options, WhatHasNoDefaultMustBeGiven) {
  constexpr auto kRequired =
      std::to_array<OptionSpec>({{"host", OptionType::Text, nullptr, "", false, "Where."}});
  std::vector<ConfigFault> faults;
  (void)checkOptions(kRequired, {}, "store.pg.", faults);
  EXPECT_EQ(joined(faults), "store.pg.host: must be given: text\n");
}

TEST(Options, AMalformedTableIsNamedAsADefect) {
  constexpr auto kBad = std::to_array<OptionSpec>({{"n", OptionType::Integer, "1", "one to ten", false, ""},
                                                   {"m", OptionType::Integer, "x", "1..10", false, ""}});
  std::vector<ConfigFault> faults;
  (void)checkOptions(kBad, {}, "", faults);
  EXPECT_THAT(joined(faults),
              AllOf(HasSubstr("n: default: the range 'one to ten'"), HasSubstr("m: default: 'x' is not")));
}

TEST(Options, ASecretIsReadFromItsFileWithoutTheLastLineBreak) {
  const SecretFile file("sesame-open-please\n", 0600);
  const SecretFile shared("sesame-for-the-group\r\n", 0640);
  EXPECT_EQ(checked({{"token.file", file.path()}}).text("token"), "sesame-open-please");
  EXPECT_EQ(checked({{"token.file", shared.path()}}).text("token"), "sesame-for-the-group");
  EXPECT_EQ(checked({{"token", "by-environment"}}).text("token"), "by-environment");
}

TEST(Options, ASecretFileThatOthersMayReadIsRefused) {
  const SecretFile open("planted-secret", 0644);
  EXPECT_THAT(faultOf("token.file", open.path()),
              AllOf(HasSubstr("queue.x.token.file"), HasSubstr(open.path()), HasSubstr("0644"),
                    HasSubstr("0600"), Not(HasSubstr("planted"))));
}

TEST(Options, ASecretFileThatHoldsNoSecretIsRefused) {
  const SecretFile empty("\n", 0600);
  const SecretFile lines("planted\nsecret", 0600);
  const SecretFile large(std::string(5000, 'x'), 0600);
  const SecretFile longer(std::string(65, 'x'), 0600);
  EXPECT_THAT(faultOf("token.file", empty.path()), HasSubstr("is empty"));
  EXPECT_THAT(faultOf("token.file", lines.path()),
              AllOf(HasSubstr("several lines"), Not(HasSubstr("planted"))));
  EXPECT_THAT(faultOf("token.file", large.path()), HasSubstr("larger than 4 KiB"));
  EXPECT_THAT(faultOf("token.file", longer.path()),
              AllOf(HasSubstr("longer than 64 bytes"), Not(HasSubstr("xxx"))));
  EXPECT_THAT(faultOf("token.file", "/nowhere/at/all"), HasSubstr("No such file"));
  EXPECT_THAT(faultOf("token.file", "/tmp"), HasSubstr("not a regular file"));
}

TEST(Options, ASecretGivenTwiceIsRefused) {
  const SecretFile file("planted-secret", 0600);
  std::vector<ConfigFault> faults;
  (void)checkOptions(kTable, {{"token", "other-secret"}, {"token.file", file.path()}}, "", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(joined(faults), AllOf(HasSubstr("keep one"), Not(HasSubstr("-secret"))));
}

TEST(Options, SecretsAreNeverDisplayed) {
  using ::testing::Contains;
  using ::testing::Pair;
  const auto shown = checked({{"token", "planted-secret"}, {"wait", "10s"}, {"enabled", "no"}}).display();
  EXPECT_THAT(shown, Contains(Pair("token", "***")));
  EXPECT_THAT(shown, Contains(Pair("wait", "10s")));
  EXPECT_THAT(shown, Contains(Pair("enabled", "false")));
  EXPECT_THAT(shown, Not(Contains(Pair(::testing::_, HasSubstr("planted")))));
  EXPECT_THAT(checked({}).display(), Contains(Pair("token", "")));
}

TEST(Options, AskingByAnotherTypeOrNameIsADefect) {
  const OptionMap map = checked({});
  EXPECT_THROW((void)map.integer("enabled"), std::logic_error);
  EXPECT_THROW((void)map.boolean("port"), std::logic_error);
  EXPECT_THROW((void)map.duration("room"), std::logic_error);
  EXPECT_THROW((void)map.text("port"), std::logic_error);
  EXPECT_THROW((void)map.text("nothing"), std::logic_error);
}

TEST(NearestName, IsAtMostAThirdOfTheWordAway) {
  const std::vector<std::string> names = {"http.port", "http.address", "redis.port", "sqlite"};
  EXPECT_EQ(nearestName("http.prot", names), "http.port");
  EXPECT_EQ(nearestName("htp.port", names), "http.port");
  EXPECT_EQ(nearestName("http.adress", names), "http.address");
  EXPECT_EQ(nearestName("sqlit", names), "sqlite");
  EXPECT_EQ(nearestName("postgres", names), "");
  EXPECT_EQ(nearestName("", names), "");
  EXPECT_EQ(nearestName(std::string(100'000, 'x'), names), "");
}

TEST(DescribeOptions, PrintsATableThatMarkdownReads) {
  const std::string text = describeOptions(kTable, "queue.x.");
  EXPECT_THAT(text, HasSubstr("| `queue.x.port` | a whole number, 1..65535 | `8080` | Which port. |\n"));
  EXPECT_THAT(text, HasSubstr("| `queue.x.token` | secret text, at most 64 bytes | empty | A secret. |\n"));
  EXPECT_THAT(text, HasSubstr("| one of stream, inproc |"));
  EXPECT_EQ(describeOptions({}, ""), "No options.\n");
}

}  // namespace
}  // namespace sluice
