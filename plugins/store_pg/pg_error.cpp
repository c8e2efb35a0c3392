// See pg_error.h.
#include "pg_error.h"

#include <algorithm>

namespace sluice::pg {

namespace {

using sql::Failure;
using sql::Stage;

Failure unavailable(std::string text, bool repeat = false) {
  return {{ErrorCode::Unavailable, std::move(text)}, repeat, false};
}

Failure misconfigured(std::string text) {
  return {{ErrorCode::Misconfigured, std::move(text)}, false, false};
}

// "ERROR:  relation "orders" does not exist": the first line of the server's own words.
std::string firstLine(std::string_view text) {
  for (const std::string_view severity : {"ERROR:", "FATAL:", "PANIC:"}) {
    const std::size_t at = text.find(severity);
    if (at != std::string_view::npos) {
      text.remove_prefix(at + severity.size());
      break;
    }
  }
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return std::string(text.substr(0, text.find('\n')));
}

// A COMMIT whose answer did not come may have happened; before that nothing has.
Failure lost(std::string text, Stage stage) {
  if (stage == Stage::Commit) {
    return {{ErrorCode::OutcomeUnknown, "the connection was lost during COMMIT, the change may be stored"},
            false,
            true};
  }
  return {{ErrorCode::Unavailable, std::move(text)}, true, true};
}

// By the class of the state, its first two characters.
Failure failureOfClass(std::string_view state, const std::string& line, Stage stage) {
  const std::string_view group = state.substr(0, 2);
  if (group == "08") return lost("the connection was lost: " + line, stage);
  if (group == "57") return lost("the server ended the session: " + line, stage);
  if (group == "53") return unavailable("the server is short of memory, disk or connections: " + line);
  if (group == "58") return unavailable("the server's disk fails: " + line);
  if (group == "28") return misconfigured("the server refuses the login: " + line);
  if (group == "3D" || group == "3F") return misconfigured("the database or schema does not exist: " + line);
  if (group == "22" || group == "23") {
    // Not the line: it may quote a value.
    return {{ErrorCode::Internal, "a rule of the schema refused a change (" + std::string(state) + ")"},
            false,
            false};
  }
  if (state.find_first_not_of(' ') == std::string_view::npos)
    return lost("the connection was lost: " + line, stage);
  return {{ErrorCode::Internal, "PostgreSQL error " + std::string(state) + ": " + line}, false, false};
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

Failure failureOf(std::string_view state, std::string_view text, Stage stage) {
  const std::string line = firstLine(text);
  if (state == "40001" || state == "40P01") return unavailable("transactions met: " + line, true);
  if (state == "23505") return unavailable("another transaction took the same key", true);
  if (state == "55P03") return unavailable("a lock did not come in time");
  if (state == "57014") return unavailable("the statement was not done at its deadline");
  if (state == "57P03") return unavailable("the server is starting or ending: " + line);
  if (state == "25006") return unavailable("the server is read-only");
  if (state == "42P01" || state == "42703")
    return misconfigured("the schema is not the one the ledger names: " + line);
  if (state == "42501") return misconfigured("the user lacks a right: " + line);
  return failureOfClass(state, line, stage);
}

Failure failureOfConnect(std::string_view text, Stage stage) {
  const std::string line = firstLine(text.substr(std::min(text.find('\n') + 1, text.size())));
  for (const std::string_view mine :
       {"authentication", "does not exist", "no pg_hba.conf entry", "SSL", "certificate", "password",
        "not permitted to log in", "invalid connection option", "invalid sslmode", "permission denied"}) {
    if (holds(text, mine)) return misconfigured("the server cannot be used: " + line);
  }
  if (holds(text, "Cannot establish connection")) return unavailable("cannot reach the server: " + line);
  return lost("the connection was lost: " + line, stage);
}

}  // namespace sluice::pg
