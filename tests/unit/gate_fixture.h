// A gate over fakes, and a turnstile that holds calls of a fake until a test lets them through.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "admission/gate.h"
#include "support/fakes.h"

namespace sluice::test {

// Holds every call of one name; a test waits for the n-th to arrive and lets calls through one by one, or
// all.
class Turnstile {
 public:
  explicit Turnstile(Faults& faults, std::string held) : held_(std::move(held)) {
    faults.onCall([this](std::string_view call) {
      if (call == held_) arrive();
    });
  }
  void awaitArrivals(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void letThrough(std::size_t count = 1) {
    const std::lock_guard lock(mutex_);
    allowed_ += count;
    changed_.notify_all();
  }
  void open() { letThrough(1'000'000'000); }

 private:
  void arrive() {
    std::unique_lock lock(mutex_);
    const std::size_t mine = ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return allowed_ >= mine; });
  }
  const std::string held_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_ = 0;
  std::size_t allowed_ = 0;
};

struct GateFixture {
  explicit GateFixture(admission::GateOptions options = {}) : gate(fakes.parts(), options, catalog, ids) {
    prepare();
  }
  GateFixture(FakeQueueOptions queue, admission::GateOptions options)
      : fakes(queue), gate(fakes.parts(), options, catalog, ids) {
    fakes.qualifier.setJournal(false);
    prepare();
  }

  OrderAnswer order(VoucherId voucher, std::int64_t user, Deadline deadline = soon()) {
    return gate.order({voucher, UserId(user), 1, {}}, deadline);
  }
  // A voucher on sale that the catalog knows.
  VoucherId sell(std::int64_t allocated) {
    const VoucherId voucher = fakes.sell(allocated).id;
    refresh();
    return voucher;
  }
  void refresh() {
    const auto known = catalog.refresh(fakes.store, soon());
    gate.know(known.value());
  }
  std::int64_t held(VoucherId voucher) { return fakes.qualifier.snapshot(voucher, soon()).value().held; }
  // Until so many requests are in the gate, and a moment longer, so that the last has lined up.
  void awaitInFlight(std::size_t count) const {
    while (gate.inFlight() < count) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  std::uint64_t verdicts(Verdict verdict) const {
    for (std::size_t k = 0; k < std::size(kVerdicts); ++k) {
      if (kVerdicts[k] == verdict) return gate.verdicts()[k];
    }
    return 0;
  }

  Fakes fakes;
  admission::Catalog catalog;
  admission::OrderIdGenerator ids;
  admission::Gate gate;

 private:
  void prepare() {
    const UtcTime now = fakes.clock.now();
    ids.grant({1, "test", "token", now, now + std::chrono::hours(1)});
    gate.open();
  }
};

// Requests by threads of their own.
class Callers {
 public:
  ~Callers() { join(); }
  template <typename Call>
  void add(Call call) {
    threads_.emplace_back(std::move(call));
  }
  void join() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace sluice::test
