// A redis-server of a test's own: on a unix socket, in a temporary folder, ended with the test even when that
// dies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/child_process.h"
#include "sluice/redis.h"

#include "support/frozen_processes.h"
#include "support/temp_folder.h"

namespace sluice::test {

// Beside its socket a server may listen on a free port of 127.0.0.1.
enum class RedisListens : std::uint8_t { OnItsSocket, OnAPortToo };

class PrivateRedis {
 public:
  // Started and answering. `extra` are further arguments, e.g. {"--maxmemory", "20mb"}. Append-only, synced
  // before each answer: with everysec, killed while its disk is slow, it would lose what it answered last.
  explicit PrivateRedis(std::vector<std::string> extra = {},
                        RedisListens listens = RedisListens::OnItsSocket);
  ~PrivateRedis();

  [[nodiscard]] RedisTarget target() const;
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }  // 0 where it has none
  [[nodiscard]] const std::string& folder() const noexcept { return folder_.path(); }
  [[nodiscard]] pid_t pid() const noexcept { return server_ ? server_->pid() : 0; }

  // One command on a connection of its own, behind everybody's back. A failure fails the test and answers a
  // nil reply.
  RedisReply command(const std::vector<std::string>& args);
  [[nodiscard]] std::string text(const std::vector<std::string>& args);
  [[nodiscard]] std::int64_t number(const std::vector<std::string>& args);

  void kill();    // SIGKILL, reaped
  void start();   // again, with the same folder, socket, port and arguments; returns when it answers
  void freeze();  // stopped, until resume() or the end of the test
  void resume();
  void restart() {
    kill();
    start();
  }

 private:
  TempFolder folder_;
  std::vector<std::string> extra_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ChildProcess> server_;
  std::unique_ptr<FrozenProcesses> frozen_;
};

}  // namespace sluice::test
