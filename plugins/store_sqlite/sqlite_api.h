// SQLite as SOCI's backend declares it (namespace sqlite_api), so that both speak of the same connection.
#pragma once

#include "soci_api.h"
// After soci_api.h, which settles how SOCI is configured.
#include <soci/sqlite3/soci-sqlite3.h>

namespace sluice::sqlite {

// None where the session is not open. Not checked by UBSan: the library keeps the type information of its
// session to itself.
[[nodiscard]] __attribute__((no_sanitize("vptr"))) inline sqlite_api::sqlite3* connectionOf(
    soci::session& session) noexcept {
  soci::details::session_backend* backend = session.get_backend();
  return backend == nullptr ? nullptr : static_cast<soci::sqlite3_session_backend*>(backend)->conn_;
}

}  // namespace sluice::sqlite
