// SqliteDialect: what SQLite does in its own way.
//
// Writers:  one at a time in the whole file. Within the process the pool of one session is the lock, between
// processes BEGIN
//           IMMEDIATE is; both end at the call's deadline.
// Readers:  sessions of their own; in WAL mode they neither wait for the writer nor stop it.
// Limits:   every statement is cut off at its deadline by a progress handler.
#pragma once

#include <string>

#include "dialect.h"

namespace sluice::sqlite {

struct SqliteOptions {
  std::string path;             // absolute
  bool synchronousFull = true;  // else NORMAL
  milliseconds busy{5000};      // longest wait for another process' lock
  std::size_t readers = 4;
};

class SqliteDialect : public sql::Dialect {
 public:
  explicit SqliteDialect(SqliteOptions options) : options_(std::move(options)) {}

  const char* name() const noexcept override { return "store_sqlite"; }
  std::size_t sessions(sql::Use use) const noexcept override {
    return use == sql::Use::Read ? options_.readers : 1;
  }
  Status prepare(Deadline deadline) override;
  Result<std::unique_ptr<sql::Session>> open(sql::Use use, Deadline deadline) override;
  Status adopt(sql::Session& session) override;
  void begin(sql::Session& session, sql::Use use) override;
  void commit(sql::Session& session) override;
  bool rollback(sql::Session& session) noexcept override;
  sql::Failure translate(const soci::soci_error& error, sql::Stage stage) const override;
  std::string_view lockRows() const noexcept override { return {}; }
  std::span<const sql::Migration> migrations() const noexcept override;
  std::vector<std::string> tables(sql::Session& session) override;
  std::string durability(sql::Session& session) override;

 private:
  const SqliteOptions options_;
};

}  // namespace sluice::sqlite
