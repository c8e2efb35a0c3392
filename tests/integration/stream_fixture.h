// A queue_stream on a Redis of its own, for the contract suite and for the tests of what only it has.
#pragma once

#include "contract/queue_contract.h"
#include "stream_queue.h"
#include "support/private_redis.h"

namespace sluice::test {

inline const std::string kJournal = "t:{0}:orders";
inline const std::string kDead = "t:{0}:dead";
inline const std::string kGroup = "fulfilment";

class StreamFixture final : public QueueFixture, public QueueServerPower {
 public:
  explicit StreamFixture(const QueueNeeds& wanted);
  std::unique_ptr<OrderQueue> make(const std::string& instance, std::size_t consumers) override;
  std::unique_ptr<OrderQueue> makeNamed(const std::string& name) override;
  std::int64_t rawDepth() override { return redis.number({"XLEN", kJournal}); }
  std::vector<WrongOpening> wrongOpenings() override;
  [[nodiscard]] std::string address() const override;
  std::optional<RawFigures> raw() override;
  QueueServerPower* server() override { return this; }
  FaultProxy* line() override { return proxy_.get(); }
  bool inject(const std::string& bytes) override;

  void kill() override { redis.kill(); }
  void start() override { redis.start(); }
  void freeze() override { redis.freeze(); }
  void resume() override { redis.resume(); }
  void cutConnections() override { redis.command({"CLIENT", "KILL", "TYPE", "normal"}); }
  void lose(Loss what) override;
  void setMemoryFull(bool full) override { redis.command({"CONFIG", "SET", "maxmemory", full ? "1" : "0"}); }
  void occupy() override;
  bool isOccupied() override { return redis.text({"GET", kJournal}) == "a string"; }

  // With everysec a killed server may lose what it has answered (it postpones writes while it syncs), with
  // always not.
  PrivateRedis redis{{"--appendfsync", needs.synced ? "always" : "everysec"}};
  stream::Settings settings;

 private:
  std::unique_ptr<OrderQueue> makeWith(const stream::Settings& own);
  std::unique_ptr<FaultProxy> proxy_;
};

// What StreamFixture::address() says, opened by another process.
std::unique_ptr<OrderQueue> joinStream(const std::string& address, const std::string& instance);

inline const QueueCase kStream{
    "stream", [](const QueueNeeds& needs) { return std::make_unique<StreamFixture>(needs); }, joinStream};

// What only this queue has. The base's tools are used, its parameter is fixed.
class StreamOwn : public QueueContract {
 protected:
  [[nodiscard]] QueueNeeds needs() const override { return {.lease = kShortLease}; }
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
