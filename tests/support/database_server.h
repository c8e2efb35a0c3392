// A database server of a test's own: started privately, killed, frozen and started again, ended with the test
// even when that dies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/child_process.h"

#include "support/temp_folder.h"

namespace sluice::test {

class DatabaseServer {
 public:
  virtual ~DatabaseServer();
  DatabaseServer(const DatabaseServer&) = delete;
  DatabaseServer& operator=(const DatabaseServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_.path(); }
  [[nodiscard]] pid_t pid() const noexcept { return server_ ? server_->pid() : 0; }

  // One statement with the database's own client, behind everybody's back; rows as lines, columns by tabs.
  // A failure fails the test.
  std::string query(const std::string& database, const std::string& sql);
  void createDatabase(const std::string& name);
  void dropDatabase(const std::string& name);

  void kill();    // SIGKILL to all of its processes, reaped
  void start();   // again, with the same folder and port; returns when it answers
  void freeze();  // SIGSTOP to all of its processes
  void resume();
  void restart() {
    kill();
    start();
  }

 protected:
  DatabaseServer();
  // To be called by the constructor of the last class.
  void begin();
  // Runs a program to its end; throws std::runtime_error with its output where it fails.
  static std::string run(const std::vector<std::string>& arguments);

  [[nodiscard]] virtual std::vector<std::string> serverCommand() const = 0;
  [[nodiscard]] virtual std::vector<std::string> clientCommand(const std::string& database,
                                                               const std::string& sql) const = 0;
  [[nodiscard]] virtual std::string createStatement(const std::string& name) const = 0;
  [[nodiscard]] virtual std::string dropStatement(const std::string& name) const = 0;
  [[nodiscard]] virtual const char* anyDatabase() const = 0;

  TempFolder folder_;
  std::uint16_t port_;

 private:
  void signalAll(int number);
  [[nodiscard]] bool answers() const;
  std::unique_ptr<ChildProcess> server_;
};

// PostgreSQL 15, superuser `sluice`, on loopback and on a socket in its folder.
class PrivatePostgres final : public DatabaseServer {
 public:
  PrivatePostgres();

 protected:
  std::vector<std::string> serverCommand() const override;
  std::vector<std::string> clientCommand(const std::string& database, const std::string& sql) const override;
  std::string createStatement(const std::string& name) const override;
  std::string dropStatement(const std::string& name) const override;
  const char* anyDatabase() const override { return "postgres"; }
};

// MariaDB 10.11, user `root` without a password, on loopback and on a socket in its folder.
class PrivateMariadb final : public DatabaseServer {
 public:
  PrivateMariadb();
  [[nodiscard]] std::string socketPath() const { return folder_.file("s.sock"); }

 protected:
  std::vector<std::string> serverCommand() const override;
  std::vector<std::string> clientCommand(const std::string& database, const std::string& sql) const override;
  std::string createStatement(const std::string& name) const override;
  std::string dropStatement(const std::string& name) const override;
  const char* anyDatabase() const override { return "mysql"; }
};

}  // namespace sluice::test
