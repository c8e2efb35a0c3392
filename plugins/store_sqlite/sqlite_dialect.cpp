// See sqlite_dialect.h.
#include "sqlite_dialect.h"

#include <filesystem>
#include <thread>

#include "database_file.h"
#include "sqlite_api.h"
#include "sqlite_error.h"
#include "sqlite_schema.h"
#include "statement.h"

namespace sluice::sqlite {

namespace {

using sql::Session;
using sql::Text;
using sql::Use;

// Steps of SQLite's machine between two looks at the clock: some 50 microseconds.
constexpr int kStepsBetweenLooks = 4000;
// Switching to WAL needs the file alone for an instant, and SQLite does not wait for it by itself.
constexpr milliseconds kWalRetry{5};

int stopAtDeadline(void* deadline) { return static_cast<const Deadline*>(deadline)->passed() ? 1 : 0; }

std::string textOf(Session& session, const char* question) {
  sql::Rows<0, 1> rows(session, Text(question));
  return rows.next() ? rows.text(0) : std::string();
}

std::int64_t numberOf(Session& session, const char* question) {
  sql::Rows<1> rows(session, Text(question));
  return rows.next() ? rows.number(0) : 0;
}

}  // namespace

Status SqliteDialect::prepare(Deadline) { return createDatabaseFile(options_.path); }

Result<std::unique_ptr<Session>> SqliteDialect::open(Use use, Deadline deadline) {
  // SQLite would create a missing file, and an empty database would hide that the path is wrong.
  std::error_code error;
  if (!std::filesystem::exists(options_.path, error)) {
    return {ErrorCode::Misconfigured, "the database file " + options_.path +
                                          (error ? " cannot be reached: " + error.message()
                                                 : std::string(" does not exist; migrate creates it"))};
  }
  auto session = std::make_unique<Session>();
  session->deadline = deadline;
  session->soci.open(soci::sqlite3, "dbname=\"" + options_.path + "\" timeout=0");
  sqlite_api::sqlite3* connection = connectionOf(session->soci);
  sqlite_api::sqlite3_extended_result_codes(connection, 1);
  sqlite_api::sqlite3_progress_handler(connection, kStepsBetweenLooks, stopAtDeadline, &session->deadline);
  sqlite_api::sqlite3_busy_timeout(connection,
                                   static_cast<int>(std::min(options_.busy, deadline.remaining()).count()));
  execute(*session, Text("PRAGMA foreign_keys = ON"));
  execute(*session, Text("PRAGMA trusted_schema = OFF"));
  execute(*session,
          Text(options_.synchronousFull ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  if (use == Use::Read) {
    execute(*session, Text("PRAGMA query_only = ON"));
  } else {
    execute(*session, Text("PRAGMA cache_size = -32768"));  // KiB: the indexes of a sale stay in memory
    execute(*session, Text("PRAGMA journal_size_limit = 67108864"));  // the log shrinks again after a rush
  }
  return session;
}

Status SqliteDialect::adopt(Session& session) {
  while (true) {
    try {
      const std::string mode = textOf(session, "PRAGMA journal_mode = WAL");
      if (mode == "wal") return {};
      if (session.deadline.passed()) {
        return {ErrorCode::Unavailable, "the database cannot be switched to WAL, it stays in mode " + mode};
      }
    } catch (const soci::sqlite3_soci_error& error) {
      if ((error.result() & 0xFF) != SQLITE_BUSY || session.deadline.passed()) throw;
    }
    std::this_thread::sleep_for(kWalRetry);
  }
}

void SqliteDialect::begin(Session& session, Use use) {
  const milliseconds wait = std::min(options_.busy, session.deadline.remaining());
  sqlite_api::sqlite3_busy_timeout(connectionOf(session.soci), static_cast<int>(wait.count()));
  execute(session, Text(use == Use::Read ? "BEGIN" : "BEGIN IMMEDIATE"));
}

void SqliteDialect::commit(Session& session) { session.soci.commit(); }

bool SqliteDialect::rollback(Session& session) noexcept {
  // Some failures undo the transaction by themselves; a second ROLLBACK would be an error.
  sqlite_api::sqlite3* connection = connectionOf(session.soci);
  if (connection == nullptr) return false;
  if (sqlite_api::sqlite3_get_autocommit(connection) != 0) return true;
  return sqlite_api::sqlite3_exec(connection, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK;
}

sql::Failure SqliteDialect::translate(const soci::soci_error& error, sql::Stage stage) const {
  // Never what(): it appends the statement and its values.
  const std::string text = error.get_error_message();
  if (const auto* native = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) {
    return failureOf(native->result(), text, stage);
  }
  return {{ErrorCode::Internal, text}, false};
}

std::span<const sql::Migration> SqliteDialect::migrations() const noexcept { return sqlite::migrations(); }

std::vector<std::string> SqliteDialect::tables(Session& session) {
  sql::Rows<0, 1> rows(session, Text("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"));
  std::vector<std::string> names;
  while (rows.next()) {
    names.push_back(rows.text(0));
  }
  return names;
}

std::string SqliteDialect::durability(Session& session) {
  const std::string mode = textOf(session, "PRAGMA journal_mode");
  const bool full = numberOf(session, "PRAGMA synchronous") >= 2;
  return (mode == "wal" ? std::string("WAL") : "journal mode " + mode) +
         (full ? ", synchronous=FULL: a commit is on disk when it is answered"
               : ", synchronous=NORMAL: the last commits may be lost when the machine loses power");
}

}  // namespace sluice::sqlite
