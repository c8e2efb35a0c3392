// From the stream into the store, end to end: a worker process drains a journal of waiting admissions, beside
// what the store alone and the stream alone reach in the same run.
//
// usage: drain_bench [--store sqlite|pg|mysql (pg)] [--orders N (100000)] [--rounds N (3)] [--workers N (1)]
// Prints medians and the ratio of the whole to the slower of its two parts. Compare only within one run.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "sluice/embedded_redis.h"
#include "sluice/limits.h"
#include "sluice/plugin_loader.h"
#include "sluice/private_database.h"

#include "bench_kit.h"

namespace {

using namespace sluice;         // NOLINT(google-build-using-namespace): a program of one file
using namespace sluice::bench;  // NOLINT(google-build-using-namespace): as above
using Steady = std::chrono::steady_clock;

struct Settings {
  std::string store = "pg";
  std::int64_t orders = 100'000;
  std::int64_t rounds = 3;
  std::int64_t workers = 1;
};

class Drain {
 public:
  explicit Drain(Settings settings) : settings_(std::move(settings)) {
    redis_ = need(EmbeddedRedis::start({.dataDir = folder_.path()}, noLog(), soon()));
    if (settings_.store != "sqlite") {
      PrivateDatabaseOptions options;
      options.kind = settings_.store == "pg" ? DatabaseKind::Postgres : DatabaseKind::Mariadb;
      database_ = need(PrivateDatabase::start(options, soon()));
      need(database_->createDatabase("sluice"));
      for (const auto& [key, value] : database_->storeOptions("sluice")) {
        storeOptions_[key] = value;
      }
    }
    openStore();
    queue_ = openQueue("sluice");
    alone_ = openQueue("alone");
  }

  void run() {
    std::vector<double> whole;
    std::vector<double> store;
    std::vector<double> stream;
    for (std::int64_t round = 0; round < settings_.rounds; ++round) {
      store.push_back(rate([this] { storeAlone(); }));
      stream.push_back(rate([this] { streamAlone(); }));
      whole.push_back(drain());
      std::printf("round %d: store alone %8.0f/s  stream alone %8.0f/s  end to end %8.0f/s\n",
                  static_cast<int>(round) + 1, store.back(), stream.back(), whole.back());
    }
    const double slower = std::min(median(store), median(stream));
    std::printf(
        "%s, %d workers: end to end %.0f/s is %.2f of the slower part (store %.0f/s, stream %.0f/s); the "
        "worker's memory %s\n",
        settings_.store.c_str(), static_cast<int>(settings_.workers), median(whole), median(whole) / slower,
        median(store), median(stream), memory_.c_str());
  }

 private:
  template <typename Work>
  [[nodiscard]] double rate(const Work& work) const {
    return static_cast<double>(settings_.orders) / secondsOf(work);
  }

  void openStore() {
    const PluginDescriptor& plugin = *need(loader_.load(PluginKind::Store, settings_.store));
    std::vector<ConfigFault> faults;
    const OptionMap options =
        checkOptions({plugin.options, plugin.optionCount}, storeOptions_, "store.", faults);
    if (!faults.empty()) throw std::runtime_error(faults[0].key + ": " + faults[0].text);
    store_ = need(plugin.makeStore({options, noLog(), systemClock(), systemRandom(), folder_.path()}));
    need(store_->migrate(soon()));
    need(store_->start(soon()));
    voucher_ = need(store_->createVoucher(VoucherId(), endlessSale(), soon())).id;
  }

  // On the journal that `prefix` names, as the worker opens it.
  std::unique_ptr<OrderQueue> openQueue(const std::string& prefix) {
    const PluginDescriptor& plugin = *need(loader_.load(PluginKind::Queue, "stream"));
    std::vector<ConfigFault> faults;
    const OptionMap options = checkOptions({plugin.options, plugin.optionCount}, {}, "queue.stream.", faults);
    RedisTarget redis;
    redis.socketPath = EmbeddedRedis::socketPath(folder_.path());
    auto queue = need(plugin.makeQueue({.options = options,
                                        .log = noLog(),
                                        .clock = systemClock(),
                                        .random = systemRandom(),
                                        .redis = redis,
                                        .keyPrefix = prefix,
                                        .instance = "bench",
                                        .consumers = 1,
                                        .journal = true,
                                        .journalMax = 10'000'000}));
    need(queue->start(soon()));
    return queue;
  }

  std::vector<Admission> next(std::size_t count) {
    auto orders = ordersOf(order_, count, voucher_);
    order_ += static_cast<std::int64_t>(count);
    return orders;
  }

