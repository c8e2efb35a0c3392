// The client library as SOCI's backend declares it, so that both speak of the same connection.
#pragma once

#include "soci_api.h"
// After soci_api.h, which settles how SOCI is configured.
#include <soci/postgresql/soci-postgresql.h>

namespace sluice::pg {

// None where the session is not open. Not checked by UBSan: the library keeps the type information of its
// session to itself.
[[nodiscard]] __attribute__((no_sanitize("vptr"))) inline PGconn* connectionOf(
    soci::session& session) noexcept {
  soci::details::session_backend* backend = session.get_backend();
  return backend == nullptr ? nullptr : static_cast<soci::postgresql_session_backend*>(backend)->conn_;
}

}  // namespace sluice::pg
