// A database file of SQLite for one test, what happens to it behind the store's back, and the same file seen
// without the store.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "contract/store_contract.h"
#include "sqlite_api.h"
#include "sqlite_dialect.h"
#include "support/temp_folder.h"

namespace sluice::test {

// What a running session is told to be; SQLite itself does the refusing.
struct SqliteKnobs {
  std::atomic<bool> readOnly{false};
  std::atomic<bool> full{false};
};

class SqliteWorld final : public StoreWorld, public StorePowers {
 public:
  explicit SqliteWorld(sqlite::SqliteOptions options = {});
  [[nodiscard]] std::unique_ptr<OrderStore> make() override;
  [[nodiscard]] StorePowers* powers() override { return this; }
  [[nodiscard]] std::unique_ptr<OrderStore> makeLater(bool broken) override;
  [[nodiscard]] std::int64_t number(const std::string& select) override;
  [[nodiscard]] std::shared_ptr<void> keepWritersOut() override;
  void setReadOnly(bool on) override { knobs_.readOnly = on; }
  void setFull(bool on) override { knobs_.full = on; }
  void stallStock(bool on) override;
  void refuse(UserId user) override;
  void setReachable(bool on) override;
  [[nodiscard]] std::vector<std::string> secrets() const override { return {}; }
  [[nodiscard]] StoreServer* server() override { return nullptr; }

  // Migrated and started.
  [[nodiscard]] std::unique_ptr<OrderStore> open();
  [[nodiscard]] std::unique_ptr<OrderStore> makeWith(std::unique_ptr<sql::Dialect> dialect);
  [[nodiscard]] const sqlite::SqliteOptions& options() const { return options_; }
  [[nodiscard]] std::string path() const { return options_.path; }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

 private:
  TempFolder folder_;
  sqlite::SqliteOptions options_;
  SqliteKnobs knobs_;
};

// The file as any other program sees it.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path);
  ~RawDatabase();
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;
  void run(const std::string& statement);
  // False where another program locks the file.
  [[nodiscard]] bool tryRun(const std::string& statement);
  // The columns of all rows, each row's joined by blanks.
  [[nodiscard]] std::vector<std::string> rows(const std::string& statement);

 private:
  sqlite_api::sqlite3* connection_ = nullptr;
};

}  // namespace sluice::test
