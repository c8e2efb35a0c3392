// The plugin loader: what fits is loaded once, what does not is refused with every reason, and nothing
// outside the folder is touched.
#include "sluice/plugin_loader.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/manual_clock.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kFixtures = test::places::testBuild() + "/fixtures/";

class PluginLoaderTest : public ::testing::Test {
 protected:
  // Puts a fixture into the folder under a plugin's name.
  void put(const std::string& fixture, const std::string& file) const {
    fs::copy_file(kFixtures + fixture + ".so", folder_.file(file));
  }

  [[nodiscard]] std::string refusalOf(const std::string& name, PluginKind kind = PluginKind::Queue) const {
    const auto loaded = PluginLoader(folder_.path()).load(kind, name);
    EXPECT_FALSE(loaded.ok());
    if (loaded) return "loaded";
    EXPECT_EQ(loaded.error().code, ErrorCode::Misconfigured);
    return loaded.error().text;
  }

  // The refusal of a fixture that is called as its descriptor says.
  std::string refusalOfFixture(const std::string& fixture, const std::string& name) {
    put(fixture, "queue_" + name + ".so");
    const std::string refusal = refusalOf(name);
    EXPECT_THAT(refusal, HasSubstr(folder_.file("queue_" + name + ".so")));
    return refusal;
  }

  void write(const std::string& file, std::string_view content) const {
    std::ofstream(folder_.file(file)) << content;
  }

  test::TempFolder folder_;
};

TEST_F(PluginLoaderTest, WhatFitsIsLoadedAndGivesTheSameDescriptorAgain) {
  put("good", "queue_minimal.so");
  PluginLoader loader(folder_.path());
  const auto first = loader.load(PluginKind::Queue, "minimal");
  const auto again = loader.load(PluginKind::Queue, "minimal");
  const auto elsewhere = PluginLoader(folder_.path()).load(PluginKind::Queue, "minimal");
  ASSERT_TRUE(first.ok()) << first.error().text;
  ASSERT_TRUE(again.ok() && elsewhere.ok());
  EXPECT_EQ(first.value(), again.value());
  EXPECT_EQ(first.value(), elsewhere.value());
  EXPECT_STREQ(first.value()->name, "minimal");
  EXPECT_EQ(first.value()->optionCount, 3u);
}

TEST_F(PluginLoaderTest, ALoadedPluginMakesItsObject) {
  put("good", "queue_minimal.so");
  const auto plugin = PluginLoader(folder_.path()).load(PluginKind::Queue, "minimal");
  ASSERT_TRUE(plugin.ok()) << plugin.error().text;
  std::vector<ConfigFault> faults;
  const OptionMap options =
      checkOptions({plugin.value()->options, plugin.value()->optionCount}, {}, "", faults);
  ASSERT_TRUE(faults.empty());
  test::ManualClock clock;
  test::SeededRandom random(1);
  const QueueContext context{options, noLog(), clock, random, {}, "sluice", "local", 1, true, 1000};
  const auto queue = plugin.value()->makeQueue(context);
  ASSERT_TRUE(queue.ok());
  EXPECT_TRUE(queue.value()->start(Deadline::in(milliseconds(100))).ok());
  EXPECT_FALSE(queue.value()->traits().durable);
  EXPECT_EQ(queue.value()->publish({}, Deadline::in(milliseconds(100))).error().code, ErrorCode::Unsupported);
  queue.value()->close();
}

TEST_F(PluginLoaderTest, AMissingFileIsNamedWithWhatIsThereAndTheNearest) {
  put("good", "queue_minimal.so");
  put("good", "store_minimal.so");
  EXPECT_THAT(refusalOf("minimla"), AllOf(HasSubstr("no queue plugin called minimla"),
                                          HasSubstr("has: minimal"), HasSubstr("did you mean minimal?")));
  EXPECT_THAT(refusalOf("rabbitmq"), AllOf(HasSubstr("has: minimal"), Not(HasSubstr("did you mean"))));
  fs::remove(folder_.file("store_minimal.so"));
  EXPECT_THAT(refusalOf("sqlite", PluginKind::Store), HasSubstr("has: none"));
}

TEST_F(PluginLoaderTest, ANameThatIsAPathIsRefused) {
  put("good", "queue_minimal.so");
  for (const char* name :
       {"", "../queue_minimal", "min/imal", "Minimal", "mini.mal", "1minimal", "minimal.so"}) {
    EXPECT_THAT(refusalOf(name), HasSubstr("is not the name of a queue plugin")) << name;
  }
}

TEST_F(PluginLoaderTest, EachMismatchIsNamedWithWhatWasFoundAndExpected) {
  EXPECT_THAT(refusalOfFixture("wrong_magic", "wrongmagic"), HasSubstr("magic: found 42, expected"));
  EXPECT_THAT(refusalOfFixture("wrong_abi", "wrongabi"), HasSubstr("ABI: found 42, expected 1"));
  EXPECT_THAT(
      refusalOfFixture("wrong_tag", "wrongtag"),
      AllOf(HasSubstr("build tag: found 'gcc-4"), HasSubstr(std::string("expected '") + SLUICE_BUILD_TAG)));
  EXPECT_THAT(refusalOfFixture("wrong_kind", "wrongkind"), HasSubstr("kind: found 2, expected 1 (queue)"));
  EXPECT_THAT(refusalOfFixture("wrong_name", "wrongname"),
              HasSubstr("name: found 'somethingelse', expected 'wrongname'"));
  EXPECT_THAT(refusalOfFixture("null_factory", "nullfactory"),
              HasSubstr("factory: found none, expected makeQueue"));
  EXPECT_THAT(refusalOfFixture("bad_table", "badtable"), HasSubstr("option 1: found no key"));
  EXPECT_THAT(refusalOfFixture("null_descriptor", "nulldescriptor"), HasSubstr("descriptor: found nothing"));
}

