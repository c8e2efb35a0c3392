// What the plugins of database servers share beside SqlStore: pools by use, connection strings, the factory.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "sluice/plugin.h"

#include "dialect.h"
#include "sql_store.h"

namespace sluice::sql {

// Sessions kept at most.
struct ServerPools {
  std::size_t writers = 4;
  std::size_t readers = 4;
};

[[nodiscard]] inline ServerPools poolsOf(const OptionMap& options) {
  return {static_cast<std::size_t>(options.integer("writers")),
          static_cast<std::size_t>(options.integer("readers"))};
}

// A dialect of a server: nothing to prepare, sessions of both uses, rows locked one by one.
class ServerDialect : public Dialect {
 public:
  explicit ServerDialect(ServerPools pools) : pools_(pools) {}
  std::size_t sessions(Use use) const noexcept override {
    if (use == Use::Migrate) return 1;
    return use == Use::Read ? pools_.readers : pools_.writers;
  }
  Status prepare(Deadline) override { return {}; }
  Status adopt(Session&) override { return {}; }
  std::string_view lockRows() const noexcept override { return " FOR UPDATE"; }

 private:
  const ServerPools pools_;
};

// Appends " key='value'" as libpq and SOCI read it, with quotes and backslashes inside marked.
inline void addQuoted(std::string& connect, std::string_view key, std::string_view value) {
  connect.append(" ").append(key).append("='");
  for (const char c : value) {
    if (c == '\'' || c == '\\') connect += '\\';
    connect += c;
  }
  connect += '\'';
}

// A store on `dialect`.
[[nodiscard]] inline std::unique_ptr<OrderStore> makeStore(std::unique_ptr<Dialect> dialect,
                                                           const StoreContext& context) {
  return std::make_unique<SqlStore>(std::move(dialect), context.log, context.clock, context.random);
}

}  // namespace sluice::sql
