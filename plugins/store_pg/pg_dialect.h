// PgDialect: what PostgreSQL does in its own way.
//
// Writers:  transactions at READ COMMITTED that lock their vouchers' rows, in id order.
// Readers:  REPEATABLE READ, READ ONLY: one snapshot.
// Limits:   each transaction tells the server how long a statement and a lock may take; what answers not even
//           that is cut off by the watchdog.
#pragma once

#include <string>

#include "dialect.h"

namespace sluice::pg {

struct PgOptions {
  std::string connect;  // the client library's connection string, with the password
  std::size_t writers = 4;
  std::size_t readers = 4;
};

class PgDialect : public sql::Dialect {
 public:
  explicit PgDialect(PgOptions options) : options_(std::move(options)) {}

  const char* name() const noexcept override { return "store_pg"; }
  std::size_t sessions(sql::Use use) const noexcept override {
    if (use == sql::Use::Migrate) return 1;
    return use == sql::Use::Read ? options_.readers : options_.writers;
  }
  Status prepare(Deadline) override { return {}; }
  Result<std::unique_ptr<sql::Session>> open(sql::Use use, Deadline deadline) override;
  Status adopt(sql::Session&) override { return {}; }
  void begin(sql::Session& session, sql::Use use) override;
  void commit(sql::Session& session) override;
  bool rollback(sql::Session& session) noexcept override;
  sql::Failure translate(const soci::soci_error& error, sql::Stage stage) const override;
  std::string_view lockRows() const noexcept override { return " FOR UPDATE"; }
  std::span<const sql::Migration> migrations() const noexcept override;
  std::vector<std::string> tables(sql::Session& session) override;
  std::string durability(sql::Session& session) override;

 private:
  const PgOptions options_;
};

}  // namespace sluice::pg
