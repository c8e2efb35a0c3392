// See sqlite_world.h.
#include "integration/sqlite_world.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "sql_store.h"

namespace sluice::test {

SqliteWorld::SqliteWorld(sqlite::SqliteOptions options) : options_(std::move(options)) {
  options_.path = folder_.file("data/sluice.db");
}

std::unique_ptr<OrderStore> SqliteWorld::make() {
  return makeWith(std::make_unique<sqlite::SqliteDialect>(options_));
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
  return std::make_unique<sql::SqlStore>(std::move(dialect), noLog(), systemClock(), systemRandom());
}

RawDatabase::RawDatabase(const std::string& path) {
  EXPECT_EQ(sqlite_api::sqlite3_open(path.c_str(), &connection_), SQLITE_OK);
}

RawDatabase::~RawDatabase() { sqlite_api::sqlite3_close(connection_); }

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

Child::Child(const std::function<int()>& work) : pid_(::fork()) {
  if (pid_ == 0) ::_exit(work());
}

Child::~Child() {
  if (pid_ > 0) {
    kill();
    (void)wait();
  }
}

void Child::kill() { ::kill(pid_, SIGKILL); }

int Child::wait() {
  int status = 0;
  EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace sluice::test
