// What storing costs: store_sqlite persists batches of 1, 50 and 500 orders into a fresh file, each size for
// a bounded time. usage: store_bench [--json] [--seconds N (1..60, default 3)] [--synchronous full|normal]
// [--folder DIR (default: the temporary one)]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/log.h"

#include "bench_kit.h"
#include "sql_store.h"
#include "sqlite_dialect.h"

namespace sluice {
namespace {

using Steady = std::chrono::steady_clock;

struct Settings {
  bool json = false;
  int seconds = 3;
  bool full = true;
  std::filesystem::path folder = std::filesystem::temp_directory_path();
};

struct Figures {
  std::size_t batch = 0;
  std::size_t calls = 0;
  double rowsPerSecond = 0;
  double medianMs = 0;
  double p99Ms = 0;
};

// Enough for any run; bounds the file at some hundred megabytes.
constexpr std::size_t kRowsMax = 1'000'000;

Figures measure(OrderStore& store, std::size_t size, int seconds, std::int64_t& next, VoucherId voucher) {
  std::vector<double> times;
  const auto begun = Steady::now();
  while (Steady::now() - begun < std::chrono::seconds(seconds) && times.size() * size < kRowsMax) {
    const auto batch = bench::ordersOf(next, size, voucher);
    next += static_cast<std::int64_t>(size);
    const auto before = Steady::now();
    (void)bench::need(store.persist(batch, systemClock().now(),
                                    systemClock().now() + std::chrono::minutes(15), bench::soon()));
    times.push_back(std::chrono::duration<double, std::milli>(Steady::now() - before).count());
  }
  const std::chrono::duration<double> took = Steady::now() - begun;
  std::sort(times.begin(), times.end());
  return {size, times.size(), static_cast<double>(times.size() * size) / took.count(),
          times[times.size() / 2], times[times.size() * 99 / 100]};
}

std::vector<Figures> run(const Settings& settings, const std::string& folder) {
  sqlite::SqliteOptions options;
  options.path = folder + "/bench.db";
  options.synchronousFull = settings.full;
  sql::SqlStore store(std::make_unique<sqlite::SqliteDialect>(options), noLog(), systemClock(),
                      systemRandom());
  bench::need(store.migrate(bench::soon()));
  bench::need(store.start(bench::soon()));
  const VoucherId voucher =
      bench::need(store.createVoucher(VoucherId(), bench::endlessSale(), bench::soon())).id;
  std::vector<Figures> all;
  std::int64_t next = 1;
  for (const std::size_t size : {std::size_t{1}, std::size_t{50}, std::size_t{500}}) {
    all.push_back(measure(store, size, settings.seconds, next, voucher));
  }
  return all;
}

void print(const Settings& settings, const std::vector<Figures>& all) {
  const char* level = settings.full ? "full" : "normal";
  std::printf(settings.json ? "{\"bench\":\"store_sqlite\",\"synchronous\":\"%s\",\"results\":["
                            : "store_sqlite, synchronous %s\n",
              level);
  const char* separator = "";
  for (const Figures& figures : all) {
    std::printf(
        settings.json
            ? "%s{\"batch\":%zu,\"calls\":%zu,\"rowsPerSecond\":%.0f,\"medianMs\":%.3f,\"p99Ms\":%.3f}"
            : "%sbatch %4zu  calls %6zu  rows/s %8.0f  median %7.3f ms  p99 %7.3f ms\n",
        separator, figures.batch, figures.calls, figures.rowsPerSecond, figures.medianMs, figures.p99Ms);
    if (settings.json) separator = ",";
  }
  if (settings.json) std::puts("]}");
}

Settings settingsOf(const std::vector<std::string>& words) {
  Settings settings;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string value = k + 1 < words.size() ? words[k + 1] : std::string();
    if (words[k] == "--json") {
      settings.json = true;
    } else if (words[k] == "--seconds") {
      settings.seconds = bench::numberOf(value, 60), ++k;
    } else if (words[k] == "--synchronous" && (value == "full" || value == "normal")) {
      settings.full = value == "full", ++k;
    } else if (words[k] == "--folder" && !value.empty()) {
      settings.folder = value, ++k;
    } else {
      throw std::invalid_argument("unknown: " + words[k] + " " + value);
    }
  }
  return settings;
}

}  // namespace
}  // namespace sluice

int main(int count, char** words) {
  try {
    const auto settings = sluice::settingsOf({words + 1, words + count});
    const sluice::bench::Folder folder(settings.folder);
    sluice::print(settings, sluice::run(settings, folder.path()));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_bench: %s\n", error.what());
    return 1;
  }
}
