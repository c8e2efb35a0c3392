// See mysql_error.h. The numbers are those of the MySQL 8.0 and MariaDB 10.11 reference manuals.
#include "mysql_error.h"

namespace sluice::mysql {

namespace {

using sql::Failure;
using sql::Stage;

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

}  // namespace

Failure failureOf(unsigned number, const std::string& text, Stage stage) {
  switch (number) {
    case 1213:  // deadlock
    case 1020:  // record has changed since last read
      return unavailable("transactions met", true);
    case 1062:  // duplicate entry
    case 1586:
      return unavailable("another transaction took the same key", true);
    case 1205:  // lock wait timeout; it undoes the statement only, so the transaction is undone by us
      return unavailable("a lock did not come in time");
    case 1053:  // server shutdown in progress
    case 1077:
    case 1152:  // aborted connection
    case 1158:  // reading or writing packets
    case 1159:
    case 1160:
    case 1161:
    case 1184:
    case 1927:  // connection was killed
    case 2006:  // server has gone away
    case 2013:  // lost connection during query
    case 2055:  // lost connection at ...
    case 4031:  // ended by the server for inactivity
      return lost(text, stage);
    case 1317:  // interrupted
    case 1969:  // longer than the server allows
    case 3024:
      return unavailable("the statement was not done at its deadline");
    case 2001:  // cannot create a socket
    case 2002:  // cannot connect
    case 2003:
    case 2005:  // unknown host
      return unavailable("cannot reach the server: " + text);
    case 1040:  // too many connections
    case 1203:
    case 1226:
    case 1041:  // out of memory
    case 1037:
      return unavailable("the server is short of memory or connections: " + text);
    case 3:     // error writing a file
    case 1021:  // disk full
    case 1026:
    case 1030:  // the storage engine fails
    case 1114:  // table full
      return unavailable("the server's disk is full or fails");
    case 1290:  // read-only, or another option forbids it
    case 1792:
    case 1836:
      return unavailable("the server is read-only");
    case 1044:  // access denied
    case 1045:
    case 1698:
    case 1130:
    case 1142:
    case 1143:
    case 1227:
    case 1251:
    case 2026:  // TLS
    case 2059:  // authentication plugin
      return misconfigured("the server refuses the login or lacks a right: " + text);
    case 1049:
      return misconfigured("the database does not exist: " + text);
    case 1054:  // unknown column
    case 1146:  // no such table
      return misconfigured("the schema is not the one the ledger names: " + text);
    case 1048:  // values that a rule of the schema refuses
    case 1264:
    case 1265:
    case 1366:
    case 1406:
    case 1451:
    case 1452:
    case 3819:
    case 4025:
      return {{ErrorCode::Internal, "a rule of the schema refused a change (" + std::to_string(number) + ")"},
              false,
              false};
    default:
      return {{ErrorCode::Internal, "database error " + std::to_string(number) + ": " + text}, false, false};
  }
}

}  // namespace sluice::mysql
