// The migration ledger: which version of the schema a database has, and the steps to ours.
//
// The ledger is the table sluice_schema (version, name, applied_at), written in the same transaction as the
// step it records (on databases whose schema changes cannot be undone each step's statements are repeatable
// instead). Each function runs inside a transaction that the caller began for Use::Migrate or Use::Read.
#pragma once

#include "sluice/clock.h"
#include "sluice/result.h"

#include "dialect.h"

namespace sluice::sql {

// Ok where the schema is exactly ours; else Misconfigured, with both versions named.
[[nodiscard]] Status checkSchema(Session& session, Dialect& dialect);

// Applies the next step that is missing; answers its version, or 0 where none is. Misconfigured where the
// schema is newer or foreign.
[[nodiscard]] Result<int> migrateStep(Session& session, Dialect& dialect, UtcTime now);

}  // namespace sluice::sql
