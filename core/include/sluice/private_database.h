// PrivateDatabase: a PostgreSQL or MariaDB server of one's own, for demonstrations, benchmarks and tests.
//
// Role:     `sluice demo --store pg`; never for data that is to stay.
// Threads:  one owner, and the server ends with the thread that started it (see ChildProcess).
// Lifetime: its data lies in a new folder below the temporary one, which goes with the object. It listens on
//           a loopback port and on a socket in the folder; whoever may connect to the port may use it.
// Blocking: start and startAgain until the server answers, or the Deadline passes.
// Errors:   NotFound where the server is not installed, Unavailable where it does not come up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/child_process.h"
#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice {

// A port of 127.0.0.1 on which nobody listens, for a server that cannot choose one itself and tell.
[[nodiscard]] Result<std::uint16_t> freePort();

enum class DatabaseKind : std::uint8_t { Postgres, Mariadb };

struct PrivateDatabaseOptions {
  DatabaseKind kind = DatabaseKind::Postgres;
  // Commits are synced to the disk. Without, they survive the death of the server and not that of the
  // machine, and everything is faster.
  bool synced = true;
  std::string parent;                  // where its folder is made; "" the temporary one
  std::vector<std::string> arguments;  // further ones of the server
};

class PrivateDatabase {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PrivateDatabase>> start(const PrivateDatabaseOptions& options,
                                                                      Deadline deadline);
  ~PrivateDatabase();
  PrivateDatabase(const PrivateDatabase&) = delete;
  PrivateDatabase& operator=(const PrivateDatabase&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::string socketPath() const;
  [[nodiscard]] pid_t pid() const noexcept { return server_ ? server_->pid() : 0; }
  // What a store plugin needs to use its database `dbname` over the socket: keys below "store.<name>.".
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> storeOptions(
      const std::string& dbname) const;

  // Statements with the database's own command-line client; rows as lines, columns by tabs.
  [[nodiscard]] Result<std::string> query(const std::string& database, const std::string& sql) const;
  [[nodiscard]] Status createDatabase(const std::string& name) const;
  [[nodiscard]] Status dropDatabase(const std::string& name) const;
  // The command line of that client for a file of statements.
  [[nodiscard]] std::vector<std::string> clientCommand(const std::string& database,
                                                       const std::string& file) const;

  void kill() noexcept;  // SIGKILL to all its processes, reaped
  [[nodiscard]] Status startAgain(Deadline deadline);
  void freeze() noexcept;  // SIGSTOP to all its processes
  void resume() noexcept;

 private:
  explicit PrivateDatabase(PrivateDatabaseOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Status makeFolder();
  [[nodiscard]] Status makeData() const;
  [[nodiscard]] std::vector<std::string> serverCommand() const;
  [[nodiscard]] Status startOnce(Deadline deadline);
  [[nodiscard]] std::vector<std::string> client(const std::string& database) const;
  void signalAll(int number) noexcept;

  const PrivateDatabaseOptions options_;
  std::string folder_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ChildProcess> server_;
};

}  // namespace sluice
