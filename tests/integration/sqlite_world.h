// A database file of SQLite for one test, the same file seen without the store, and child processes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "contract/store_contract.h"
#include "sqlite_api.h"
#include "sqlite_dialect.h"
#include "support/temp_folder.h"

namespace sluice::test {

class SqliteWorld final : public StoreWorld {
 public:
  explicit SqliteWorld(sqlite::SqliteOptions options = {});
  [[nodiscard]] std::unique_ptr<OrderStore> make() override;
  // Migrated and started.
  [[nodiscard]] std::unique_ptr<OrderStore> open();
  [[nodiscard]] std::unique_ptr<OrderStore> makeWith(std::unique_ptr<sql::Dialect> dialect);
  [[nodiscard]] const sqlite::SqliteOptions& options() const { return options_; }
  [[nodiscard]] std::string path() const { return options_.path; }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

 private:
  TempFolder folder_;
  sqlite::SqliteOptions options_;
};

// The file as any other program sees it.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path);
  ~RawDatabase();
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;
  void run(const std::string& statement);
  // The columns of all rows, each row's joined by blanks.
  [[nodiscard]] std::vector<std::string> rows(const std::string& statement);

 private:
  sqlite_api::sqlite3* connection_ = nullptr;
};

// Runs `work` in a process of its own, which ends with the number that it answers. To be called while no
// other thread runs.
class Child {
 public:
  explicit Child(const std::function<int()>& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void kill();               // at once, as the kernel does it when memory ends
  [[nodiscard]] int wait();  // its number; 128 + signal where it was killed

 private:
  pid_t pid_ = -1;
};

}  // namespace sluice::test
