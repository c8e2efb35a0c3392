// See sqlite_together.h.
#include "integration/sqlite_together.h"

#include <stdexcept>

#include <sqlite3.h>

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

}  // namespace

std::unique_ptr<TogetherWorld> makeSqliteTogether(const std::string& dataDir) {
  return std::make_unique<SqliteTogether>(dataDir);
}

}  // namespace sluice::test
