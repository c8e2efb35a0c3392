// A queue_stream on a Redis of its own, for the tests of the stream queue.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "contract/queue_contract.h"
#include "stream_queue.h"
#include "support/private_redis.h"

namespace sluice::test {

inline const std::string kJournal = "t:{0}:orders";
inline const std::string kDead = "t:{0}:dead";
inline const std::string kGroup = "fulfilment";

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

// What only this queue has. The base's tools are used, its parameter is fixed.
class StreamOwn : public QueueContract {
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

}  // namespace sluice::test
