// See sqlite_error.h.
#include "sqlite_error.h"

#include "sqlite_api.h"

namespace sluice::sqlite {

namespace {

sql::Failure unavailable(std::string text, bool repeat = false) {
  return {{ErrorCode::Unavailable, std::move(text)}, repeat};
}

sql::Failure misconfigured(std::string text) { return {{ErrorCode::Misconfigured, std::move(text)}, false}; }

// A COMMIT that failed for the disk. Where the last page could not be written, its checksum is missing and
// nothing happened. Any other failure (sync, shared memory) may come after that: a later recovery of the log
// may still find the commit whole.
sql::Failure ioFailure(int code, const std::string& text, sql::Stage stage) {
  const bool ambiguous = stage == sql::Stage::Commit && code != SQLITE_IOERR_WRITE;
  if (!ambiguous) return unavailable("the disk refuses: " + text);
  return {{ErrorCode::OutcomeUnknown, "the disk failed during COMMIT, the change may be stored: " + text},
          false};
}

}  // namespace

sql::Failure failureOf(int code, const std::string& text, sql::Stage stage) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
      return unavailable("the database is locked by another program", code == SQLITE_BUSY_SNAPSHOT);
    case SQLITE_PROTOCOL:
      return unavailable("programs open the database at the same instant", true);
    case SQLITE_LOCKED:
      return unavailable("a table is locked: " + text);
    case SQLITE_INTERRUPT:
      return unavailable("the statement was not done at its deadline");
    case SQLITE_READONLY:
      return unavailable("the database is read-only: " + text);
    case SQLITE_FULL:
      return unavailable("the disk is full: " + text);
    case SQLITE_NOMEM:
      return unavailable("out of memory");
    case SQLITE_CANTOPEN:
      return unavailable("the database file or its log cannot be opened: " + text);
    case SQLITE_IOERR:
      return ioFailure(code, text, stage);
    case SQLITE_CORRUPT:
      return misconfigured("the database file is damaged; restore it: " + text);
    case SQLITE_NOTADB:
      return misconfigured("the file is not an SQLite database");
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return misconfigured("access to the database is denied: " + text);
    case SQLITE_CONSTRAINT:
      return {{ErrorCode::Internal, "a rule of the schema refused a change: " + text}, false};
    default:
      break;
  }
  if (text.find("no such table") != std::string::npos || text.find("no such column") != std::string::npos) {
    return misconfigured("the schema is not the one the ledger names: " + text);
  }
  return {{ErrorCode::Internal, "SQLite error " + std::to_string(code) + ": " + text}, false};
}

}  // namespace sluice::sqlite
