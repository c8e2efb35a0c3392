// PgDialect: what PostgreSQL does in its own way.
//
// Writers:  transactions at READ COMMITTED that lock their vouchers' rows, in id order.
// Readers:  REPEATABLE READ, READ ONLY: one snapshot.
// Limits:   each transaction tells the server how long a statement and a lock may take; what answers not even
//           that is cut off by the watchdog.
#pragma once

#include <string>

#include "server_plugin.h"

namespace sluice::pg {

struct PgOptions {
  std::string connect;  // the client library's connection string, with the password
  sql::ServerPools pools;
};

class PgDialect : public sql::ServerDialect {
 public:
  explicit PgDialect(PgOptions options) : ServerDialect(options.pools), options_(std::move(options)) {}

  const char* name() const noexcept override { return "store_pg"; }
  Result<std::unique_ptr<sql::Session>> open(sql::Use use, Deadline deadline) override;
  void begin(sql::Session& session, sql::Use use) override;
  void commit(sql::Session& session) override;
  bool rollback(sql::Session& session) noexcept override;
  sql::Failure translate(const soci::soci_error& error, sql::Stage stage) const override;
  std::span<const sql::Migration> migrations() const noexcept override;
  std::vector<std::string> tables(sql::Session& session) override;
  std::string durability(sql::Session& session) override;

 private:
  const PgOptions options_;
};

}  // namespace sluice::pg
