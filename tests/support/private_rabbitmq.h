// A RabbitMQ broker of a test's own: node name, ports and port mapper on loopback, folder; ended with the test
// even when that dies. Starting takes some eight seconds, so that a program of tests shares one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/child_process.h"

#include "support/frozen_processes.h"
#include "support/temp_folder.h"

namespace sluice::test {

// Of a second listener, which wants a certificate that the authority has issued. Paths of PEM files.
struct RabbitmqTls {
  std::string authority;
  std::string certificate;
  std::string key;
};

class PrivateRabbitmq {
 public:
  // Started and answering. Throws std::runtime_error where it does not come up.
  explicit PrivateRabbitmq(const std::optional<RabbitmqTls>& tls = std::nullopt);
  ~PrivateRabbitmq();
  PrivateRabbitmq(const PrivateRabbitmq&) = delete;
  PrivateRabbitmq& operator=(const PrivateRabbitmq&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint16_t tlsPort() const noexcept { return tlsPort_; }

  // An Erlang expression inside the broker, behind everybody's back; its value as text on one line.
  std::string evaluate(const std::string& expression);

  // Queues of vhost "/"; one that is not there is no fault.
  void deleteQueue(const std::string& name);
  void purgeQueue(const std::string& name);
  void declareClassicQueue(const std::string& name);  // as somebody else would, with other arguments
  // As if the broker had no memory left: publishers are blocked a moment later.
  void setMemoryFull(bool full);

  void kill();    // SIGKILL, reaped
  void start();   // again, with what it had on disk; returns when it answers
  void freeze();  // all its processes stopped, until resume() or the end of the test
  void resume();
  [[nodiscard]] bool isUp() const noexcept { return server_ != nullptr; }

 private:
  [[nodiscard]] ChildOptions optionsFor(const std::vector<std::string>& arguments) const;
  void startMapper();
  void startShell();
  [[nodiscard]] std::string readLine(Deadline deadline);

  TempFolder folder_;
  std::string node_;
  std::uint16_t port_;
  std::uint16_t tlsPort_ = 0;
  std::uint16_t distributionPort_;
  std::uint16_t mapperPort_;
  std::unique_ptr<ChildProcess> mapper_;  // epmd, by which Erlang nodes find each other
  std::unique_ptr<ChildProcess> server_;
  std::unique_ptr<ChildProcess> shell_;
  int toShell_ = -1;
  std::string unread_;
  std::unique_ptr<FrozenProcesses> frozen_;
};

}  // namespace sluice::test
