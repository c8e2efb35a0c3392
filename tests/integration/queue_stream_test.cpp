// What only queue_stream has: entries of other shapes, keys behind its back, consumers that retire, options.
#include <thread>

#include "sluice/plugin.h"

#include "stream_fixture.h"

// NOLINTNEXTLINE(readability-identifier-naming): the one symbol of the plugin boundary
extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

namespace {

INSTANTIATE_TEST_SUITE_P(Own, StreamOwn, testing::Values(kStream), queueCaseName);

TEST_P(StreamOwn, Q28_EntriesOfAnotherShapeAreKeptWhole) {
  injectField("other", "value");
  redis().command({"XADD", kJournal, "*", "o", encodeAdmission(admissionOf(1)), "x", "y"});
  injectField("o", std::string(limits::kDeadBytesMax + 1, 'x'));
  publish(2, 1);
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{2});
  const auto letters = dead();
  ASSERT_EQ(letters.size(), 3U);
  EXPECT_EQ(letters[0].bytes, "5:other,5:value,");
  const std::string packed = encodeAdmission(admissionOf(1));
  EXPECT_EQ(letters[1].bytes, "1:o," + std::to_string(packed.size()) + ":" + packed + ",1:x,1:y,");
  EXPECT_EQ(letters[2].bytes.size(), limits::kDeadBytesMax);
}

TEST_P(StreamOwn, Q28_AnUndecodableEntryOfADeadConsumerIsPutAsideToo) {
  injectField("o", "garbage");
  redis().command({"XREADGROUP", "GROUP", kGroup, "gone-0", "STREAMS", kJournal, ">"});
  const Deadline deadline = Deadline::in(kSoon);
  while (dead().empty() && !deadline.passed()) {
    expectQuiet(*queue_, 0, milliseconds(50));
  }
  ASSERT_EQ(dead().size(), 1U);
  EXPECT_EQ(dead()[0].bytes, "garbage");
  EXPECT_EQ(dead()[0].deliveries, 2U);
  expectClean();
}

TEST_P(StreamOwn, Q28_UndecodableEntriesWaitWhileTheDeadLettersAreFull) {
  const std::size_t max = own().needs.deadMax;
  for (std::size_t k = 0; k < max + 1; ++k) {
    injectField("o", "garbage");
  }
  publish(1, 1);
  const auto batch = queue_->receive(0, limits::kReceiveBatchMax, Deadline::in(kSoon));
  ASSERT_TRUE(batch.ok()) << batch.error().text;
  EXPECT_EQ(ordersOf(batch.value()), std::vector<std::int64_t>{1});
  EXPECT_EQ(redis().number({"XLEN", kJournal}), static_cast<std::int64_t>(max) + 2) << "all or none";
  EXPECT_TRUE(dead().empty());
  settle(settlementsOf(batch.value()));
  own().settings.deadMax = 1000;
  queue_ = open("first");
  const Deadline deadline = Deadline::in(kSoon);
  while (dead().size() < max + 1 && !deadline.passed()) {
    (void)queue_->receive(0, 100, Deadline::in(milliseconds(50)));
  }
  expectClean();
}

TEST_P(StreamOwn, LeavesNothingBehind) {
  publish(1, 40);
  auto held = take(40);
  std::vector<Delivery> half(held.begin(), held.begin() + 20);
  settle(settlementsOf(half, SettleKind::RetryLater));
  half.assign(held.begin() + 20, held.end());
  settle(settlementsOf(half));
  held = take(20);
  half.assign(held.begin(), held.begin() + 10);
  settle(settlementsOf(half, SettleKind::DeadLetter));
  half.assign(held.begin() + 10, held.end());
  settle(settlementsOf(half));
  expectClean();
  for (const DeadLetter& letter : dead()) {
    EXPECT_EQ(letter.failures, 1U);
    ASSERT_TRUE(queue_->removeDeadLetter(letter.id, Deadline::in(kSoon)).ok());
  }
  EXPECT_EQ(redis().number({"XLEN", kDead}), 0);
}

