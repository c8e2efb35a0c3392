// See mysql_dialect.h.
#include "mysql_dialect.h"

#include <algorithm>

#include "mysql_api.h"
#include "mysql_error.h"
#include "mysql_schema.h"
#include "statement.h"

namespace sluice::mysql {

namespace {

using sql::Session;
using sql::Text;
using sql::Use;

// Locks are asked for again after this; the server's own default of 50 s outlives every deadline of ours.
constexpr std::int64_t kLockWaitSecondsMax = 10;
constexpr milliseconds kAbandonWithin{1000};
// More rows in one statement than the batch limit allows never come near it; less would cut a batch.
constexpr std::int64_t kPacketBytesMin = 1024 * 1024;

std::string textOf(Session& session, std::string_view question) {
  sql::Rows<0, 1> rows(session, Text(question));
  return rows.next() ? rows.text(0) : std::string();
}

std::int64_t numberOf(Session& session, std::string_view question) {
  sql::Rows<1> rows(session, Text(question));
  return rows.next() ? rows.number(0) : 0;
}

// One for each database of the server; the name has at most 64 characters.
std::string migrationLock(const std::string& database) {
  return ("sluice migrates " + database).substr(0, 64);
}

}  // namespace

std::string MysqlDialect::connectString(milliseconds timeout) const {
  return options_.connect + " connect_timeout=" + std::to_string(timeout.count() / 1000);
}

Result<std::unique_ptr<Session>> MysqlDialect::open(Use use, Deadline deadline) {
  auto session = std::make_unique<Session>();
  session->deadline = deadline;
  session->soci.open(soci::mysql, connectString(options_.connectTimeout));
  session->socket = static_cast<int>(mysql_get_socket(connectionOf(session->soci)));
  // Whatever the server's defaults are: nothing is bent to fit, text is UTF-8, times are UTC.
  execute(*session, Text("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
                         "time_zone = '+00:00', autocommit = 1"));
  execute(*session, Text(use == Use::Read ? "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
                                          : "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"));
  if (numberOf(*session, "SELECT @@max_allowed_packet") < kPacketBytesMin) {
    return {ErrorCode::Misconfigured,
            "max_allowed_packet of the server is below 1 MiB; a batch of orders needs it"};
  }
  return session;
}

void MysqlDialect::begin(Session& session, Use use) {
  if (use == Use::Read) {
    execute(session, Text("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"));
    return;
  }
  const std::int64_t left = (session.deadline.remaining().count() + 999) / 1000;
  const std::int64_t wait = std::clamp<std::int64_t>(left, 1, kLockWaitSecondsMax);
  if (wait != session.lockWaitSeconds) {
    execute(session, Text("SET SESSION innodb_lock_wait_timeout = ")
                         << wait << ", lock_wait_timeout = " << wait);
    session.lockWaitSeconds = wait;
  }
  if (use == Use::Migrate) {
    // Survives the commits that each DDL statement makes.
    sql::Rows<1> locked(session, Text("SELECT COALESCE(GET_LOCK(:lock, ") << left << "), 0)",
                        {migrationLock(options_.dbname)});
    if (!locked.next() || locked.number(0) != 1)
      throw soci::mysql_soci_error("another process migrates", 1205);
  }
  execute(session, Text("START TRANSACTION"));
}

void MysqlDialect::commit(Session& session) { session.soci.commit(); }

bool MysqlDialect::rollback(Session& session) noexcept {
  if (connectionOf(session.soci) == nullptr) return false;
  try {
    session.soci.rollback();
    return true;
  } catch (const std::exception&) {
    return false;  // in doubt: closing the session ends its transaction too
  }
}

// A statement goes on in the server after its client has gone, and keeps its locks meanwhile.
void MysqlDialect::abandon(Session& session) noexcept {
  MYSQL* connection = connectionOf(session.soci);
  if (connection == nullptr) return;
  try {
    Session other;
    other.soci.open(soci::mysql, connectString(kAbandonWithin));
    execute(other, Text("KILL ") << static_cast<std::int64_t>(mysql_thread_id(connection)));
  } catch (const std::exception&) {
    // It has ended by itself, or the server does not answer at all.
  }
}

sql::Failure MysqlDialect::translate(const soci::soci_error& error, sql::Stage stage) const {
  // Never what(): it appends the statement and its values.
  const std::string text = error.get_error_message();
  if (const auto* native = dynamic_cast<const soci::mysql_soci_error*>(&error)) {
    return failureOf(native->err_num_, text, stage);
  }
  return {{ErrorCode::Internal, text}, false, false};
}

std::span<const sql::Migration> MysqlDialect::migrations() const noexcept { return mysql::migrations(); }

std::vector<std::string> MysqlDialect::tables(Session& session) {
  sql::Rows<0, 1> rows(session, Text("SELECT table_name FROM information_schema.tables WHERE table_schema = "
                                     "DATABASE() ORDER BY table_name"));
  std::vector<std::string> names;
  while (rows.next()) {
    names.push_back(rows.text(0));
  }
  return names;
}

std::string MysqlDialect::durability(Session& session) {
  const std::int64_t flush = numberOf(session, "SELECT @@innodb_flush_log_at_trx_commit");
  const std::string setting = "innodb_flush_log_at_trx_commit=" + std::to_string(flush);
  if (flush == 0) return setting + ": the last second of commits may be lost when the server is killed";
  if (flush != 1) return setting + ": the last second of commits may be lost when the machine loses power";
  if (textOf(session, "SELECT @@log_bin") == "1" && numberOf(session, "SELECT @@sync_binlog") != 1) {
    return setting +
           ", sync_binlog is not 1: a commit is on disk when it is answered, but a replica may miss it";
  }
  return setting + ": a commit is on disk when it is answered";
}

}  // namespace sluice::mysql
