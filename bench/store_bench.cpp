// What storing costs: store_sqlite persists batches of 1, 50 and 500 orders into a fresh file, each size for
// a bounded time. usage: store_bench [--json] [--seconds N (1..60, default 3)] [--synchronous full|normal]
// [--folder DIR (default: the temporary one)]
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "sluice/limits.h"
#include "sluice/log.h"

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

Deadline soon() { return Deadline::in(std::chrono::seconds(30)); }

template <typename T>
T expect(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(result).take();
}
void expect(const Status& status) {
  if (!status) throw std::runtime_error(status.error().text);
}

std::vector<Admission> batchOf(std::size_t size, std::int64_t& next, VoucherId voucher) {
  std::vector<Admission> batch;
  for (std::size_t k = 0; k < size; ++k, ++next) {
    // Users come in no order: the index of users is written all over.
    const auto user =
        static_cast<std::int64_t>((static_cast<std::uint64_t>(next) * 0x9E3779B97F4A7C15u) >> 2u);
    batch.push_back({OrderId(next), UserId(user), voucher, 1, systemClock().now()});
  }
  return batch;
}

Figures measure(OrderStore& store, std::size_t size, int seconds, std::int64_t& next, VoucherId voucher) {
  std::vector<double> times;
  const auto begun = Steady::now();
  while (Steady::now() - begun < std::chrono::seconds(seconds) && times.size() * size < kRowsMax) {
    const auto batch = batchOf(size, next, voucher);
    const auto before = Steady::now();
    (void)expect(
        store.persist(batch, systemClock().now(), systemClock().now() + std::chrono::minutes(15), soon()));
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
  expect(store.migrate(soon()));
  expect(store.start(soon()));
  VoucherSettings sale;
  sale.title = "bench";
  sale.end = sale.begin + std::chrono::hours(1);
  sale.allocated = limits::kAllocatedMax;
  const VoucherId voucher = expect(store.createVoucher(VoucherId(), sale, soon())).id;
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

int secondsOf(const std::string& text) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 || seconds > 60) {
    throw std::invalid_argument("--seconds takes 1 to 60, not " + text);
  }
  return seconds;
}

Settings settingsOf(const std::vector<std::string>& words) {
  Settings settings;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string value = k + 1 < words.size() ? words[k + 1] : std::string();
    if (words[k] == "--json") {
      settings.json = true;
    } else if (words[k] == "--seconds") {
      settings.seconds = secondsOf(value), ++k;
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

class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent) : path_((parent / "sluice-bench-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot create a folder in " + parent.string());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace
}  // namespace sluice

int main(int count, char** words) {
  try {
    const auto settings = sluice::settingsOf({words + 1, words + count});
    const sluice::Folder folder(settings.folder);
    sluice::print(settings, sluice::run(settings, folder.path()));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_bench: %s\n", error.what());
    return 1;
  }
}
