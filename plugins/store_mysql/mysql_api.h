// The client library as SOCI's backend declares it, so that both speak of the same connection.
#pragma once

#include "soci_api.h"
// After soci_api.h, which settles how SOCI is configured.
#include <soci/mysql/soci-mysql.h>

namespace sluice::mysql {

// None where the session is not open. Not checked by UBSan: the library keeps the type information of its
// session to itself.
[[nodiscard]] __attribute__((no_sanitize("vptr"))) inline MYSQL* connectionOf(
    soci::session& session) noexcept {
  soci::details::session_backend* backend = session.get_backend();
  return backend == nullptr ? nullptr : static_cast<soci::mysql_session_backend*>(backend)->conn_;
}

}  // namespace sluice::mysql
