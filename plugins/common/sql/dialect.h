// Dialect: everything in which the SQL databases differ, so that the store's logic exists once.
//
// Role:     implemented by each SQL store plugin; called by SqlStore alone.
// Threads:  every call from any thread, with a session that no other thread uses meanwhile.
// Errors:   members that talk to the database may throw soci::soci_error; SqlStore catches it in one place
//           and asks translate(). translate() is the plugin's one translation point.
// Text:     statements are plain SQL that all three databases read. Ids, times and counts stand in them as
//           decimal numbers (64-bit integers, written by statement.h and nothing else); text is always
//           bound, never pasted.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/result.h"

#include "session.h"

namespace sluice::sql {

// One step of the schema. Numbers are dense from 1; a step, once released, never changes.
struct Migration {
  int version;
  const char* name;
  std::span<const char* const> statements;
};

// Where a call was when the database refused.
enum class Stage : std::uint8_t { Begin, Work, Commit };

struct Failure {
  Error error;
  bool repeat = false;          // the whole transaction may be tried again at once: deadlock, serialization,
                                // lost race for a key, a connection that had died while it was idle
  bool connectionLost = false;  // the session is of no use any more, and those as old as it are suspect
};

class Dialect {
 public:
  virtual ~Dialect();

  // A short fixed word for the log: "store_sqlite".
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  // Sessions kept at most for each use. With one writer the pool is also the lock between the threads of this
  // process.
  [[nodiscard]] virtual std::size_t sessions(Use use) const noexcept = 0;

  // Creates what a schema can live in (a file, nothing on a server); before the first migration.
  [[nodiscard]] virtual Status prepare(Deadline deadline) = 0;
  // A session for transactions of this use.
  [[nodiscard]] virtual Result<std::unique_ptr<Session>> open(Use use, Deadline deadline) = 0;
  // Called once the schema was found to be ours, outside a transaction: settings that must not touch a
  // foreign database.
  [[nodiscard]] virtual Status adopt(Session& session) = 0;

  // Starts a transaction in which every wait, and every statement, ends at session.deadline.
  // Read: all its statements see one snapshot. Write: each statement sees what is committed when it runs
  // (READ COMMITTED on a server), because a snapshot taken before a lock was waited for would be too old.
  // Migrate: alone among all processes.
  virtual void begin(Session& session, Use use) = 0;
  virtual void commit(Session& session) = 0;
  // False where the session is in doubt; it is closed then and opened anew.
  [[nodiscard]] virtual bool rollback(Session& session) noexcept = 0;
  // The watchdog cut this session: has the server end what it may still be doing in it, and give its locks
  // back. Bounded by a second or so; where that does not work, the server's own time-outs have to.
  virtual void abandon(Session& session) noexcept { static_cast<void>(session); }
  [[nodiscard]] virtual Failure translate(const soci::soci_error& error, Stage stage) const = 0;

  // Behind a SELECT: locks the rows it reads until the transaction ends. Empty where begin() locks
  // everything.
  [[nodiscard]] virtual std::string_view lockRows() const noexcept = 0;
  // Condition and order of the dead rows whose hold is not released yet, oldest first, as an index of this
  // database serves them.
  [[nodiscard]] virtual std::string_view unreleased() const noexcept {
    return "released_at IS NULL AND status >= 3 ORDER BY updated_at, id";
  }

  // The steps of the schema, the ledger's own table (sluice_schema) first in step 1.
  [[nodiscard]] virtual std::span<const Migration> migrations() const noexcept = 0;
  // Names of all tables in the place that is to be ours alone (a file, a database or schema of a server).
  [[nodiscard]] virtual std::vector<std::string> tables(Session& session) = 0;

  // What a commit means at the settings in force, for people.
  [[nodiscard]] virtual std::string durability(Session& session) = 0;
};

}  // namespace sluice::sql
