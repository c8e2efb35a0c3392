// See mysql_error.h. The numbers are those of the MySQL 8.0 and MariaDB 10.11 reference manuals.
#include "mysql_error.h"

#include <algorithm>

namespace sluice::mysql {

namespace {

using sql::Failure;
using sql::Stage;

// What numbers have in common for the caller.
enum class Kind : std::uint8_t {
  Met,          // deadlock: the whole transaction again
  SameKey,      // another transaction was first: again
  LockTimeout,  // undoes the statement only, so the transaction is undone by us
  Lost,
  Deadline,
  Unreachable,
  Short,  // of memory or connections
  Disk,
  ReadOnly,
  Refused,  // login, right, TLS
  NoDatabase,
  Schema,
  Rule  // a value that the schema refuses
};

struct Known {
  unsigned number;
  Kind kind;
};

constexpr Known kKnown[] = {
    {3, Kind::Disk},                                // error writing a file
    {1020, Kind::Met},                              // record has changed since last read
    {1021, Kind::Disk},                             // disk full
    {1026, Kind::Disk},                             // error writing a file
    {1030, Kind::Disk},                             // the storage engine fails
    {1037, Kind::Short},                            // out of memory
    {1040, Kind::Short},                            // too many connections
    {1041, Kind::Short},                            // out of memory
    {1044, Kind::Refused},                          // access denied
    {1045, Kind::Refused},     {1048, Kind::Rule},  // not null
    {1049, Kind::NoDatabase},  {1053, Kind::Lost},  // server shutdown in progress
    {1054, Kind::Schema},                           // unknown column
    {1062, Kind::SameKey},                          // duplicate entry
    {1077, Kind::Lost},        {1114, Kind::Disk},  // table full
    {1130, Kind::Refused},                          // host not allowed
    {1142, Kind::Refused},     {1143, Kind::Refused},     {1146, Kind::Schema},  // no such table
    {1152, Kind::Lost},                                                          // aborted connection
    {1158, Kind::Lost},                                                          // reading or writing packets
    {1159, Kind::Lost},        {1160, Kind::Lost},        {1161, Kind::Lost},
    {1184, Kind::Lost},        {1203, Kind::Short},  // too many connections of this user
    {1205, Kind::LockTimeout}, {1213, Kind::Met},    // deadlock
    {1226, Kind::Short},       {1227, Kind::Refused},     {1251, Kind::Refused},  // authentication protocol
    {1264, Kind::Rule},                                                           // out of range
    {1265, Kind::Rule},        {1290, Kind::ReadOnly},  // or another option forbids it
    {1317, Kind::Deadline},                             // interrupted
    {1366, Kind::Rule},        {1406, Kind::Rule},      // too long
    {1451, Kind::Rule},                                 // foreign key
    {1452, Kind::Rule},        {1586, Kind::SameKey},     {1698, Kind::Refused},
    {1792, Kind::ReadOnly},    {1836, Kind::ReadOnly},    {1927, Kind::Lost},  // connection was killed
    {1969, Kind::Deadline},                                                    // longer than MariaDB allows
    {2001, Kind::Unreachable},                                                 // cannot create a socket
    {2002, Kind::Unreachable},                                                 // cannot connect
    {2003, Kind::Unreachable}, {2005, Kind::Unreachable},                      // unknown host
    {2006, Kind::Lost},                                                        // server has gone away
    {2013, Kind::Lost},                                                        // lost connection during query
    {2026, Kind::Refused},                                                     // TLS
    {2055, Kind::Lost},        {2059, Kind::Refused},                          // authentication plugin
    {3024, Kind::Deadline},                                                    // longer than MySQL allows
    {3819, Kind::Rule},                                                        // check constraint of MySQL
    {4025, Kind::Rule},                                                        // check constraint of MariaDB
    {4031, Kind::Lost},  // ended by MySQL for inactivity
};

constexpr auto kByNumber = [](const Known& known, unsigned number) { return known.number < number; };
static_assert(std::is_sorted(std::begin(kKnown), std::end(kKnown),
                             [](const Known& a, const Known& b) { return a.number < b.number; }));

Failure unavailable(std::string text, bool repeat = false) {
  return {{ErrorCode::Unavailable, std::move(text)}, repeat, false};
}

Failure misconfigured(std::string text) {
  return {{ErrorCode::Misconfigured, std::move(text)}, false, false};
}

// A COMMIT whose answer did not come may have happened; before that nothing has.
Failure lost(const std::string& text, Stage stage) {
  if (stage == Stage::Commit) {
    return {{ErrorCode::OutcomeUnknown, "the connection was lost during COMMIT, the change may be stored"},
            false,
            true};
  }
  return {{ErrorCode::Unavailable, "the connection was lost: " + text}, true, true};
}

Failure failureOfKind(const Known& known, const std::string& text, Stage stage) {
  switch (known.kind) {
    case Kind::Met:
      return unavailable("transactions met", true);
    case Kind::SameKey:
      return unavailable("another transaction took the same key", true);
    case Kind::LockTimeout:
      return unavailable("a lock did not come in time");
    case Kind::Lost:
      return lost(text, stage);
    case Kind::Deadline:
      return unavailable("the statement was not done at its deadline");
    case Kind::Unreachable:
      return unavailable("cannot reach the server: " + text);
    case Kind::Short:
      return unavailable("the server is short of memory or connections: " + text);
    case Kind::Disk:
      return unavailable("the server's disk is full or fails");
    case Kind::ReadOnly:
      return unavailable("the server is read-only");
    case Kind::Refused:
      return misconfigured("the server refuses the login or lacks a right: " + text);
    case Kind::NoDatabase:
      return misconfigured("the database does not exist: " + text);
    case Kind::Schema:
      return misconfigured("the schema is not the one the ledger names: " + text);
    case Kind::Rule:
      break;
  }
  return {
      {ErrorCode::Internal, "a rule of the schema refused a change (" + std::to_string(known.number) + ")"},
      false,
      false};
}

}  // namespace

Failure failureOf(unsigned number, const std::string& text, Stage stage) {
  const auto* found = std::lower_bound(std::begin(kKnown), std::end(kKnown), number, kByNumber);
  if (found != std::end(kKnown) && found->number == number) return failureOfKind(*found, text, stage);
  return {{ErrorCode::Internal, "database error " + std::to_string(number) + ": " + text}, false, false};
}

}  // namespace sluice::mysql
