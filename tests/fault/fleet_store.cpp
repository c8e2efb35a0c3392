// See fleet_store.h.
#include "fault/fleet_store.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <sqlite3.h>

#include "fault/sale.h"
#include "support/database_server.h"

namespace sluice::test {

FleetServer::~FleetServer() = default;
FleetStore::~FleetStore() = default;

namespace {

const std::string kPassword = "hunter2-of-the-fleet";

void writeSecret(const std::string& path) {
  std::ofstream(path) << kPassword << '\n';
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
}

class SqliteFleetStore final : public FleetStore {
 public:
  explicit SqliteFleetStore(const std::string& dataDir) : file_(dataDir + "/sluice.db") {}
  [[nodiscard]] ServerProcess::Sets sets() const override { return {{"store", "sqlite"}}; }
  [[nodiscard]] std::map<std::string, int> rowsById() const override { return test::rowsById(file_); }
  void run(const std::string& sql) override {
    sqlite3* database = nullptr;
    const bool opened =
        sqlite3_open_v2(file_.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK;
    sqlite3_busy_timeout(database, 20'000);
    const bool done = opened && sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    const std::string why = sqlite3_errmsg(database);
    sqlite3_close(database);
    if (!done) throw std::runtime_error(sql + ": " + why);
  }
  void refuseUpTo(std::int64_t user) override {
    run("CREATE TRIGGER refuse BEFORE INSERT ON orders WHEN NEW.user_id <= " + std::to_string(user) +
        " BEGIN SELECT RAISE(ABORT, 'refused by the test'); END");
  }
  void refuseNobody() override { run("DROP TRIGGER refuse"); }

 private:
  const std::string file_;
};

class ServerFleetStore final : public FleetStore, public FleetServer {
 public:
  ServerFleetStore(DatabaseServer& server, std::string store)
      : server_(server), store_(std::move(store)), line_({{}, server.database().port()}) {
    static std::atomic<int> made{0};
    database_ = "fleet" + std::to_string(++made);
    user_ = "shop" + std::to_string(made);
    writeSecret(secret_.file("password"));
    server_.createDatabase(database_);
    if (isPostgres()) {
      administer("CREATE ROLE " + user_ + " LOGIN; ALTER DATABASE " + database_ + " OWNER TO " + user_);
      run("GRANT ALL ON SCHEMA public TO " + user_);
    } else {
      administer("CREATE USER " + user_ + "@'%' IDENTIFIED BY '" + kPassword + "'; GRANT ALL ON " +
                 database_ + ".* TO " + user_ + "@'%'");
    }
  }
  ~ServerFleetStore() override {
    resume();
    start();
    setReadOnly(false);
    server_.dropDatabase(database_);
  }

  [[nodiscard]] ServerProcess::Sets sets() const override {
    const std::string prefix = "store." + store_ + ".";
    ServerProcess::Sets all = {{"store", store_},
                               {prefix + "host", "127.0.0.1"},
                               {prefix + "port", std::to_string(line_.port())},
                               {prefix + "user", user_},
                               {prefix + "dbname", database_}};
    if (!isPostgres()) all.emplace_back(prefix + "password.file", secret_.file("password"));
    return all;
  }
  [[nodiscard]] std::map<std::string, int> rowsById() const override {
    std::istringstream ids(server_.query(database_, "SELECT id FROM orders"));
    std::map<std::string, int> rows;
    for (std::string id; ids >> id;)
      ++rows[id];
    return rows;
  }
  void run(const std::string& sql) override { static_cast<void>(server_.query(database_, sql)); }
  void refuseUpTo(std::int64_t user) override {
    const std::string id = std::to_string(user);
    run(isPostgres() ? "ALTER TABLE orders ADD CONSTRAINT refuse CHECK (user_id > " + id + ") NOT VALID"
                     : "CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW SET NEW.quantity = "
                       "IF(NEW.user_id <= " +
                           id + ", 0, NEW.quantity)");
  }
  void refuseNobody() override {
    run(isPostgres() ? "ALTER TABLE orders DROP CONSTRAINT refuse" : "DROP TRIGGER refuse");
  }
  bool setReadOnly(bool on) override {
    const std::string word = on ? "ON" : "OFF";
    if (isPostgres()) {
      administer("ALTER DATABASE " + database_ + " SET default_transaction_read_only = " + word);
      endSessions();  // those there do not hear of it
    } else {
      administer("SET GLOBAL read_only = " + word);
    }
    return true;
  }
  bool lockOut(bool on) override {
    if (isPostgres()) {
      administer("ALTER ROLE " + user_ + (on ? " NOLOGIN" : " LOGIN"));
    } else {
      administer("ALTER USER " + user_ + "@'%' IDENTIFIED BY '" + (on ? "another-password" : kPassword) +
                 "'");
    }
    endSessions();
    return true;
  }

  [[nodiscard]] FleetServer* server() override { return this; }
  [[nodiscard]] FaultProxy& line() override { return line_; }
  void kill() override {
    server_.kill();
    killed_ = true;
  }
  void start() override {
    if (killed_) server_.start();
    killed_ = false;
  }
  void freeze() override { server_.freeze(); }
  void resume() override { server_.resume(); }

 private:
  [[nodiscard]] bool isPostgres() const { return server_.kind() == DatabaseKind::Postgres; }
  void administer(const std::string& sql) const {
    static_cast<void>(server_.query(isPostgres() ? "postgres" : "mysql", sql));
  }
  void endSessions() const {
    if (isPostgres()) {
      administer("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '" + user_ +
                 "'");
      return;
    }
    std::istringstream ids(
        server_.query("mysql", "SELECT id FROM information_schema.processlist WHERE user = '" + user_ + "'"));
    for (std::string id; ids >> id;)
      administer("KILL " + id);
  }

  DatabaseServer& server_;
  const std::string store_;
  std::string database_;
  std::string user_;
  TempFolder secret_;
  FaultProxy line_;
  bool killed_ = false;
};

}  // namespace

const std::vector<std::string>& fleetStoreNames() {
  static const std::vector<std::string> names = {"sqlite", "pg", "mysql"};
  return names;
}

std::unique_ptr<FleetStore> makeFleetStore(const std::string& name, const std::string& dataDir) {
  if (name == "sqlite") return std::make_unique<SqliteFleetStore>(dataDir);
  if (name == "pg") {
    static DatabaseServer server(DatabaseKind::Postgres);
    return std::make_unique<ServerFleetStore>(server, name);
  }
  static DatabaseServer server(DatabaseKind::Mariadb);
  return std::make_unique<ServerFleetStore>(server, name);
}

}  // namespace sluice::test
