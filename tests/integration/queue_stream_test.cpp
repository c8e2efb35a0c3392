// queue_stream against a real Redis: the contract, and what is its own: foreign bytes, lost groups, keys
// behind its back.
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "sluice/plugin.h"

#include "contract/queue_contract.h"
#include "stream_queue.h"
#include "support/private_redis.h"

extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

namespace {

const std::string kJournal = "t:{0}:orders";
const std::string kDead = "t:{0}:dead";
const std::string kGroup = "fulfilment";

// Counts the lines that reach it; `repeated` is bounded by the log behind it, so calls are counted by topic.
class CountingLog final : public Log {
 public:
  bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel, std::string_view, std::string_view) noexcept override { ++lines; }
  void repeated(LogLevel, std::string_view, std::string_view topic, std::string_view) noexcept override {
    const std::lock_guard lock(mutex_);
    ++topics_[std::string(topic)];
  }
  std::size_t topic(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return topics_[name];
  }
  std::atomic<std::size_t> lines{0};

 private:
  std::mutex mutex_;
  std::map<std::string, std::size_t> topics_;
};

class StreamFixture final : public QueueFixture {
 public:
  // `fsync`: with everysec a killed server may lose what it has answered (it postpones writes while it
  // syncs), with always not.
  explicit StreamFixture(milliseconds leaseOfAll, const std::string& fsync = "everysec")
      : redis({"--appendfsync", fsync}) {
    settings.group = kGroup;
    settings.keyPrefix = "t";
    settings.lease = leaseOfAll;
    settings.deadMax = 30;
    settings.redis = redis.target();
  }
  std::unique_ptr<OrderQueue> make(const std::string& instance, std::size_t consumers) override {
    stream::Settings own = settings;
    own.instance = instance;
    own.consumers = consumers;
    return std::make_unique<stream::StreamQueue>(own, log, systemClock(), systemRandom());
  }
  std::int64_t rawDepth() override { return redis.number({"XLEN", kJournal}); }
  std::size_t deadMax() const override { return static_cast<std::size_t>(settings.deadMax); }
  milliseconds lease() const override { return settings.lease; }
  void killServer() override { redis.kill(); }
  void startServer() override { redis.start(); }
  void freezeServer() override { redis.freeze(); }
  void resumeServer() override { redis.resume(); }

  PrivateRedis redis;
  CountingLog log;
  stream::Settings settings;
};

// Where nobody dies the lease is long, so that a slow machine takes nothing over.
const QueueCase kLongLease{"stream", [] { return std::make_unique<StreamFixture>(milliseconds(60000)); }};
const QueueCase kShortLease{"stream", [] { return std::make_unique<StreamFixture>(milliseconds(600)); }};

const QueueCase kSynced{"stream",
                        [] { return std::make_unique<StreamFixture>(milliseconds(2000), "always"); }};

