// MysqlDialect: what MySQL and MariaDB do in their own way, in words that both of them know.
//
// Writers:  transactions at READ COMMITTED that lock their vouchers' rows, in id order.
// Readers:  REPEATABLE READ, READ ONLY, with a consistent snapshot.
// Limits:   a lock is waited for as long as the deadline allows, in whole seconds; whatever lasts longer is
//           cut off by the watchdog, because the two servers have no common word for a statement's time-out.
#pragma once

#include <string>

#include "server_plugin.h"

namespace sluice::mysql {

struct MysqlOptions {
  std::string connect;  // SOCI's connection string, with the password, without the time-out
  milliseconds connectTimeout{5000};
  std::string dbname;
  sql::ServerPools pools;
};

class MysqlDialect : public sql::ServerDialect {
 public:
  explicit MysqlDialect(MysqlOptions options) : ServerDialect(options.pools), options_(std::move(options)) {}

  const char* name() const noexcept override { return "store_mysql"; }
  Result<std::unique_ptr<sql::Session>> open(sql::Use use, Deadline deadline) override;
  void begin(sql::Session& session, sql::Use use) override;
  void commit(sql::Session& session) override;
  bool rollback(sql::Session& session) noexcept override;
  void abandon(sql::Session& session) noexcept override;
  sql::Failure translate(const soci::soci_error& error, sql::Stage stage) const override;
  std::string_view unreleased() const noexcept override {
    return "owed_since IS NOT NULL ORDER BY owed_since, id";
  }
  std::span<const sql::Migration> migrations() const noexcept override;
  std::vector<std::string> tables(sql::Session& session) override;
  std::string durability(sql::Session& session) override;

 private:
  [[nodiscard]] std::string connectString(milliseconds timeout) const;
  const MysqlOptions options_;
};

}  // namespace sluice::mysql
