// Transactions: runs a body in one, on a leased session, and turns whatever happens into a Status.
//
// Role:     the one place of the SQL stores where exceptions of SOCI end.
// Threads:  every call from any thread. Blocking: until the deadline; a transaction that a deadlock or lost
//           race undid is repeated within it, at most kAttempts times.
// Errors:   those of Dialect::translate, and those the body answers (its transaction is undone then).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "sluice/log.h"
#include "sluice/result.h"

#include "dialect.h"
#include "session_pool.h"
#include "watchdog.h"

namespace sluice::sql {

class Transactions {
 public:
  // More would only hide that two programs fight over the same rows.
  static constexpr std::uint32_t kAttempts = 8;
  using Body = std::function<Status(Session&)>;

  // Repetitions are counted in the log.
  Transactions(Dialect& dialect, Log& log, Random& random) : dialect_(dialect), log_(log), random_(random) {}

  [[nodiscard]] std::unique_ptr<SessionPool> pool(Use use);
  [[nodiscard]] Status run(SessionPool& pool, Use use, Deadline deadline, const Body& body);
  // Runs `body` on a session outside a transaction; for settings that refuse one.
  [[nodiscard]] Status outside(SessionPool& pool, Deadline deadline, const Body& body);

 private:
  // Nothing where it went well.
  [[nodiscard]] std::optional<Failure> attempt(SessionPool& pool, Use use, Deadline deadline,
                                               const Body& body);
  // Of the exception being handled; to be called in a catch block.
  [[nodiscard]] Failure caught(Stage stage) const;
  [[nodiscard]] std::optional<Failure> work(Session& session, Use use, const Body& body);

  Dialect& dialect_;
  Log& log_;
  Random& random_;
  Watchdog watchdog_;
};

}  // namespace sluice::sql