INSTANTIATE_TEST_SUITE_P(Stream, QueueContract, testing::Values(kLongLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueDelay, testing::Values(kShortLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueLease, testing::Values(kShortLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueProcesses, testing::Values(kShortLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueServer, testing::Values(kSynced), queueCaseName);

// What only this queue has. The base's tools are used, its parameter is fixed.
class StreamQueue : public QueueContract {
 protected:
  StreamFixture& own() { return static_cast<StreamFixture&>(*fixture_); }
  PrivateRedis& redis() { return own().redis; }
  void injectField(const std::string& name, const std::string& bytes) {
    redis().command({"XADD", kJournal, "*", name, bytes});
  }
  // Nothing is left beside the journal once everything is settled.
  void expectClean() {
    EXPECT_EQ(redis().number({"XLEN", kJournal}), 0);
    EXPECT_EQ(redis().command({"XPENDING", kJournal, kGroup}).value()[0].integer(), 0);
    EXPECT_EQ(redis().number({"EXISTS", "t:{0}:failures", "t:{0}:retry"}), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Own, StreamQueue, testing::Values(kShortLease), queueCaseName);

std::string everyByte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

TEST_P(StreamQueue, ForeignBytesReachTheDeadLettersByteForByte) {
  const std::vector<std::string> foreign = {"",
                                            everyByte(),
                                            "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n",
                                            "2 1 1 1 1 1",
                                            "1 1 1 1 1",
                                            "1 0 1 1 1 1",
                                            "\xF0\x9F\x8E\x9F \xD7\xA9 e\xCC\x81",
                                            std::string(limits::kDeadBytesMax, 'x')};
  publish(1, 1);
  for (const std::string& bytes : foreign) {
    injectField("o", bytes);
  }
  publish(2, 1);
  EXPECT_EQ(ordersOf(take(2)), (std::vector<std::int64_t>{1, 2})) << "consumption goes on";
  const auto letters = dead();
  ASSERT_EQ(letters.size(), foreign.size());
  for (std::size_t k = 0; k < foreign.size(); ++k) {
    EXPECT_EQ(letters[k].bytes, foreign[k]) << k;
    EXPECT_FALSE(letters[k].admission) << k;
    EXPECT_EQ(letters[k].reason.rfind("undecodable: ", 0), 0U) << letters[k].reason;
    EXPECT_EQ(queue_->replayDeadLetter(letters[k].id, Deadline::in(kSoon)).error().code, ErrorCode::Corrupt);
  }
  EXPECT_EQ(stats().deadLettered, foreign.size());
  EXPECT_EQ(redis().number({"XLEN", kJournal}), 2);
}

TEST_P(StreamQueue, EntriesOfAnotherShapeAreKeptWhole) {
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

TEST_P(StreamQueue, AnUndecodableEntryOfADeadConsumerIsPutAsideToo) {
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

TEST_P(StreamQueue, UndecodableEntriesWaitWhileTheDeadLettersAreFull) {
  const std::size_t max = own().deadMax();
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

TEST_P(StreamQueue, LeavesNothingBehind) {
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

TEST_P(StreamQueue, TheDeadLetterInRedisNamesItsOrder) {
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

TEST_P(StreamQueue, AFlushedServerIsRebuiltOnceAndQuietly) {
  publish(1, 5);
  const auto held = take(5);
  std::atomic<bool> stop{false};
  std::thread waiting([&] {
    while (!stop) {
      (void)queue_->receive(1, 10, Deadline::in(milliseconds(100)));
    }
  });
  std::this_thread::sleep_for(milliseconds(100));
  redis().command({"FLUSHALL"});
  const Deadline deadline = Deadline::in(kSoon);
  while (stats().dataLost == 0 && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  std::this_thread::sleep_for(milliseconds(300));
  stop = true;
  waiting.join();
  EXPECT_EQ(stats().dataLost, 1U);
  EXPECT_EQ(own().log.topic("group gone"), 1U);
  EXPECT_EQ(own().log.lines, 0U);
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf(held)), 0U) << "what was lost is nobody's";
  publish(6, 3);
  EXPECT_EQ(ordersOf(take(3)), (std::vector<std::int64_t>{6, 7, 8}));
}

TEST_P(StreamQueue, ADestroyedGroupGetsEverythingAgain) {
  publish(1, 5);
  settle(settlementsOf(take(2)));
  redis().command({"XGROUP", "DESTROY", kJournal, kGroup});
  EXPECT_EQ(ordersOf(take(3)), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(stats().dataLost, 1U);
}

TEST_P(StreamQueue, ADeletedJournalUnderAWaitingConsumer) {
  std::thread deleter([this] {
    std::this_thread::sleep_for(milliseconds(100));
    redis().command({"DEL", kJournal});
    // As the qualify script does it: it knows nothing of groups.
    injectField("o", encodeAdmission(admissionOf(1)));
  });
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
  deleter.join();
  EXPECT_EQ(stats().dataLost, 1U);
}

TEST_P(StreamQueue, AServerThatComesBackEmptyIsOneLoss) {
  publish(1, 5);
  (void)take(5);
  redis().command({"FLUSHALL"});
  redis().restart();
  const Deadline deadline = Deadline::in(kSoon);
  while (!queue_->receive(0, 1, Deadline::in(milliseconds(50))).ok() && !deadline.passed()) {
  }
  EXPECT_EQ(stats().dataLost, 1U);
  publish(9, 1);
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{9});
}

TEST_P(StreamQueue, EntriesDeletedWhilePendingAreDroppedAndCounted) {
  publish(1, 3);
  (void)take(3);
  queue_.reset();
  redis().command({"XTRIM", kJournal, "MAXLEN", "1"});
  queue_ = open("first");
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{3});
  EXPECT_EQ(stats().vanished, 2U);
  EXPECT_EQ(stats().inFlight, 1);
  EXPECT_EQ(stats().ready, 0);
}

TEST_P(StreamQueue, AForgottenRetryIsStillFound) {
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = milliseconds(3600000);
  settle(later);
  expectQuiet(*queue_, 0, own().lease() * 2);
  // Somebody deletes the timetable, and an hour passes.
  redis().command({"DEL", "t:{0}:retry"});
  const auto id = std::string(redis().command({"XRANGE", kJournal, "-", "+"}).value()[0][0].text());
  redis().command({"XCLAIM", kJournal, kGroup, "~later", "0", id, "IDLE", "3700000", "JUSTID"});
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
}

TEST_P(StreamQueue, ATokenSurvivesALostConnection) {
  publish(1, 2);
  const auto held = take(2);
  redis().command({"CLIENT", "KILL", "TYPE", "normal"});
  const Deadline deadline = Deadline::in(kSoon);
  Result<std::vector<SettleOutcome>> outcome{ErrorCode::Unavailable, ""};
  while (!outcome && !deadline.passed()) {
    outcome = queue_->settle(0, settlementsOf({held.at(0)}), Deadline::in(milliseconds(500)));
  }
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().at(0), SettleOutcome::Settled) << "still ours in Redis";
  const auto again = take(1);
  EXPECT_EQ(ordersOf(again), std::vector<std::int64_t>{2});
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held.at(1)})), 0U) << "it was handed out anew";
  settle(settlementsOf(again));
  expectClean();
}

TEST_P(StreamQueue, OnlyConsumersThatOwnNothingAreRetired) {
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

TEST_P(StreamQueue, PublishingStopsAtTheCapWithNothingTaken) {
  own().settings.journalMax = 10;
  queue_ = open("first");
  publish(1, 8);
  const Status refused = publish(*queue_, admissionsOf(9, 3));
  EXPECT_EQ(refused.error().code, ErrorCode::Overloaded);
  EXPECT_EQ(fixture_->rawDepth(), 8);
  settle(settlementsOf({take(8).at(0)}));
  EXPECT_TRUE(publish(*queue_, admissionsOf(9, 3)).ok());
  const auto rest = take(3);
  settle(settlementsOf({rest.at(0)}, SettleKind::DeadLetter));
  publish(20, 1);
  EXPECT_EQ(queue_->replayDeadLetter(dead().at(0).id, Deadline::in(kSoon)).error().code,
            ErrorCode::Overloaded);
  EXPECT_EQ(dead().size(), 1U) << "a full journal keeps the dead letter";
}

TEST_P(StreamQueue, TwoShopsOnOneServerDoNotMix) {
  own().settings.keyPrefix = "u";
  const auto other = open("first");
  publish(1, 1);
  ASSERT_TRUE(publish(*other, admissionsOf(2, 1)).ok());
  EXPECT_EQ(ordersOf(take(1)), std::vector<std::int64_t>{1});
  EXPECT_EQ(ordersOf(take(*other, 0, 1)), std::vector<std::int64_t>{2});
}

TEST_P(StreamQueue, FullMemoryStillLetsOrdersBeSettled) {
  publish(1, 100);
  const auto held = take(100);
  redis().command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(publish(*queue_, admissionsOf(200, 1)).error().code, ErrorCode::Unavailable);
  auto later = settlementsOf({held.at(0)}, SettleKind::RetryLater);
  EXPECT_EQ(queue_->settle(0, later, Deadline::in(kSoon)).error().code, ErrorCode::Unavailable);
  settle(settlementsOf({held.begin() + 1, held.end()}));
  redis().command({"CONFIG", "SET", "maxmemory", "0"});
  settle(later);
  const auto last = take(1);
  EXPECT_EQ(last.at(0).failures, 1U) << "the refused settlement left nothing half done";
  settle(settlementsOf(last));
  expectClean();
}

TEST_P(StreamQueue, AJournalOfAnotherTypeIsSaidSo) {
  queue_.reset();
  redis().command({"DEL", kJournal});
  redis().command({"SET", kJournal, "a string"});
  const auto strange = fixture_->make("first", 1);
  const Status refused = strange->start(Deadline::in(kSoon));
  EXPECT_EQ(refused.error().code, ErrorCode::Corrupt) << refused.error().text;
  EXPECT_EQ(redis().text({"GET", kJournal}), "a string");
}

TEST_P(StreamQueue, AWrongPasswordIsAnOperatorsMatter) {
  own().settings.redis.password = "wrong-secret";
  const auto locked = fixture_->make("first", 1);
  const Status refused = locked->start(Deadline::in(kSoon));
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << refused.error().text;
  EXPECT_EQ(refused.error().text.find("wrong-secret"), std::string::npos);
}

TEST_P(StreamQueue, ForcedReconnectsLeakNothing) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  publish(1, 1);
  (void)take(1);
  const auto before = descriptors();
  for (int round = 0; round < 100; ++round) {
    redis().command({"CLIENT", "KILL", "TYPE", "normal"});
    (void)queue_->receive(0, 1, Deadline::in(milliseconds(1)));
    (void)queue_->receive(0, 1, Deadline::in(milliseconds(1)));
  }
  EXPECT_LE(descriptors(), before + 2);
  EXPECT_GE(stats().reconnects, 10U);
  publish(2, 1);
  EXPECT_TRUE(publish(*queue_, admissionsOf(3, 1)).ok());
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
