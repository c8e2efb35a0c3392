// DemoServer: `sluice serve` as a process of its own, with an embedded Redis in a folder of its own, for
// the time of a demo.
//
// Lifetime: the destructor stops the server; a folder that was made for it goes with it.
// Blocking: start() until the server says that it is ready, at most 60 s.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/child_process.h"

#include "cli/command.h"
#include "cli/storm.h"

namespace sluice::cli {

// This executable, for starting it once more.
[[nodiscard]] std::string ownProgram();

struct DemoServerOptions {
  std::string queue;
  std::string store;
  std::string folder;  // empty: a new one below the temporary folder, removed at the end
  std::vector<std::pair<std::string, std::string>> settings;  // further ones of the demo: key, value
  std::vector<std::string> sets;                              // the user's, over those of the demo
};

class DemoServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<DemoServer>> start(const DemoServerOptions& options);
  ~DemoServer();
  DemoServer(const DemoServer&) = delete;
  DemoServer& operator=(const DemoServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::string tokenFile() const { return folder_ + "/admin.token"; }
  // The global options with which other commands see this server's data.
  [[nodiscard]] const GlobalOptions& globals() const noexcept { return globals_; }
  [[nodiscard]] bool running() noexcept { return !process_->poll(); }

  // Creates a voucher that is on sale now, and loads it; over HTTP, as an operator would.
  [[nodiscard]] Result<VoucherId> createVoucher(const std::string& title, std::int64_t stock);

 private:
  DemoServer() = default;
  Status makeFolder(const std::string& given);
  Status writeSettings(const DemoServerOptions& options);
  Status launch();
  Status waitUntilReady();
  Result<StormAnswer> askAdmin(const std::string& path, const std::string& body);
  std::string logTail() const;

  std::string folder_;
  bool ownFolder_ = false;
  GlobalOptions globals_;
  std::unique_ptr<ChildProcess> process_;
  std::uint16_t port_ = 0;
};

}  // namespace sluice::cli
