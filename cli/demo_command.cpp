// sluice demo: a whole sale on this machine, in a few seconds, and the proof that it was right.
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <CLI/CLI.hpp>

#include "sluice/audit.h"
#include "sluice/private_database.h"

#include "cli/command.h"
#include "cli/demo_figures.h"
#include "cli/demo_server.h"
#include "cli/interrupt.h"
#include "cli/storm.h"
#include "cli/storm_log.h"
#include "cli/text.h"

namespace sluice::cli {
namespace {

constexpr int kInterrupted = 128 + SIGINT;
// The storm's own deadlines end it sooner.
constexpr milliseconds kDatabaseWithin{60000};
constexpr milliseconds kStormWithin{120000};
constexpr milliseconds kStoredWithin{120000};
constexpr milliseconds kRestWithin{20000};
constexpr milliseconds kLook{20};

struct Given {
  std::int64_t users = 5000;
  std::int64_t stock = 100;
  double repeat = 0.01;
  std::string queue = "stream";
  std::string store = "sqlite";
  std::string folder;
  bool json = false;
  bool keep = false;
};

void tell(const std::string& line) { std::fprintf(stderr, "demo: %s\n", line.c_str()); }

class Demo {
 public:
  Demo(const Given& given, const GlobalOptions& globals) : given_(given), sets_(globals.sets) {}
  int run();

 private:
  Status startDatabase();
  Status sell();
  Result<StormLog> storm(VoucherId voucher);
  Status inspect(VoucherId voucher, const StormLog& log);
  Status waitUntilStored(OrderStore& store, VoucherId voucher, std::int64_t wanted);
  Result<std::vector<Order>> allRows(OrderStore& store, VoucherId voucher);
  Result<AuditReport> auditAtRest(Parts parts);
  int report();
  void keep();
  void tellHowToTry(VoucherId voucher) const;

