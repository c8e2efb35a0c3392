// A private database server as the tests use it: what fails, fails the test.
#pragma once

#include <memory>
#include <string>

#include "sluice/private_database.h"

namespace sluice::test {

class DatabaseServer {
 public:
  // Started and answering; not synced to the disk. Throws std::runtime_error where it does not come up.
  // Its folder is made in `parent` ("" the temporary one).
  explicit DatabaseServer(DatabaseKind kind, const std::string& parent = {});

  [[nodiscard]] const PrivateDatabase& database() const noexcept { return *server_; }
  [[nodiscard]] DatabaseKind kind() const noexcept { return kind_; }
  // One statement behind everybody's back.
  std::string query(const std::string& database, const std::string& sql) const;
  std::int64_t number(const std::string& database, const std::string& sql) const;
  // A folder that the server may write to.
  void makeServersFolder(const std::string& path) const;
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
