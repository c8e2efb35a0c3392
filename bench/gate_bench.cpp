// What the gate itself costs: many callers, a qualifier that takes a fixed time for each call, and a voucher
// that is sold out.
//
// Prints, for each number of callers: answers a second, requests in a call on average, and the slowest
// caller's mean wait. With one caller the wait is the call's time and a little: that little is the gate.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "admission/gate.h"
#include "support/fakes.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kCallTakes = 100us;
constexpr auto kRunTakes = 2s;

void spin(Clock::duration time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

struct Figures {
  std::uint64_t answers = 0;
  double meanBatch = 0;
  double worstMeanMicroseconds = 0;
};

Figures run(int callers, bool callIsCpu) {
  sluice::test::Fakes fakes;
  const sluice::VoucherId voucher = fakes.sell(0).id;
  sluice::admission::Catalog catalog;
  sluice::admission::OrderIdGenerator ids;
  sluice::admission::Gate gate(fakes.parts(), {}, catalog, ids);
  ids.grant({1, "bench", "token", fakes.clock.now(), fakes.clock.now() + 1h});
  gate.know(catalog.refresh(fakes.store, sluice::test::soon()).value());
  gate.open();
  fakes.qualifier.faults.onCall([callIsCpu](std::string_view) {
    if (callIsCpu) {
      spin(kCallTakes);
    } else {
      std::this_thread::sleep_for(kCallTakes);
    }
  });
  std::vector<std::uint64_t> answers(static_cast<std::size_t>(callers));
  std::vector<std::thread> threads;
  const auto end = Clock::now() + kRunTakes;
  for (std::size_t caller = 0; caller < answers.size(); ++caller) {
    threads.emplace_back([&, caller] {
      std::uint64_t mine = 0;
      for (; Clock::now() < end; ++mine) {
        (void)gate.order({voucher, sluice::UserId(static_cast<std::int64_t>(caller) + 1), 1, {}},
                         sluice::Deadline::in(5s));
      }
      answers[caller] = mine;
    });
  }
  Figures figures;
  for (std::size_t caller = 0; caller < answers.size(); ++caller) {
    threads[caller].join();
    figures.answers += answers[caller];
    const double mean =
        std::chrono::duration<double, std::micro>(kRunTakes).count() / static_cast<double>(answers[caller]);
    figures.worstMeanMicroseconds = std::max(figures.worstMeanMicroseconds, mean);
  }
  const sluice::HistogramSnapshot sizes = gate.batchSizes().snapshot();
  figures.meanBatch = static_cast<double>(sizes.sum) / static_cast<double>(sizes.count);
  return figures;
}

}  // namespace

int main() {
  for (const bool callIsCpu : {false, true}) {
    std::printf("a call takes %d us, %s\n", static_cast<int>(kCallTakes.count()),
                callIsCpu ? "of this machine's CPU" : "elsewhere");
    std::printf("%8s %12s %8s %12s\n", "callers", "answers/s", "batch", "wait us");
    for (const int callers : {1, 2, 8, 32, 128, 512}) {
      const Figures figures = run(callers, callIsCpu);
      const double seconds = std::chrono::duration<double>(kRunTakes).count();
      std::printf("%8d %12.0f %8.1f %12.0f\n", callers, static_cast<double>(figures.answers) / seconds,
                  figures.meanBatch, figures.worstMeanMicroseconds);
    }
  }
  return 0;
}
