// System: everything a command needs, opened from a configuration with an embedded Redis, and what is refused
// on the way.
#include "sluice/system.h"

#include <filesystem>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/plugin.h"

#include "support/places.h"
#include "support/temp_folder.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Sets = std::vector<std::pair<std::string, std::string>>;

Deadline soon() { return Deadline::in(milliseconds(30'000)); }

// A real store beside a queue that carries nothing: what is opened here has no need of another server than
// Redis.
class SystemTest : public ::testing::Test {
 protected:
  SystemTest() {
    fs::create_directory(folder_.file("plugins"));
    put(test::places::testBuild() + "/fixtures/good.so", "queue_minimal.so");
    put(test::places::testBuild() + "/fixtures/good_store.so", "store_modest.so");
    put(test::places::plugins() + "/store_sqlite.so", "store_sqlite.so");
  }

  void put(const std::string& from, const std::string& name) const {
    fs::copy_file(from, folder_.file("plugins/" + name));
  }

  [[nodiscard]] Config config(const Sets& more) const {
    ConfigSources sources;
    sources.sets = {{"plugins.dir", folder_.file("plugins")},
                    {"queue", "minimal"},
                    {"data.dir", folder_.file("data")},
                    {"redis.embedded", "true"},
                    {"log.file", folder_.file("log")}};
    sources.sets.insert(sources.sets.end(), more.begin(), more.end());
    std::vector<ConfigFault> faults;
    Config config = Config::load(sources, faults);
    for (const ConfigFault& fault : faults) {
      throw std::runtime_error(fault.key + ": " + fault.text);
    }
    return config;
  }

  test::TempFolder folder_;
};

TEST_F(SystemTest, ACommandFindsItsPartsStartedAndTheSchemaMade) {
  const auto system = System::open(config({}), SystemUse::Command, soon());
  ASSERT_TRUE(system.ok()) << system.error().text;
  Parts parts = system.value()->parts();
  const auto health = parts.qualifier.probe(soon());
  ASSERT_TRUE(health.ok()) << health.error().text;
  EXPECT_EQ(health.value().durability, Durability::L1);
  const auto vouchers = parts.store.listVouchers(VoucherId(), 10, soon());
  ASSERT_TRUE(vouchers.ok()) << vouchers.error().text;
  EXPECT_TRUE(vouchers.value().empty());
}

TEST_F(SystemTest, WhatOneCommandStoredTheNextOneFinds) {
  VoucherSettings settings;
  settings.title = "ten of them";
  settings.begin = fromMillis(1000);
  settings.end = fromMillis(2000);
  settings.allocated = 10;
  {
    const auto first = System::open(config({}), SystemUse::Command, soon());
    ASSERT_TRUE(first.ok()) << first.error().text;
    ASSERT_TRUE(first.value()->parts().store.createVoucher(VoucherId(7), settings, soon()).ok());
  }
  const auto second = System::open(config({}), SystemUse::Command, soon());
  ASSERT_TRUE(second.ok()) << second.error().text;
  const auto found = second.value()->parts().store.findVoucher(VoucherId(7), soon());
  ASSERT_TRUE(found.ok() && found.value().has_value());
  EXPECT_EQ(found.value()->settings.title, "ten of them");
}

TEST_F(SystemTest, ASecondCommandAttachesToTheRunningRedis) {
  const auto server = System::open(config({}), SystemUse::Serve, soon());
  ASSERT_TRUE(server.ok()) << server.error().text;
  ASSERT_TRUE(server.value()->parts().qualifier.start(soon()).ok());
  const auto command = System::open(config({}), SystemUse::Command, soon());
  ASSERT_TRUE(command.ok()) << command.error().text;
  EXPECT_EQ(server.value()->parts().qualifier.probe(soon()).value().identity,
            command.value()->parts().qualifier.probe(soon()).value().identity);
}

TEST_F(SystemTest, TheEnginesOptionsComeFromTheSettings) {
  const auto system = System::open(config({{"gate.batches", "3"},
                                           {"fulfilment.workers", "4"},
                                           {"fulfilment.batch", "50"},
                                           {"orders.pay.within", "2m"},
                                           {"process.lease", "5s"},
                                           {"fulfilment.pace", "7ms"},
                                           {"journal", "off"},
                                           {"http.port", "8123"}}),
                                   SystemUse::Serve, soon());
  ASSERT_TRUE(system.ok()) << system.error().text;
  const EngineOptions options = system.value()->engineOptions();
  EXPECT_EQ(options.role, Role::All);
  EXPECT_FALSE(options.journal);
  EXPECT_EQ(options.batchesInFlight, 3u);
  EXPECT_EQ(options.workers, 4u);
  EXPECT_EQ(options.batchMax, 50u);
  EXPECT_EQ(options.payWithin, milliseconds(120'000));
  EXPECT_EQ(options.leaseDuration, milliseconds(5000));
  EXPECT_EQ(options.orderPace, milliseconds(7));
  EXPECT_THAT(options.instance, HasSubstr(":8123"));
}

TEST_F(SystemTest, AQueueOfOneProcessNeedsBothRolesInIt) {
  const auto system = System::open(config({{"role", "front"}}), SystemUse::Serve, soon());
  ASSERT_FALSE(system.ok());
  EXPECT_EQ(system.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(system.error().text,
              AllOf(HasSubstr("queue minimal lives in one process"), HasSubstr("role = all")));
}

TEST_F(SystemTest, WhatAPluginRefusesIsPassedOnWithItsName) {
  const auto system = System::open(config({{"store", "modest"}}), SystemUse::Serve, soon());
  ASSERT_FALSE(system.ok());
  EXPECT_EQ(system.error().text, "store modest: the fixture makes no store");
}

TEST_F(SystemTest, ALogFileThatCannotBeOpenedIsNamed) {
  const auto system = System::open(config({{"log.file", "/nowhere/at/all.log"}}), SystemUse::Serve, soon());
  ASSERT_FALSE(system.ok());
  EXPECT_THAT(system.error().text, HasSubstr("/nowhere/at/all.log"));
}

TEST_F(SystemTest, ARedisThatIsAwayIsNamed) {
  const auto system =
      System::open(config({{"redis.embedded", "false"}, {"redis.socket", folder_.file("nobody.sock")}}),
                   SystemUse::Command, soon());
  ASSERT_FALSE(system.ok());
  EXPECT_EQ(system.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(system.error().text, HasSubstr("nobody.sock"));
}

}  // namespace
}  // namespace sluice
