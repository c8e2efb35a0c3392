// A database file of SQLite for one test.
#pragma once

#include <memory>

#include "contract/store_contract.h"
#include "sqlite_dialect.h"
#include "support/temp_folder.h"

namespace sluice::test {

class SqliteWorld final : public StoreWorld {
 public:
  explicit SqliteWorld(sqlite::SqliteOptions options = {});
  [[nodiscard]] std::unique_ptr<OrderStore> make() override;
  [[nodiscard]] std::string path() const { return options_.path; }

 private:
  TempFolder folder_;
  sqlite::SqliteOptions options_;
};

}  // namespace sluice::test