TEST_P(StreamOwn, Q29_TheDeadLetterInRedisNamesItsOrder) {
  (void)deadLetter(77, "why");
  const auto reply = redis().command({"XRANGE", kDead, "-", "+"});
  const RedisValue fields = reply.value()[0][1];
  std::map<std::string, std::string> found;
  for (std::size_t k = 0; k + 1 < fields.size(); k += 2) {
    found.emplace(fields[k].text(), fields[k + 1].text());
  }
  EXPECT_EQ(found["order"], "77");
  EXPECT_EQ(found["reason"], "why");
  EXPECT_EQ(found["bytes"], encodeAdmission(admissionOf(77)));
  EXPECT_EQ(found["deliveries"], "1");
  EXPECT_EQ(found["failures"], "0");
  EXPECT_GT(std::stoll(found["at"]), 0);
}

TEST_P(StreamOwn, Q36_OnlyConsumersThatOwnNothingAreRetired) {
  own().settings.retire = milliseconds(300);
  queue_ = open("first");
  publish(1, 1);
  redis().command({"XREADGROUP", "GROUP", kGroup, "owner-0", "STREAMS", kJournal, ">"});
  redis().command({"XGROUP", "CREATECONSUMER", kJournal, kGroup, "idle-0"});
  const auto consumers = [this] {
    std::set<std::string> names;
    const auto reply = redis().command({"XINFO", "CONSUMERS", kJournal, kGroup});
    for (std::size_t k = 0; k < reply.value().size(); ++k) {
      names.emplace(reply.value()[k][1].text());
    }
    return names;
  };
  EXPECT_EQ(consumers().count("idle-0"), 1U);
  const auto taken = take(1);
  EXPECT_EQ(ordersOf(taken), std::vector<std::int64_t>{1}) << "taken over, not lost with its owner's record";
  const Deadline deadline = Deadline::in(kSoon);
  while ((consumers().count("idle-0") != 0 || consumers().count("owner-0") != 0) && !deadline.passed()) {
    (void)queue_->extend(0, tokensOf(taken), Deadline::in(kSoon));
    (void)queue_->receive(0, 1, Deadline::in(milliseconds(50)));
  }
  EXPECT_EQ(consumers().count("idle-0"), 0U);
  EXPECT_EQ(consumers().count("owner-0"), 0U);
  settle(settlementsOf(taken));
  expectClean();
}

TEST(StreamPlugin, Q49_NeedsRedis62) {
  for (const char* old : {"2.8.0", "5.0.14", "6.0.16", "6.1.240", "", "x"}) {
    EXPECT_FALSE(stream::isSupported(old)) << old;
  }
  for (const char* good : {"6.2.0", "6.2.14", "7.0.15", "7.2.4", "8.0", "10.0.1"}) {
    EXPECT_TRUE(stream::isSupported(good)) << good;
  }
}

Result<std::unique_ptr<OrderQueue>> fromFactory(bool journal,
                                                const std::map<std::string, std::string>& options,
                                                std::vector<ConfigFault>& faults) {
  const PluginDescriptor& plugin = *sluice_plugin();
  const OptionMap map = checkOptions({plugin.options, plugin.optionCount}, options, "queue.stream.", faults);
  if (!faults.empty()) return {ErrorCode::Misconfigured, faults[0].text};
  return plugin.makeQueue({.options = map,
                           .log = noLog(),
                           .clock = systemClock(),
                           .random = systemRandom(),
                           .redis = {},
                           .keyPrefix = "t",
                           .instance = "local",
                           .consumers = 1,
                           .journal = journal,
                           .journalMax = 1000});
}

TEST(StreamPlugin, TheFactoryNeedsTheJournal) {
  std::vector<ConfigFault> faults;
  const auto refused = fromFactory(false, {}, faults);
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  EXPECT_NE(refused.error().text.find("journal = on"), std::string::npos);
  EXPECT_TRUE(fromFactory(true, {{"lease", "30s"}}, faults).ok());
  EXPECT_EQ(fromFactory(true, {{"group", ""}}, faults).error().code, ErrorCode::Misconfigured);
  EXPECT_TRUE(faults.empty());
  EXPECT_FALSE(fromFactory(true, {{"leese", "30s"}}, faults).ok());
  EXPECT_NE(faults.at(0).text.find("lease"), std::string::npos);
}

}  // namespace

}  // namespace sluice::test
