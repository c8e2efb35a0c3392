// SQLite as SOCI's backend declares it (namespace sqlite_api), so that both speak of the same connection.
#pragma once

#include "soci_api.h"
// After soci_api.h, which settles how SOCI is configured.
#include <soci/sqlite3/soci-sqlite3.h>