TEST_F(PluginLoaderTest, SeveralMismatchesComeInOneMessage) {
  EXPECT_THAT(refusalOfFixture("several_faults", "severalfaults"),
              AllOf(HasSubstr("ABI: found 42"), HasSubstr("build tag: found nothing"),
                    HasSubstr("kind: found 2"), HasSubstr("name: found 'somethingelse'")));
}

TEST_F(PluginLoaderTest, WhatIsNoPluginIsRefused) {
  EXPECT_THAT(refusalOfFixture("no_symbol", "nosymbol"), HasSubstr("no symbol sluice_plugin"));
  write("queue_text.so", "this is not a library");
  EXPECT_THAT(refusalOf("text"), AllOf(HasSubstr("queue_text.so"), HasSubstr("cannot be loaded")));
  write("queue_empty.so", "");
  EXPECT_THAT(refusalOf("empty"), HasSubstr("cannot be loaded"));
  fs::create_directory(folder_.file("queue_folder.so"));
  EXPECT_THAT(refusalOf("folder"), HasSubstr("not a regular file"));
}

TEST_F(PluginLoaderTest, AMissingFunctionShowsAtStartAndNotInTheSale) {
  EXPECT_THAT(refusalOfFixture("unresolved", "unresolved"),
              AllOf(HasSubstr("cannot be loaded"), HasSubstr("sluiceFixtureThatNobodyDefines")));
  EXPECT_THAT(refusalOfFixture("binds_lazily", "lazy"), HasSubstr("-z,now"));
}

TEST_F(PluginLoaderTest, AFolderThatOthersMayWriteIsRefused) {
  put("good", "queue_minimal.so");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_THAT(refusalOf("minimal"), AllOf(HasSubstr(folder_.path()), HasSubstr("written by everybody")));
  EXPECT_FALSE(PluginLoader(folder_.path()).list().ok());
}

TEST_F(PluginLoaderTest, AFileThatOthersMayWriteIsRefused) {
  put("good", "queue_minimal.so");
  ASSERT_EQ(::chmod((folder_.file("queue_minimal.so")).c_str(), 0666), 0);
  EXPECT_THAT(refusalOf("minimal"), AllOf(HasSubstr("queue_minimal.so"), HasSubstr("written by everybody")));
}

TEST_F(PluginLoaderTest, ALinkThatLeadsOutsideIsRefusedAndOneInsideIsFollowed) {
  const test::TempFolder outside;
  fs::copy_file(kFixtures + "good.so", outside.file("queue_minimal.so"));
  fs::create_symlink(outside.file("queue_minimal.so"), folder_.file("queue_minimal.so"));
  EXPECT_THAT(refusalOf("minimal"), AllOf(HasSubstr("outside the folder"), HasSubstr(outside.path())));
  fs::remove(folder_.file("queue_minimal.so"));
  put("good", "minimal-1.0.so");
  fs::create_symlink("minimal-1.0.so", folder_.file("queue_minimal.so"));
  const auto loaded = PluginLoader(folder_.path()).load(PluginKind::Queue, "minimal");
  EXPECT_TRUE(loaded.ok()) << loaded.error().text;
}

TEST_F(PluginLoaderTest, AFolderMustBeAbsoluteAndThere) {
  const auto load = [](const std::string& folder) {
    return PluginLoader(folder).load(PluginKind::Queue, "minimal").error().text;
  };
  EXPECT_THAT(load("plugins"), HasSubstr("relative"));
  EXPECT_THAT(load(""), HasSubstr("relative"));
  EXPECT_THAT(load("/nowhere/at/all"), HasSubstr("No such file"));
  EXPECT_THAT(load("/dev/null"), HasSubstr("not a folder"));
}

TEST_F(PluginLoaderTest, AListingShowsWhatFitsAndWhyTheRestDoesNot) {
  put("good", "queue_minimal.so");
  put("wrong_abi", "queue_wrongabi.so");
  put("good", "something.so");
  write("README.md", "no library");
  const auto list = PluginLoader(folder_.path()).list();
  ASSERT_TRUE(list.ok()) << list.error().text;
  ASSERT_EQ(list.value().size(), 3u);
  EXPECT_EQ(list.value()[0].file, "queue_minimal.so");
  ASSERT_NE(list.value()[0].descriptor, nullptr);
  EXPECT_EQ(list.value()[0].refusal, "");
  EXPECT_EQ(list.value()[1].descriptor, nullptr);
  EXPECT_THAT(list.value()[1].refusal, HasSubstr("ABI"));
  EXPECT_EQ(list.value()[2].file, "something.so");
  EXPECT_THAT(list.value()[2].refusal, HasSubstr("neither queue_<name>.so nor store_<name>.so"));
  EXPECT_THAT(PluginLoader(folder_.path()).names(PluginKind::Queue), ElementsAre("minimal", "wrongabi"));
}

}  // namespace
}  // namespace sluice
