// What the SQL stores mean by a session, and how a call uses one.
#pragma once

#include <cstdint>

#include "sluice/clock.h"

#include "soci_api.h"

namespace sluice::sql {

// One connection to the database. `deadline` is that of the call that holds the session now; a dialect may
// hand its address to the client library, so a session never moves.
struct Session {
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  soci::session soci;
  Deadline deadline{SteadyTime::max()};
  int socket = -1;                   // of the connection to a server; for the watchdog
  std::int64_t lockWaitSeconds = 0;  // as the server was told last, where a dialect has to tell it
};

enum class Use : std::uint8_t {
  Read,    // one consistent view of what is committed
  Write,   // may lock and change rows
  Migrate  // may change the schema; one process at a time
};

}  // namespace sluice::sql
