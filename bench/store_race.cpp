// A store against the database's own command-line client: the same transactions (locks, reads, one insert of
// many rows, stock), on one private server, in turn, some rounds; then the store order by order.
//
// usage: store_race [--store pg|mysql] [--rounds N (5)] [--batches N (40)] [--workers N (1)] [--synced yes|no]
// Prints medians of orders per second and their ratios. Compare only within one run.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sluice/plugin_loader.h"
#include "sluice/private_database.h"

#include "bench_kit.h"

namespace {

using namespace sluice;         // NOLINT(google-build-using-namespace): a program of one file
using namespace sluice::bench;  // NOLINT(google-build-using-namespace): as above

constexpr std::size_t kBatch = 500;
constexpr std::size_t kSingles = 200;

struct Settings {
  std::string store = "pg";
  int rounds = 5;
  int batches = 40;
  int workers = 1;
  bool synced = true;
};

std::string joined(const std::vector<Admission>& batch, const auto& text) {
  std::string all;
  for (const Admission& admission : batch) {
    all += (all.empty() ? "" : ",") + text(admission);
  }
  return all;
}

// The statements of persist() for one batch of new orders, as a person would type them.
void writeTransaction(std::ofstream& out, const std::vector<Admission>& batch, VoucherId voucher) {
  const std::string id = voucher.text();
  out << "BEGIN;\n"
      << "SELECT id, version, begin_at, end_at, limit_per_user, allocated, remaining, state, eligible_only, "
         "title "
         "FROM vouchers WHERE id IN ("
      << id << ") ORDER BY id FOR UPDATE;\n"
      << "SELECT id, user_id, voucher_id, quantity, status, reason, admitted_at, stored_at, updated_at, "
         "pay_by, "
         "released_at FROM orders WHERE id IN ("
      << joined(batch, [](const Admission& a) { return a.order.text(); }) << ");\n"
      << "SELECT voucher_id, user_id, quantity, slot FROM orders WHERE slot IS NOT NULL AND voucher_id = "
      << id << " AND user_id IN (" << joined(batch, [](const Admission& a) { return a.user.text(); })
      << ");\n"
      << "INSERT INTO orders (id, user_id, voucher_id, quantity, slot, status, reason, admitted_at, "
         "stored_at, "
         "updated_at, pay_by) VALUES "
      << joined(batch,
                [&](const Admission& a) {
                  const std::string at = std::to_string(toMillis(a.admittedAt));
                  return "(" + a.order.text() + "," + a.user.text() + "," + id + ",1,1,1,0," + at + "," + at +
                         "," + at + "," + at + ")";
                })
      << ";\nUPDATE vouchers SET remaining = remaining - " << batch.size() << " WHERE id = " << id
      << " AND remaining >= " << batch.size() << ";\nCOMMIT;\n";
}

class Race {
 public:
  explicit Race(Settings settings) : settings_(std::move(settings)) {
    PrivateDatabaseOptions options;
    options.kind = settings_.store == "pg" ? DatabaseKind::Postgres : DatabaseKind::Mariadb;
    options.synced = settings_.synced;
    database_ = need(PrivateDatabase::start(options, soon()));
    need(database_->createDatabase("sluice"));
    openStore();
  }

  void run() {
    std::vector<double> store;
    std::vector<double> client;
    std::vector<double> singles;
    for (int round = 0; round < settings_.rounds; ++round) {
      store.push_back(rate(orders(), secondsOf([&] { persistBatches(); })));
      const std::string file = writeFile();
      client.push_back(rate(orders(), secondsOf([&] { runClient(file); })));
      singles.push_back(rate(kSingles, secondsOf([&] { persistSingles(); })));
      std::printf("round %d: store %8.0f/s  client %8.0f/s  one by one %7.0f/s\n", round + 1, store.back(),
                  client.back(), singles.back());
    }
    std::printf(
        "%s, %s, batches of %zu, %d workers: store %.0f/s, client %.0f/s, ratio %.2f; one by one %.0f/s, "
        "batches are %.0f times as fast\n",
        settings_.store.c_str(), need(store_->durability(soon())).c_str(), kBatch, settings_.workers,
        median(store), median(client), median(store) / median(client), median(singles),
        median(store) / median(singles));
  }

