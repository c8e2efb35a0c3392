// Many threads at once, with the script cache flushed beneath them: nothing is sold twice, nothing is lost.
#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "integration/qualify_fixture.h"

namespace sluice::test {
namespace {

class QualifyConcurrent : public QualifyFixture {
 protected:
  // Asks for `batches` batches of 16 and counts what was admitted. Users are `firstUser` and up, one
  // request each.
  std::int64_t buy(std::int64_t firstUser, int batches, std::int64_t firstOrder) {
    std::int64_t admitted = 0;
    for (int batch = 0; batch < batches; ++batch) {
      std::vector<QualifyRequest> requests;
      for (int k = 0; k < 16; ++k) {
        const std::int64_t number = batch * 16 + k;
        requests.push_back(request(firstOrder + number, firstUser + number));
      }
      for (const Decision& decision : decide(requests)) {
        admitted += decision.fresh ? 1 : 0;
      }
    }
    return admitted;
  }
};

TEST_F(QualifyConcurrent, V14_V19_TheStockIsSoldExactlyOnceWhileTheScriptCacheIsFlushed) {
  constexpr int kThreads = 6;
  constexpr std::int64_t kStock = 500;
  load(voucherOf(kStock));
  std::atomic<bool> done{false};
  std::thread flusher([&] {
    while (!done) {
      redis.command({"SCRIPT", "FLUSH"});
    }
  });
  std::atomic<std::int64_t> admitted{0};
  // Every user asks from two threads under different order ids.
  inThreads(kThreads, [&](int thread) { admitted += buy(1 + thread / 2 * 1000, 20, 1 + thread * 100'000); });
  done = true;
  flusher.join();
  EXPECT_EQ(admitted, kStock);
  EXPECT_EQ(snapshot().stock, 0);
  expectConserved();
  std::set<OrderId> orders;
  std::set<UserId> users;
  for (const Admission& admission : journal()) {
    EXPECT_TRUE(orders.insert(admission.order).second);
    EXPECT_TRUE(users.insert(admission.user).second) << "a user has two";
  }
  EXPECT_EQ(orders.size(), static_cast<std::size_t>(kStock));
}

TEST_F(QualifyConcurrent, V08_V19_ReleasesAndRestoresBesideASaleKeepTheCountersRight) {
  load(voucherOf(1000, 2));
  inThreads(4, [&](int thread) {
    const std::int64_t base = 1 + thread * 10'000;
    for (std::int64_t k = 0; k < 40; ++k) {
      const std::int64_t order = base + k;
      EXPECT_TRUE(decideOne(request(order, order)).fresh);
      const std::vector<Admission> dead = {admission(order, order)};
      const std::vector<Order> live = {liveOrder(order + 5000, order)};
      EXPECT_EQ(qualifier->restore(live, soon()).value(), 1U);
      EXPECT_EQ(qualifier->release(dead, soon()).value().at(0), ReleaseOutcome::Released);
      EXPECT_EQ(qualifier->release(dead, soon()).value().at(0), ReleaseOutcome::Absent);
    }
  });
  EXPECT_EQ(snapshot().held, 160);
  expectConserved();
}

TEST_F(QualifyConcurrent, V18_V19_ConnectionsThatAreKilledDoNotMixUpAnswers) {
  load(voucherOf(100'000));
  std::atomic<bool> done{false};
  std::thread killer([&] {
    while (!done) {
      redis.command({"CLIENT", "KILL", "TYPE", "normal"});
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  std::atomic<std::int64_t> admitted{0};
  inThreads(4, [&](int thread) {
    for (std::int64_t k = 1; k <= 500; ++k) {
      const std::int64_t order = thread * 1000 + k;
      const QualifyRequest asked = request(order, order);
      Decision decision;
      if (qualifier->decide(kVoucher, {&asked, 1}, clock.now(), {&decision, 1}, soon())) {
        EXPECT_EQ(decision.verdict, Verdict::Admitted);
        EXPECT_EQ(decision.order, asked.order);
        ++admitted;
      }
    }
  });
  done = true;
  killer.join();
  open({});  // the old one may still be pausing after a failed connect
  expectConserved();
  EXPECT_GT(admitted, 0);
  EXPECT_GE(snapshot().held, admitted);
  EXPECT_EQ(static_cast<std::int64_t>(journal().size()), snapshot().held);
}

TEST_F(QualifyConcurrent, V22_ProbesTrustAndStopMayComeAtAnyTime) {
  load(voucherOf(1000));
  std::thread stopper([&] {
    for (int k = 0; k < 20; ++k) {
      const auto health = qualifier->probe(soon());
      if (health) qualifier->trust(health.value().identity);
      static_cast<void>(qualifier->stats());
    }
    qualifier->stop();
  });
  inThreads(3, [&](int thread) {
    for (std::int64_t k = 1; k <= 400; ++k) {
      const Status decided = tryDecide(request(thread * 1000 + k, thread * 1000 + k));
      if (!decided && decided.error().code == ErrorCode::Stopped) return;
    }
  });
  stopper.join();
  EXPECT_EQ(tryDecide(request(1, 1)).error().code, ErrorCode::Stopped);
}

TEST_F(QualifyConcurrent, V14_ScriptsFlushedEveryHundredMillisecondsUnderLoadMakeNoDifference) {
  const std::int64_t orders = sized<std::int64_t>(3000, 200'000);  // of each thread
  load(voucherOf(4 * orders - 100));
  std::atomic<bool> done{false};
  std::atomic<int> flushes{0};
  std::thread flusher([&] {
    for (; !done || flushes < 3; ++flushes) {
      redis.command({"SCRIPT", "FLUSH"});
      std::this_thread::sleep_for(milliseconds(100));
    }
  });
  std::atomic<std::int64_t> admitted{0};
  inThreads(4, [&](int thread) {
    for (std::int64_t k = 1; k <= orders; ++k) {
      const std::int64_t order = thread * 1'000'000 + k;
      admitted += decideOne(request(order, order)).fresh ? 1 : 0;
      if (k % 100 == 0) {  // the other scripts too
        EXPECT_EQ(restore({liveOrder(order, order)}), 0U);
        EXPECT_TRUE(snapshot().conserved());
      }
    }
  });
  done = true;
  flusher.join();
  EXPECT_EQ(admitted, 4 * orders - 100);
  EXPECT_EQ(snapshot().stock, 0);
  EXPECT_EQ(qualifier->stats().errors, 0U);
  EXPECT_EQ(static_cast<std::int64_t>(journal().size()), admitted);
  expectConserved();
}

}  // namespace
}  // namespace sluice::test
