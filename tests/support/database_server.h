// A private database server as the tests use it: what fails, fails the test.
#pragma once

#include <memory>
#include <string>

#include "sluice/private_database.h"

namespace sluice::test {

class DatabaseServer {
 public:
  // Started and answering; not synced to the disk. Throws std::runtime_error where it does not come up.
  explicit DatabaseServer(DatabaseKind kind);

  [[nodiscard]] const PrivateDatabase& database() const noexcept { return *server_; }
  [[nodiscard]] DatabaseKind kind() const noexcept { return kind_; }
  // One statement behind everybody's back.
  std::string query(const std::string& database, const std::string& sql) const;
  std::int64_t number(const std::string& database, const std::string& sql) const;
  void createDatabase(const std::string& name) const;
  void dropDatabase(const std::string& name) const;

  void kill() { server_->kill(); }
  void start();
  void freeze() { server_->freeze(); }
  void resume() { server_->resume(); }

 private:
  const DatabaseKind kind_;
  std::unique_ptr<PrivateDatabase> server_;
};

}  // namespace sluice::test