 private:
  [[nodiscard]] std::size_t orders() const { return static_cast<std::size_t>(settings_.batches) * kBatch; }
  static double rate(std::size_t count, double seconds) { return static_cast<double>(count) / seconds; }

  void openStore() {
    const PluginDescriptor& plugin = *need(loader_.load(PluginKind::Store, settings_.store));
    std::map<std::string, std::string> given;
    for (const auto& [key, value] : database_->storeOptions("sluice")) {
      given[key] = value;
    }
    given["writers"] = std::to_string(settings_.workers);
    std::vector<ConfigFault> faults;
    const OptionMap options = checkOptions({plugin.options, plugin.optionCount}, given, "store.", faults);
    if (!faults.empty()) throw std::runtime_error(faults[0].key + ": " + faults[0].text);
    store_ = need(plugin.makeStore({options, noLog(), systemClock(), systemRandom(), "/"}));
    need(store_->migrate(soon()));
    need(store_->start(soon()));
    for (int k = 0; k < settings_.workers; ++k) {
      vouchers_.push_back(need(store_->createVoucher(VoucherId(), endlessSale(), soon())).id);
    }
  }

  // Each worker has a voucher of its own, as workers of one voucher wait for each other.
  void persistBatches() {
    std::vector<std::thread> threads;
    std::atomic<int> left{settings_.batches};
    const std::int64_t first = next_;
    next_ += static_cast<std::int64_t>(orders());
    for (int worker = 0; worker < settings_.workers; ++worker) {
      threads.emplace_back([&, worker] {
        const VoucherId voucher = vouchers_.at(static_cast<std::size_t>(worker));
        for (int k = 0; (k = --left) >= 0;) {
          persist(ordersOf(first + k * static_cast<std::int64_t>(kBatch), kBatch, voucher));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  void persistSingles() {
    for (std::size_t k = 0; k < kSingles; ++k) {
      persist(ordersOf(next_++, 1, vouchers_[0]));
    }
  }

  void persist(const std::vector<Admission>& batch) {
    const UtcTime now = systemClock().now();
    (void)need(store_->persist(batch, now, now + std::chrono::minutes(15), soon()));
  }

  std::string writeFile() {
    std::string path = std::filesystem::temp_directory_path() / "sluice-store-race.sql";
    std::ofstream out(path, std::ios::trunc);
    for (int k = 0; k < settings_.batches; ++k, next_ += static_cast<std::int64_t>(kBatch)) {
      writeTransaction(out, ordersOf(next_, kBatch, vouchers_[0]), vouchers_[0]);
    }
    return path;
  }

  void runClient(const std::string& file) {
    ChildOptions options;
    options.arguments = database_->clientCommand("sluice", file);
    options.outputFile = "/dev/null";
    auto child = need(ChildProcess::start(options));
    if (child->wait(soon()) != 0) throw std::runtime_error("the database's client fails");
  }

  Settings settings_;
  PluginLoader loader_{SLUICE_PLUGIN_DIR};
  std::unique_ptr<PrivateDatabase> database_;
  std::unique_ptr<OrderStore> store_;
  std::vector<VoucherId> vouchers_;
  std::int64_t next_ = 1;
};

Settings settingsOf(const std::vector<std::string>& words) {
  Settings settings;
  for (std::size_t k = 0; k + 1 < words.size(); k += 2) {
    const std::string& key = words[k];
    const std::string& value = words[k + 1];
    if (key == "--store" && (value == "pg" || value == "mysql")) {
      settings.store = value;
    } else if (key == "--rounds") {
      settings.rounds = numberOf(value, 1000);
    } else if (key == "--batches") {
      settings.batches = numberOf(value, 1000);
    } else if (key == "--workers") {
      settings.workers = numberOf(value, 1000);
    } else if (key == "--synced" && (value == "yes" || value == "no")) {
      settings.synced = value == "yes";
    } else {
      throw std::invalid_argument("unknown: " + key + " " + value);
    }
  }
  if (words.size() % 2 != 0) throw std::invalid_argument("a value is missing after " + words.back());
  return settings;
}

}  // namespace

int main(int count, char** words) {
  try {
    Race(settingsOf({words + 1, words + count})).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_race: %s\n", error.what());
    return 1;
  }
}
