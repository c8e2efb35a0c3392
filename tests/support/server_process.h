// `sluice serve` as a process of its own, for tests that kill it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/child_process.h"

#include "support/frozen_processes.h"
#include "support/http_client.h"
#include "support/temp_folder.h"

namespace sluice::test {

// Each server has a data folder that stays over restarts, a free port, and the admin token below.
class ServerProcess {
 public:
  using Sets = std::vector<std::pair<std::string, std::string>>;

  // `sets` are configuration keys; without any redis.* key an embedded Redis is used, without data.dir
  // folder()/data. Not started yet.
  ServerProcess() : ServerProcess(Sets()) {}
  explicit ServerProcess(Sets sets);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Runs it and waits until it says it is up. Throws std::runtime_error with its output where it does not
  // come up.
  void start(const Sets& more = {});
  void kill();      // SIGKILL, reaped
  int terminate();  // SIGTERM; answers the exit code
  void freeze();    // stopped, until resume() or the end of the test
  void resume();
  // The server and what it has started, which is its embedded Redis: all at one blow. Servers that share a
  // data.dir are one family.
  [[nodiscard]] std::vector<pid_t> family() const;
  void killFamily();
  void freezeFamily();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] pid_t pid() const noexcept { return process_ ? process_->pid() : 0; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_.path(); }
  [[nodiscard]] const std::string& dataDir() const noexcept { return dataDir_; }
  [[nodiscard]] std::string log() const;

  [[nodiscard]] HttpReply get(const std::string& path, const HttpHeaders& headers = {}) const;
  [[nodiscard]] HttpReply admin(const std::string& method, const std::string& path,
                                const std::string& body = {}) const;
  [[nodiscard]] HttpReply order(std::int64_t voucher, std::int64_t user,
                                const std::string& body = R"({"quantity":1})") const;
  // A voucher that is on sale now, created and loaded.
  void createVoucher(std::int64_t id, std::int64_t stock, int limitPerUser = 1) const;
  // True once `done` is, asked every 20 ms for at most `wait`.
  template <typename Done>
  static bool eventually(milliseconds wait, Done done) {
    const Deadline deadline = Deadline::in(wait);
    while (!done()) {
      if (deadline.passed()) return false;
      nap();
    }
    return true;
  }

  struct CommandResult {
    int exitCode = -1;
    std::string output;  // stdout and stderr
  };
  // `sluice ARGUMENTS` with this server's configuration.
  [[nodiscard]] CommandResult command(const std::vector<std::string>& arguments) const;

 private:
  static void nap();
  std::vector<std::string> commandLine(const std::vector<std::string>& command) const;
  TempFolder folder_;
  Sets sets_;
  std::string dataDir_;
  std::unique_ptr<ChildProcess> process_;
  std::unique_ptr<FrozenProcesses> frozen_;
  std::uint16_t port_ = 0;
};

}  // namespace sluice::test