  const Given& given_;
  std::vector<std::string> sets_;
  std::unique_ptr<PrivateDatabase> database_;  // outlives the server that uses it
  std::vector<std::pair<std::string, std::string>> databaseSettings_;
  std::unique_ptr<DemoServer> server_;
  DemoFigures figures_;
};

int Demo::run() {
  catchInterrupts();
  raiseDescriptorLimit();  // the server inherits it
  const Status sold = sell();
  if (interrupted()) return kInterrupted;
  if (!sold) return complain(sold.error());
  const int code = report();
  if (given_.keep) keep();
  return code;
}

// A store that is a server gets one of the demo's own, unless the user says where there is one.
Status Demo::startDatabase() {
  const std::string prefix = "store." + given_.store + ".";
  const bool given = std::any_of(sets_.begin(), sets_.end(),
                                 [&](const std::string& set) { return set.starts_with(prefix); });
  if ((given_.store != "pg" && given_.store != "mysql") || given) return {};
  tell(given_.store == "pg" ? "starting a private PostgreSQL" : "starting a private MariaDB");
  PrivateDatabaseOptions options;
  options.kind = given_.store == "pg" ? DatabaseKind::Postgres : DatabaseKind::Mariadb;
  auto started = PrivateDatabase::start(options, Deadline::in(kDatabaseWithin));
  if (!started) return started.error();
  database_ = std::move(started).take();
  for (const auto& [key, value] : database_->storeOptions("sluice")) {
    databaseSettings_.emplace_back(prefix + key, value);
  }
  return database_->createDatabase("sluice");
}

Status Demo::sell() {
  if (Status database = startDatabase(); !database) return database.error().during("start a database");
  tell("starting a server (queue " + given_.queue + ", store " + given_.store + ", embedded Redis)");
  Result<std::unique_ptr<DemoServer>> server =
      DemoServer::start({given_.queue, given_.store, given_.folder, databaseSettings_, sets_});
  if (!server) return server.error();
  server_ = std::move(server).take();
  const Result<VoucherId> voucher = server_->createVoucher("Demo", given_.stock);
  if (!voucher) return voucher.error();
  tell("voucher " + voucher.value().text() + " is on sale: " + countText(given_.stock) + " pieces for " +
       countText(given_.users) + " users");
  const Result<StormLog> log = storm(voucher.value());
  if (!log) return log.error();
  return inspect(voucher.value(), log.value());
}

Result<StormLog> Demo::storm(VoucherId voucher) {
  const std::string answers = server_->folder() + "/answers.log";
  const auto twice =
      static_cast<std::int64_t>(std::llround(static_cast<double>(given_.users) * given_.repeat));
  ChildOptions client;
  client.arguments = {ownProgram(),
                      "storm-client",
                      "--port=" + std::to_string(server_->port()),
                      "--voucher=" + voucher.text(),
                      "--users=" + std::to_string(given_.users),
                      "--twice=" + std::to_string(twice),
                      "--answers=" + answers};
  const Result<std::unique_ptr<ChildProcess>> child = ChildProcess::start(client);
  if (!child) return child.error().during("start the clients");
  const Deadline deadline = Deadline::in(kStormWithin);
  std::optional<int> code;
  while (!(code = child.value()->poll())) {
    if (interrupted()) return {ErrorCode::Stopped, "interrupted"};
    if (!server_->running()) return {ErrorCode::Unavailable, "the server ended during the sale"};
    if (deadline.passed()) return {ErrorCode::Unavailable, "the clients did not finish in time"};
    std::this_thread::sleep_for(kLook);
  }
  if (*code != ExitFine) return {ErrorCode::Unavailable, "the clients gave up"};
  return readStormLog(answers);
}

Status Demo::inspect(VoucherId voucher, const StormLog& log) {
  tell(countText(static_cast<std::int64_t>(log.entries.size())) +
       " answers; waiting until every order is stored");
  const std::optional<Config> config = loadConfig(server_->globals());
  if (!config) return {ErrorCode::Misconfigured, "the demo cannot read its own configuration"};
  const Result<std::unique_ptr<System>> system =
      System::open(*config, SystemUse::Command, Deadline::in(kCommandDeadline));
  if (!system) return system.error();
  const Parts parts = system.value()->parts();
  const std::int64_t admitted =
      std::count_if(log.entries.begin(), log.entries.end(),
                    [](const StormEntry& entry) { return entry.verdict == "admitted"; });
  if (Status stored = waitUntilStored(parts.store, voucher, admitted); !stored) return stored;
  const Result<AuditReport> report = auditAtRest(parts);
  if (!report) return report.error();
  const Result<std::vector<Order>> rows = allRows(parts.store, voucher);
  if (!rows) return rows.error();
  figures_ = judge(log, rows.value(), report.value(), given_.users, given_.stock);
  return {};
}

// Orders that do not come in time are no error here: the figures show what is missing.
Status Demo::waitUntilStored(OrderStore& store, VoucherId voucher, std::int64_t wanted) {
  const Deadline deadline = Deadline::in(kStoredWithin);
  while (!deadline.passed() && !interrupted()) {
    const auto totals = store.totals(VoucherId(voucher.value() - 1), 1, deadline);
    if (!totals) return totals.error().during("look at the store");
    if (!totals.value().empty() && totals.value().front().rows >= wanted) break;
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

Result<AuditReport> Demo::auditAtRest(Parts parts) {
  const Deadline deadline = Deadline::in(kRestWithin);
  for (;;) {
    Result<AuditReport> report = audit(parts, Deadline::in(kCommandDeadline));
    if (!report) return report.error().during("audit");
    if (report.value().atRest || deadline.passed() || interrupted()) return report;
    std::this_thread::sleep_for(kLook);
  }
}

Result<std::vector<Order>> Demo::allRows(OrderStore& store, VoucherId voucher) {
  std::vector<Order> all;
  for (;;) {
    const OrderId after = all.empty() ? OrderId() : all.back().id;
    const auto page = store.listOrders(voucher, UserId(), std::nullopt, after, limits::kPageMax,
                                       Deadline::in(kCommandDeadline));
    if (!page) return page.error().during("read the orders");
    all.insert(all.end(), page.value().begin(), page.value().end());
    if (page.value().size() < limits::kPageMax) return all;
  }
}

int Demo::report() {
  std::fputs((given_.json ? demoJson(figures_) + "\n" : "\n" + demoText(figures_)).c_str(), stdout);
  std::fflush(stdout);
  for (const std::string& fault : figures_.faults) {
    complain(fault, ExitNotFine);
  }
  return figures_.faults.empty() ? ExitFine : ExitNotFine;
}

void Demo::tellHowToTry(VoucherId voucher) const {
  const std::string base = "http://127.0.0.1:" + std::to_string(server_->port());
  const std::string order = base + "/api/v1/vouchers/" + voucher.text() + "/orders";
  const std::string text =
      "\nThe server stays up at " + base + ", its data in " + server_->folder() + ". Voucher " +
      voucher.text() + " has 10 pieces; to try it:\n" + "  curl -i -X POST " + order +
      " -H 'X-User-Id: 42' -H 'Content-Type: application/json' -d '{\"quantity\":1}'\n" + "  curl -i '" +
      base + "/api/v1/orders/ORDER?voucher=" + voucher.text() + "' -H 'X-User-Id: 42'\n" +
      "  curl -H \"Authorization: Bearer $(cat " + server_->tokenFile() + ")\" " + base +
      "/admin/v1/vouchers\n" + "  " + ownProgram() + " -c " + server_->globals().files.front() + " audit\n" +
      "Ctrl-C stops it" + (given_.folder.empty() ? " and removes its data" : "") + ".\n";
  std::fputs(text.c_str(), stderr);
}

void Demo::keep() {
  const Result<VoucherId> voucher = server_->createVoucher("To try by hand", 10);
  if (!voucher) {
    complain(voucher.error());
    return;
  }
  tellHowToTry(voucher.value());
  while (!interrupted() && server_->running()) {
    std::this_thread::sleep_for(milliseconds(100));
  }
}

// The demo brings its own configuration: settings that the environment holds for another server would change
// what it shows.
void forgetEnvironment() {
  for (const auto& [name, value] : processEnvironment()) {
    if (name.starts_with("SLUICE_")) {
      ::unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): no other thread runs yet
    }
  }
}

int run(const Given& given, const GlobalOptions& globals) {
  if (!globals.files.empty()) {
    return complain("the demo brings its own configuration and takes no -c; use --queue, --store and --set",
                    ExitUsage);
  }
  forgetEnvironment();
  return Demo(given, globals).run();
}

}  // namespace

void addDemo(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("demo", "Run a whole sale on this machine and check it: server, crowd, audit");
  auto given = std::make_shared<Given>();
  command->add_option("--users", given->users, "Users that ask at the same instant (default 5000)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
  command->add_option("--stock", given->stock, "Pieces (default 100)")
      ->check(CLI::Range(std::int64_t{1}, limits::kAllocatedMax));
  command->add_option("--repeat", given->repeat, "Share of users that ask twice at once (default 0.01)")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--queue", given->queue, "Queue plugin (default stream)");
  command->add_option("--store", given->store,
                      "Store plugin (default sqlite); pg and mysql start a private server, unless --set "
                      "store.<name>.<key>=... names one");
  command->add_option("--data", given->folder,
                      "Folder to keep the data in (default: a temporary one, removed at the end)");
  command->add_flag("--json", given->json, "Print the figures as JSON");
  command->add_flag("--keep", given->keep, "Leave the server up afterwards, until Ctrl-C");
  command->footer(
      "Exit code 1 where anything is off: too many or too few sold, an order lost or doubled, a connection "
      "refused.\n"
      "Example: sluice demo --users 19000 --stock 2000");
  command->callback([&invocation, given] {
    invocation.run = [&invocation, given] { return run(*given, invocation.globals); };
  });
}

}  // namespace sluice::cli