  void fill(OrderQueue& queue) {
    for (std::int64_t k = 0; k < settings_.orders; k += static_cast<std::int64_t>(limits::kReceiveBatchMax)) {
      need(queue.publish(messagesOf(next(limits::kReceiveBatchMax)), soon()));
    }
  }

  void storeAlone() {
    for (std::int64_t k = 0; k < settings_.orders; k += static_cast<std::int64_t>(limits::kReceiveBatchMax)) {
      const UtcTime now = systemClock().now();
      (void)need(
          store_->persist(next(limits::kReceiveBatchMax), now, now + std::chrono::minutes(15), soon()));
    }
  }

  void streamAlone() {
    fill(*alone_);
    std::vector<Settlement> settlements;
    while (true) {
      const auto batch = need(alone_->receive(0, limits::kReceiveBatchMax, Deadline::in(milliseconds(0))));
      if (batch.empty()) return;
      settlements.clear();
      for (const Delivery& delivery : batch) {
        settlements.push_back({.token = delivery.token, .kind = SettleKind::Done, .reason = {}});
      }
      (void)need(alone_->settle(0, settlements, soon()));
    }
  }

  // Every order is new and of one piece, so the stock counts the rows, at the price of one small read.
  [[nodiscard]] std::int64_t rows() const {
    const auto voucher = need(store_->findVoucher(voucher_, soon()));
    return voucher->settings.allocated - voucher->remaining;
  }

  // Orders a second, from the first row to the last: starting a process is not the subject.
  double drain() {
    fill(*queue_);
    const std::int64_t before = rows();
    ChildOptions options;
    options.arguments = {SLUICE_BINARY,
                         "--set",
                         "data.dir=" + folder_.path(),
                         "--set",
                         "redis.embedded=true",
                         "--set",
                         "http.port=0",
                         "--set",
                         "store=" + settings_.store,
                         "--set",
                         "fulfilment.workers=" + std::to_string(settings_.workers)};
    for (const auto& [key, value] : storeOptions_) {
      options.arguments.insert(options.arguments.end(),
                               {"--set", "store." + settings_.store + "." + key + "=" + value});
    }
    options.arguments.insert(options.arguments.end(), {"serve", "--role", "worker"});
    options.outputFile = folder_.path() + "/worker.log";
    const auto worker = need(ChildProcess::start(options));
    std::int64_t seen = before;
    std::int64_t first = 0;
    auto since = Steady::now();
    while (seen < before + settings_.orders) {
      std::this_thread::sleep_for(milliseconds(20));
      seen = rows();
      if (seen > before && first == 0) {
        first = seen;
        since = Steady::now();
      }
      if (worker->poll()) throw std::runtime_error("the worker ended; see " + options.outputFile);
    }
    const double took = std::chrono::duration<double>(Steady::now() - since).count();
    noteMemory(worker->pid());
    worker->end(milliseconds(10000));
    return static_cast<double>(seen - first) / took;
  }

  void noteMemory(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) memory_ = line.substr(line.find_first_of("0123456789"));
    }
  }

  Settings settings_;
  Folder folder_;
  PluginLoader loader_{SLUICE_PLUGIN_DIR};
  std::unique_ptr<EmbeddedRedis> redis_;
  std::unique_ptr<PrivateDatabase> database_;
  std::map<std::string, std::string> storeOptions_;
  std::unique_ptr<OrderStore> store_;
  VoucherId voucher_;
  std::unique_ptr<OrderQueue> queue_;
  std::unique_ptr<OrderQueue> alone_;
  std::int64_t order_ = 1;
  std::string memory_;
};

Settings settingsOf(const std::vector<std::string>& words) {
  Settings settings;
  if (words.size() % 2 != 0) throw std::invalid_argument("a value is missing after " + words.back());
  for (std::size_t k = 0; k + 1 < words.size(); k += 2) {
    const std::string& key = words[k];
    const std::string& value = words[k + 1];
    if (key == "--store" && (value == "sqlite" || value == "pg" || value == "mysql")) {
      settings.store = value;
    } else if (key == "--orders") {
      settings.orders = numberOf(value, 10'000'000);
    } else if (key == "--rounds") {
      settings.rounds = numberOf(value, 10'000'000);
    } else if (key == "--workers") {
      settings.workers = numberOf(value, 10'000'000);
    } else {
      throw std::invalid_argument("unknown: " + key + " " + value);
    }
  }
  return settings;
}

}  // namespace

int main(int count, char** words) {
  try {
    Drain(settingsOf({words + 1, words + count})).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "drain_bench: %s\n", error.what());
    return 1;
  }
}
