// Contract of OrderStore, fifth part: many threads, and two store objects on one database.
#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "contract/store_contract.h"

namespace sluice::test {
namespace {

// Runs `work` in `count` threads at once and waits for all.
void inThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  std::atomic<int> ready{0};
  for (int k = 0; k < count; ++k) {
    threads.emplace_back([&, k] {
      ++ready;
      while (ready < count)
        std::this_thread::yield();
      work(k);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_P(StoreContract, S23_StockNeverFallsBelowZeroUnderManyBuyers) {
  const VoucherId id = sell(100, 3);
  std::atomic<std::int64_t> sold{0};
  inThreads(8, [&](int thread) {
    for (int k = 0; k < 25; ++k) {
      std::vector<Admission> batch;
      for (int j = 0; j < 5; ++j) {
        const std::int64_t order = 1 + thread * 1000 + k * 5 + j;
        batch.push_back(admission(order, order, id, 1 + (k + j) % 3));
      }
      const auto outcomes = store().persist(batch, now_, payBy_, soon());
      ASSERT_TRUE(outcomes) << outcomes.error().text;
      for (std::size_t j = 0; j < batch.size(); ++j) {
        if (outcomes.value()[j].kind == PersistKind::Stored) sold += batch[j].quantity;
      }
    }
  });
  EXPECT_EQ(sold, 100);
  EXPECT_EQ(voucher(id).remaining, 0);
  EXPECT_EQ(totals(id).livePieces, 100);
}

TEST_P(StoreContract, ALimitOfThreeIsNeverExceededByEightThreads) {
  const VoucherId id = sell(1000, 3);
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    while (!done) {
      EXPECT_EQ(totals(id).usersOverLimit, 0);
    }
  });
  inThreads(8, [&](int thread) {
    for (int k = 0; k < 20; ++k) {
      const std::int64_t order = 1 + thread * 100 + k;
      const Admission wanted = admission(order, 1 + k % 4, id, 1 + k % 2);
      const auto outcome = store().persist({&wanted, 1}, now_, payBy_, soon());
      ASSERT_TRUE(outcome) << outcome.error().text;
      if (outcome.value()[0].kind == PersistKind::Stored && order % 3 == 0) {
        ASSERT_TRUE(store().cancel({wanted, DeadReason::ByUser}, now_, soon()).value().changed);
      }
    }
  });
  done = true;
  watcher.join();
  EXPECT_EQ(totals(id).usersOverLimit, 0);
}

TEST_P(StoreContract, PayCancelAndExpiryHaveOneWinner) {
  constexpr int kOrders = 40;
  const VoucherId id = sell(kOrders);
  for (int k = 1; k <= kOrders; ++k) {
    persist(admission(k, k, id));
  }
  std::vector<std::atomic<int>> wins(kOrders + 1);
  std::atomic<std::size_t> expired{0};
  inThreads(6, [&](int thread) {
    for (int k = 1; k <= kOrders; ++k) {
      if (thread < 2) {
        const auto change = store().pay(OrderId(k), now_, soon());
        ASSERT_TRUE(change) << change.error().text;
        wins[static_cast<std::size_t>(k)] += change.value().changed;
      } else if (thread < 4) {
        const auto change = store().cancel({admission(k, k, id), DeadReason::ByUser}, now_, soon());
        ASSERT_TRUE(change) << change.error().text;
        wins[static_cast<std::size_t>(k)] += change.value().changed;
      } else if (k % 8 == 0) {
        const auto count = store().expire(payBy_, 1, soon());
        ASSERT_TRUE(count) << count.error().text;
        expired += count.value();
      }
    }
  });
  int changes = 0;
  std::size_t unpaid = 0;
  std::int64_t live = 0;
  for (int k = 1; k <= kOrders; ++k) {
    const Order after = row(k);
    EXPECT_LE(wins[static_cast<std::size_t>(k)], 1) << "order " << k;
    changes += wins[static_cast<std::size_t>(k)];
    unpaid += after.reason == DeadReason::Unpaid;
    live += isLive(after.status);
    EXPECT_NE(after.status, OrderStatus::PendingPayment);
  }
  EXPECT_EQ(unpaid, expired);
  EXPECT_EQ(static_cast<std::size_t>(changes) + expired, std::size_t{kOrders});
  EXPECT_EQ(voucher(id).remaining, kOrders - live);
}

TEST_P(StoreContract, S12_OverlappingBatchesOverTwentyVouchersStoreEachOrderOnce) {
  std::vector<VoucherId> vouchers;
  for (int k = 0; k < 20; ++k) {
    vouchers.push_back(sell(10000));
  }
  const auto voucherOf = [&](std::int64_t order) { return vouchers[static_cast<std::size_t>(order) % 20]; };
  const auto other = openStore();  // a second store object, as another process would have
  std::atomic<int> stored{0};
  inThreads(8, [&](int thread) {
    std::mt19937 chance(static_cast<unsigned>(thread));
    std::vector<std::int64_t> orders(200);
    std::iota(orders.begin(), orders.end(), 1);
    std::shuffle(orders.begin(), orders.end(), chance);
    OrderStore& mine = thread % 2 == 0 ? store() : *other;
    for (std::size_t from = 0; from < orders.size(); from += 40) {
      std::vector<Admission> batch;
      for (std::size_t k = from; k < from + 40; ++k) {
        batch.push_back(admission(orders[k], orders[k], voucherOf(orders[k])));
      }
      const auto outcomes = mine.persist(batch, now_, payBy_, soon());
      ASSERT_TRUE(outcomes) << outcomes.error().text;
      for (const PersistOutcome& outcome : outcomes.value()) {
        stored += outcome.kind == PersistKind::Stored;
        ASSERT_TRUE(outcome.kind == PersistKind::Stored || outcome == kAlreadyPending);
      }
    }
  });
  EXPECT_EQ(stored, 200);
  std::int64_t rows = 0;
  for (const VoucherId voucher : vouchers) {
    rows += totals(voucher).rows;
  }
  EXPECT_EQ(rows, 200);
}

TEST_P(StoreContract, S22_NoReaderEverSeesPartOfABatch) {
  constexpr int kBatch = 20;
  const VoucherId id = sell(10'000'000);
  const auto other = openStore();  // as another process reads
  std::atomic<bool> done{false};
  std::atomic<int> statesSeen{0};
  std::thread reader([&] {
    std::int64_t rowsBefore = -1;
    while (!done) {
      const VoucherTotals seen = other->totals(VoucherId(), 1, soon()).value().at(0);
      EXPECT_EQ(seen.rows % kBatch, 0);
      EXPECT_EQ(seen.voucher.remaining + seen.livePieces, 10'000'000);
      if (std::exchange(rowsBefore, seen.rows) != seen.rows) ++statesSeen;
    }
  });
  const Deadline end = soon();
  for (int batch = 0; batch < 40 || (statesSeen < 10 && !end.passed()); ++batch) {
    persist(batchOf(1 + batch * kBatch, kBatch, id));
  }
  done = true;
  reader.join();
  EXPECT_GE(statesSeen, 10) << "the reader hardly looked";
}

TEST_P(StoreContract, CancelAndPersistOfTheSameOrderEndWithOneRowAndNoLeak) {
  const VoucherId id = sell(100);
  inThreads(4, [&](int thread) {
    for (int k = 1; k <= 30; ++k) {
      const Admission wanted = admission(k, k, id);
      if (thread % 2 == 0) {
        ASSERT_TRUE(store().persist({&wanted, 1}, now_, payBy_, soon()));
      } else {
        ASSERT_TRUE(store().cancel({wanted, DeadReason::ByUser}, now_, soon()));
      }
    }
  });
  for (int k = 1; k <= 30; ++k) {
    EXPECT_EQ(row(k).status, OrderStatus::Cancelled)
        << "both a cancel and a persist came, in whichever order";
  }
  EXPECT_EQ(voucher(id).remaining, 100);
}

TEST_P(StoreContract, S30_ManyThreadsUseEveryCallWithoutHarm) {
  const VoucherId id = sell(100000, 5);
  const auto lease = store().leaseProcess("many", std::chrono::minutes(1), now_, soon()).value();
  inThreads(32, [&](int thread) {
    for (int k = 0; k < 5; ++k) {
      const std::int64_t order = 1 + thread * 10 + k;
      const Admission wanted = admission(order, order % 50 + 1, id);
      ASSERT_TRUE(store().persist({&wanted, 1}, now_, payBy_, soon()));
      ASSERT_TRUE(store().pay(OrderId(order), now_, soon()));
      ASSERT_TRUE(store().findOrder(OrderId(order), soon()));
      ASSERT_TRUE(store().listOrders(id, wanted.user, std::nullopt, OrderId(), 10, soon()));
      ASSERT_TRUE(store().recentOrders(milliseconds(10), {}, 10, soon()));
      ASSERT_TRUE(store().unreleased(10, soon()));
      const AdmissionCount count{id, order};
      ASSERT_TRUE(store().renewProcess(lease, std::chrono::minutes(1), now_, {&count, 1}, soon()));
    }
  });
}

TEST_P(StoreContract, ClosingWaitsForCallsUnderWayAndStopsTheRest) {
  const VoucherId id = sell(100000);
  const auto closing = openStore();
  std::atomic<std::int64_t> stored{0};
  std::atomic<std::int64_t> next{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      while (true) {
        const std::int64_t order = ++next;
        const Admission wanted = admission(order, order, id);
        const auto outcome = closing->persist({&wanted, 1}, now_, payBy_, soon());
        if (!outcome) {
          EXPECT_EQ(outcome.error().code, ErrorCode::Stopped) << outcome.error().text;
          return;
        }
        ++stored;
      }
    });
  }
  while (stored < 8)
    std::this_thread::yield();
  closing->close();
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(totals(id).rows, stored);
}

TEST_P(StoreContract, ManyProcessesLeaseDistinctNumbers) {
  std::mutex mutex;
  std::vector<std::int32_t> numbers;
  inThreads(8, [&](int) {
    const auto mine = openStore();
    for (int k = 0; k < 5; ++k) {
      const auto lease = mine->leaseProcess("process", std::chrono::minutes(1), now_, soon());
      ASSERT_TRUE(lease) << lease.error().text;
      const std::lock_guard lock(mutex);
      numbers.push_back(lease.value().number);
    }
  });
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::int32_t> expected(40);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(numbers, expected);
}

}  // namespace
}  // namespace sluice::test
