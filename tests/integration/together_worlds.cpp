// See together_worlds.h.
#include "integration/together_worlds.h"

#include <atomic>
#include <stdexcept>

#include <sqlite3.h>

#include "support/database_server.h"

namespace sluice::test {
namespace {

class SqliteTogether final : public TogetherWorld {
 public:
  explicit SqliteTogether(const std::string& dataDir) : file_(dataDir + "/sluice.db") {}
  ~SqliteTogether() override { SqliteTogether::bringStoreBack(); }

  [[nodiscard]] Settings settings() const override { return {{"store", "sqlite"}}; }

  void takeStoreAway() override {
    if (sqlite3_open_v2(file_.c_str(), &locker_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK)
      throw std::runtime_error("cannot open " + file_);
    sqlite3_busy_timeout(locker_, 10'000);
    if (sqlite3_exec(locker_, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error("cannot lock " + file_);
  }
  void bringStoreBack() override {
    sqlite3_close(locker_);  // rolls back
    locker_ = nullptr;
  }

 private:
  const std::string file_;
  sqlite3* locker_ = nullptr;
};

class ServerTogether final : public TogetherWorld {
 public:
  ServerTogether(DatabaseServer& server, std::string store) : server_(server), store_(std::move(store)) {
    static std::atomic<int> made{0};
    database_ = "together" + std::to_string(++made);
    server_.createDatabase(database_);
  }
  ~ServerTogether() override {
    if (away_) server_.start();
    server_.dropDatabase(database_);
  }

  [[nodiscard]] Settings settings() const override {
    Settings all = {{"store", store_}};
    for (const auto& [key, value] : server_.database().storeOptions(database_)) {
      all.emplace_back("store." + store_ + "." + key, value);
    }
    return all;
  }

  void takeStoreAway() override {
    server_.kill();
    away_ = true;
  }
  void bringStoreBack() override {
    server_.start();
    away_ = false;
  }

 private:
  DatabaseServer& server_;
  const std::string store_;
  std::string database_;
  bool away_ = false;
};

class NamedTogether final : public TogetherWorld {
 public:
  explicit NamedTogether(std::unique_ptr<TogetherWorld> world) : world_(std::move(world)) {
    static std::atomic<int> made{0};
    name_ = "together" + std::to_string(++made);
  }
  [[nodiscard]] Settings settings() const override {
    Settings all = world_->settings();
    all.emplace_back("queue.rabbitmq.name", name_);
    return all;
  }
  void takeStoreAway() override { world_->takeStoreAway(); }
  void bringStoreBack() override { world_->bringStoreBack(); }

 private:
  const std::unique_ptr<TogetherWorld> world_;
  std::string name_;
};

}  // namespace

TogetherWorlds withQueueOfItsOwn(TogetherWorlds make) {
  return [make = std::move(make)](const std::string& dataDir) {
    return std::make_unique<NamedTogether>(make(dataDir));
  };
}

std::unique_ptr<TogetherWorld> makeSqliteTogether(const std::string& dataDir) {
  return std::make_unique<SqliteTogether>(dataDir);
}

std::unique_ptr<TogetherWorld> makePgTogether(const std::string&) {
  static DatabaseServer server(DatabaseKind::Postgres);
  return std::make_unique<ServerTogether>(server, "pg");
}

std::unique_ptr<TogetherWorld> makeMysqlTogether(const std::string&) {
  static DatabaseServer server(DatabaseKind::Mariadb);
  return std::make_unique<ServerTogether>(server, "mysql");
}

}  // namespace sluice::test
