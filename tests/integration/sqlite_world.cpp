// See sqlite_world.h.
#include "integration/sqlite_world.h"

#include <filesystem>
#include <thread>

#include "integration/later_dialect.h"
#include "sql_store.h"
#include "statement.h"

namespace sluice::test {
namespace {

// Obeys the world's knobs at the begin of each transaction.
class KnobDialect final : public sqlite::SqliteDialect {
 public:
  KnobDialect(sqlite::SqliteOptions options, const SqliteKnobs& knobs)
      : SqliteDialect(std::move(options)), knobs_(knobs) {}
  void begin(sql::Session& session, sql::Use use) override {
    const bool turned = use == sql::Use::Write && (everTurned_ || knobs_.readOnly || knobs_.full);
    // A session that is read-only refuses to begin.
    if (turned) execute(session, sql::Text("PRAGMA query_only = OFF"));
    SqliteDialect::begin(session, use);
    if (!turned) return;
    everTurned_ = true;
    execute(session, sql::Text(knobs_.full ? "PRAGMA max_page_count = 1"  // that is: not one page more
                                           : "PRAGMA max_page_count = 1000000000"));
    if (knobs_.readOnly) execute(session, sql::Text("PRAGMA query_only = ON"));
  }

 private:
  const SqliteKnobs& knobs_;
  std::atomic<bool> everTurned_{false};
};

}  // namespace

SqliteWorld::SqliteWorld(sqlite::SqliteOptions options) : options_(std::move(options)) {
  options_.path = folder_.file("data/sluice.db");
}

std::unique_ptr<OrderStore> SqliteWorld::make() {
  return makeWith(std::make_unique<KnobDialect>(options_, knobs_));
}

std::unique_ptr<OrderStore> SqliteWorld::makeLater(bool broken) {
  return makeWith(std::make_unique<LaterDialect<sqlite::SqliteDialect>>(options_, broken));
}

std::int64_t SqliteWorld::number(const std::string& select) {
  return std::stoll(RawDatabase(path()).rows(select).at(0));
}

std::shared_ptr<void> SqliteWorld::keepWritersOut() {
  auto other = std::make_shared<RawDatabase>(path());
  for (const Deadline end = Deadline::in(milliseconds(20000)); !other->tryRun("BEGIN IMMEDIATE");) {
    if (end.passed()) return nullptr;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return other;
}

void SqliteWorld::stallStock(bool on) {
  RawDatabase(path()).run(
      on ? "CREATE TRIGGER stall AFTER UPDATE OF remaining ON vouchers BEGIN SELECT COUNT(*) FROM "
           "(WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT 100000000000) "
           "SELECT k FROM n); END"
         : "DROP TRIGGER stall");
}

void SqliteWorld::refuse(UserId user) {
  RawDatabase(path()).run(user.valid() ? "CREATE TRIGGER refuse BEFORE INSERT ON orders WHEN NEW.user_id = " +
                                             user.text() + " BEGIN SELECT RAISE(ABORT, 'no'); END"
                                       : "DROP TRIGGER refuse");
}

void SqliteWorld::setReachable(bool on) {
  const std::string data = folder_.file("data");
  const std::string away = folder_.file("away");
  std::filesystem::rename(on ? away : data, on ? data : away);
}

std::unique_ptr<OrderStore> SqliteWorld::open() {
  auto store = make();
  const Deadline deadline = Deadline::in(std::chrono::seconds(20));
  Status done = store->migrate(deadline);
  if (done) done = store->start(deadline);
  EXPECT_TRUE(done) << done.error().text;
  return store;
}

std::unique_ptr<OrderStore> SqliteWorld::makeWith(std::unique_ptr<sql::Dialect> dialect) {
  return std::make_unique<sql::SqlStore>(std::move(dialect), log, systemClock(), systemRandom());
}

RawDatabase::RawDatabase(const std::string& path) {
  EXPECT_EQ(sqlite_api::sqlite3_open(path.c_str(), &connection_), SQLITE_OK);
}

RawDatabase::~RawDatabase() { sqlite_api::sqlite3_close(connection_); }

bool RawDatabase::tryRun(const std::string& statement) {
  return sqlite_api::sqlite3_exec(connection_, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

void RawDatabase::run(const std::string& statement) { (void)rows(statement); }

std::vector<std::string> RawDatabase::rows(const std::string& statement) {
  std::vector<std::string> rows;
  const auto collect = [](void* into, int count, char** values, char**) {
    std::string row;
    for (int k = 0; k < count; ++k) {
      row += std::string(k == 0 ? "" : " ") + (values[k] == nullptr ? "NULL" : values[k]);
    }
    static_cast<std::vector<std::string>*>(into)->push_back(row);
    return 0;
  };
  const int code = sqlite_api::sqlite3_exec(connection_, statement.c_str(), collect, &rows, nullptr);
  EXPECT_EQ(code, SQLITE_OK) << statement << ": " << sqlite_api::sqlite3_errmsg(connection_);
  return rows;
}

}  // namespace sluice::test
