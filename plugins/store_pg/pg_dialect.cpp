// See pg_dialect.h.
#include "pg_dialect.h"

#include <algorithm>

#include "pg_api.h"
#include "pg_error.h"
#include "pg_schema.h"
#include "statement.h"

namespace sluice::pg {

namespace {

using sql::Session;
using sql::Text;
using sql::Use;

// Of the lock that migrating processes take; any number will do, but it must stay.
constexpr std::int64_t kMigrationLock = 0x736c75696365;  // "sluice"

std::string textOf(Session& session, std::string_view question) {
  sql::Rows<0, 1> rows(session, Text(question));
  return rows.next() ? rows.text(0) : std::string();
}

std::string_view modeOf(Use use) {
  return use == Use::Read ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
                          : "BEGIN ISOLATION LEVEL READ COMMITTED";
}

}  // namespace

Result<std::unique_ptr<Session>> PgDialect::open(Use, Deadline deadline) {
  auto session = std::make_unique<Session>();
  session->deadline = deadline;
  session->soci.open(soci::postgresql, options_.connect);
  PGconn* connection = connectionOf(session->soci);
  session->socket = PQsocket(connection);
  if (textOf(*session, "SHOW server_encoding") != "UTF8") {
    return {ErrorCode::Misconfigured, "the database is not encoded in UTF8; create it with ENCODING 'UTF8'"};
  }
  execute(*session, Text("SET client_encoding = 'UTF8'"));
  execute(*session, Text("SET timezone = 'UTC'"));
  execute(*session, Text("SET client_min_messages = 'warning'"));
  return session;
}

// One round trip. The limits end with the transaction.
void PgDialect::begin(Session& session, Use use) {
  const std::int64_t left = std::max<std::int64_t>(1, session.deadline.remaining().count());
  execute(session, Text(modeOf(use)) << "; SET LOCAL statement_timeout = " << left
                                     << "; SET LOCAL lock_timeout = " << left);
  if (use == Use::Migrate) {
    Text lock("SELECT 1 FROM pg_advisory_xact_lock(");
    sql::Rows<1> locked(session, lock << kMigrationLock << ")");
  }
}

void PgDialect::commit(Session& session) { session.soci.commit(); }

bool PgDialect::rollback(Session& session) noexcept {
  PGconn* connection = connectionOf(session.soci);
  if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) return false;
  if (PQtransactionStatus(connection) == PQTRANS_IDLE) return true;
  try {
    session.soci.rollback();
    return true;
  } catch (const std::exception&) {
    return false;  // in doubt: closing the session ends its transaction too
  }
}

sql::Failure PgDialect::translate(const soci::soci_error& error, sql::Stage stage) const {
  // Never what(): it appends the statement and its values.
  const std::string text = error.get_error_message();
  if (const auto* native = dynamic_cast<const soci::postgresql_soci_error*>(&error)) {
    return failureOf(native->sqlstate(), text, stage);
  }
  return failureOfConnect(text, stage);
}

std::span<const sql::Migration> PgDialect::migrations() const noexcept { return pg::migrations(); }

std::vector<std::string> PgDialect::tables(Session& session) {
  sql::Rows<0, 1> rows(
      session, Text("SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = current_schema() "
                    "ORDER BY tablename"));
  std::vector<std::string> names;
  while (rows.next()) {
    names.push_back(rows.text(0));
  }
  return names;
}

std::string PgDialect::durability(Session& session) {
  const std::string commit = textOf(session, "SHOW synchronous_commit");
  if (textOf(session, "SHOW fsync") != "on" || textOf(session, "SHOW full_page_writes") != "on") {
    return "fsync or full_page_writes is off: the whole database may be lost when the machine loses power";
  }
  if (commit == "off") {
    return "synchronous_commit=off: the last commits may be lost when the server is killed";
  }
  return "synchronous_commit=" + commit + ": a commit is on disk when it is answered";
}

}  // namespace sluice::pg
