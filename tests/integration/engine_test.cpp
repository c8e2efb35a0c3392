// The engine on a real Redis, the stream and SQLite: a storm, a killed Redis, an emptied Redis; at the end
// the audit.
#include "sluice/engine.h"

#include <atomic>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "sluice/audit.h"
#include "sluice/system.h"

#include "support/places.h"
#include "support/private_redis.h"
#include "support/temp_folder.h"

namespace sluice::test {
namespace {

Deadline soon() { return Deadline::in(milliseconds(30'000)); }

class EngineOnServers : public ::testing::Test {
 protected:
  EngineOnServers() {
    ConfigSources sources;
    sources.sets = {{"plugins.dir", places::plugins()},
                    {"queue", "stream"},
                    {"store", "sqlite"},
                    {"data.dir", folder_.file("data")},
                    {"log.file", folder_.file("log")},
                    {"redis.socket", redis_.target().socketPath}};
    std::vector<ConfigFault> faults;
    const Config config = Config::load(sources, faults);
    for (const ConfigFault& fault : faults) {
      ADD_FAILURE() << fault.key << ": " << fault.text;
    }
    auto opened = System::open(config, SystemUse::Serve, soon());
    if (!opened) throw std::runtime_error(opened.error().text);
    system_ = std::move(opened).take();
    engine_ = Engine::make(system_->parts(), system_->engineOptions());
    const Status started = engine_->start(soon());
    EXPECT_TRUE(started) << started.error().text;
  }
  ~EngineOnServers() override { engine_->stop(soon()); }

  VoucherId sell(std::int64_t allocated) {
    VoucherSettings settings;
    settings.title = "voucher";
    settings.begin = systemClock().now() - std::chrono::hours(1);
    settings.end = systemClock().now() + std::chrono::hours(1);
    settings.allocated = allocated;
    Vouchers vouchers(system_->parts());
    const auto made = vouchers.create(VoucherId(), settings, soon());
    EXPECT_TRUE(made.ok()) << made.error().text;
    const auto loaded = vouchers.load(made.value().id, soon());
    EXPECT_TRUE(loaded.ok()) << loaded.error().text;
    return made.value().id;
  }
  // Each user once, from so many threads; those who did not get an answer ask again while `again` says so.
  void storm(VoucherId voucher, std::int64_t users, const std::function<void()>& meanwhile) {
    constexpr std::int64_t kThreads = 32;
    std::vector<std::thread> threads;
    for (std::int64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([this, voucher, users, thread] {
        for (std::int64_t user = thread + 1; user <= users; user += kThreads) {
          askUntilAnswered(voucher, UserId(user));
        }
      });
    }
    meanwhile();
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  void askUntilAnswered(VoucherId voucher, UserId user) {
    for (const Deadline end = soon(); !end.passed();) {
      const OrderAnswer answer = engine_->order({voucher, user, 1, {}}, Deadline::in(milliseconds(1000)));
      if (answer.verdict == Verdict::Admitted || answer.verdict == Verdict::AlreadyOrdered) ++winners_;
      const bool answered =
          answer.verdict != Verdict::Unavailable && answer.verdict != Verdict::OutcomeUnknown;
      if (answered) return;
      std::this_thread::sleep_for(milliseconds(20));
    }
    ADD_FAILURE() << "no answer for half a minute";
  }
  [[nodiscard]] static bool eventually(const std::function<bool()>& happened) {
    for (const Deadline end = soon(); !end.passed();) {
      if (happened()) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }
  AuditReport auditAtRest() {
    Result<AuditReport> report = audit(system_->parts(), soon());
    EXPECT_TRUE(eventually([&] {
      report = audit(system_->parts(), soon());
      return report.ok() && report.value().atRest && report.value().clean();
    }));
    for (const Violation& violation : report.value().violations) {
      ADD_FAILURE() << violation.invariant << ": " << violation.text;
    }
    return report.value();
  }

  PrivateRedis redis_;
  TempFolder folder_;
  std::unique_ptr<System> system_;
  std::unique_ptr<Engine> engine_;
  std::atomic<std::int64_t> winners_{0};
};

TEST_F(EngineOnServers, AStormSellsExactlyWhatThereIs) {
  ASSERT_TRUE(engine_->readiness().ready);
  const VoucherId voucher = sell(300);
  storm(voucher, 2000, [] {});
  EXPECT_EQ(winners_, 300);
  EXPECT_TRUE(eventually([&] { return engine_->stats().stored == 300; }));
  const AuditReport report = auditAtRest();
  EXPECT_EQ(report.vouchers[0].livePieces, 300);
  EXPECT_TRUE(eventually([&] {
    return system_->parts().store.totals(VoucherId(), 10, soon()).value()[0].countedAdmissions == 300;
  }));
}

TEST_F(EngineOnServers, ARedisThatDiesInTheStormIsUsedAgainAndNothingIsSoldTwice) {
  const VoucherId voucher = sell(5000);
  storm(voucher, 8000, [this] {
    EXPECT_TRUE(eventually([&] { return engine_->stats().stored >= 50; }));
    redis_.kill();
    EXPECT_TRUE(eventually([&] { return !engine_->readiness().ready; }));
    redis_.start();
    const SteadyTime back = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] { return engine_->readiness().ready; }));
    const auto took = std::chrono::steady_clock::now() - back;
    RecordProperty("ready_after_ms",
                   static_cast<int>(std::chrono::duration_cast<milliseconds>(took).count()));
  });
  EXPECT_TRUE(
      eventually([&] { return engine_->stats().queue.ready + engine_->stats().queue.inFlight == 0; }));
  const AuditReport report = auditAtRest();
  EXPECT_LE(report.vouchers[0].livePieces, 5000);
  EXPECT_EQ(report.vouchers[0].stock, 0);
}

TEST_F(EngineOnServers, AnEmptiedRedisIsUnavailableAndALoadOpensItAgain) {
  const VoucherId voucher = sell(300);
  askUntilAnswered(voucher, UserId(1));
  ASSERT_TRUE(
      eventually([&] { return engine_->stats().stored == 1 && engine_->stats().queue.inFlight == 0; }));
  (void)redis_.command({"FLUSHALL"});
  EXPECT_EQ(engine_->order({voucher, UserId(2), 1, {}}, soon()).verdict, Verdict::Unavailable);
  Vouchers vouchers(system_->parts());
  EXPECT_TRUE(eventually([&] { return vouchers.load(voucher, soon()).ok(); }));
  EXPECT_EQ(engine_->order({voucher, UserId(1), 1, {}}, soon()).verdict, Verdict::AlreadyOrdered);
  EXPECT_EQ(engine_->order({voucher, UserId(2), 1, {}}, soon()).verdict, Verdict::Admitted);
  EXPECT_TRUE(eventually([&] { return engine_->stats().stored == 2; }));
  (void)auditAtRest();
}

}  // namespace
}  // namespace sluice::test
