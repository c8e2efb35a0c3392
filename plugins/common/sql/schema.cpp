// See schema.h.
#include "schema.h"

#include <algorithm>

#include "statement.h"

namespace sluice::sql {

namespace {

constexpr std::string_view kLedger = "sluice_schema";

Error misconfigured(std::string text) { return {ErrorCode::Misconfigured, std::move(text)}; }

// Compares the steps a database has with ours; answers its version.
Result<int> readLedger(Session& session, std::span<const Migration> ours) {
  Rows<1, 1> rows(session, Text("SELECT version, name FROM sluice_schema ORDER BY version"));
  int version = 0;
  while (rows.next()) {
    const std::int64_t found = rows.number(0);
    if (found > static_cast<std::int64_t>(ours.size())) {
      version = static_cast<int>(found);
      continue;
    }
    if (found != version + 1 || rows.text(0) != ours[static_cast<std::size_t>(version)].name) {
      return misconfigured(
          "the schema is not one of Sluice: its ledger differs from this program's at version " +
          std::to_string(version + 1));
    }
    version = static_cast<int>(found);
  }
  return version;
}

// 0 where the database is empty.
Result<int> schemaVersion(Session& session, Dialect& dialect) {
  const std::vector<std::string> tables = dialect.tables(session);
  if (std::find(tables.begin(), tables.end(), kLedger) != tables.end())
    return readLedger(session, dialect.migrations());
  if (tables.empty()) return 0;
  return misconfigured("the database holds tables of another program and no ledger of Sluice (version 0 of " +
                       std::to_string(dialect.migrations().size()) +
                       "); give the store a database of its own");
}

std::string versions(int found, std::size_t ours) {
  return "the schema has version " + std::to_string(found) + ", this program needs version " +
         std::to_string(ours);
}

Result<int> knownVersion(Session& session, Dialect& dialect) {
  auto version = schemaVersion(session, dialect);
  const std::size_t ours = dialect.migrations().size();
  if (version && version.value() > static_cast<int>(ours)) {
    return misconfigured(versions(version.value(), ours) + "; run a program at least as new as the schema");
  }
  return version;
}

}  // namespace

Status checkSchema(Session& session, Dialect& dialect) {
  const auto version = knownVersion(session, dialect);
  if (!version) return version.error();
  const std::size_t ours = dialect.migrations().size();
  if (version.value() == static_cast<int>(ours)) return {};
  return misconfigured(versions(version.value(), ours) + "; migrate it");
}

Result<int> migrateStep(Session& session, Dialect& dialect, UtcTime now) {
  const auto version = knownVersion(session, dialect);
  if (!version) return version.error();
  const auto done = static_cast<std::size_t>(version.value());
  if (done == dialect.migrations().size()) return 0;
  const Migration& step = dialect.migrations()[done];
  for (const char* statement : step.statements) {
    execute(session, Text(statement));
  }
  execute(session,
          Text("INSERT INTO sluice_schema (version, name, applied_at) VALUES (")
              << std::int64_t{step.version} << ", :name, " << now << ")",
          {step.name});
  return step.version;
}

}  // namespace sluice::sql
