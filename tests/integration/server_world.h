// A database of its own on a private server, and a store plugin on it, as StoreWorld for the contract suite.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sluice/plugin.h"

#include "contract/store_contract.h"
#include "support/database_server.h"

namespace sluice::test {

using PluginOptions = std::map<std::string, std::string>;

class ServerWorld final : public StoreWorld {
 public:
  // `server` outlives it.
  ServerWorld(DatabaseServer& server, const PluginDescriptor& plugin);
  ~ServerWorld() override;
  [[nodiscard]] std::unique_ptr<OrderStore> make() override { return makeWith({}); }
  // With other options than the world's, e.g. another port.
  [[nodiscard]] std::unique_ptr<OrderStore> makeWith(const PluginOptions& more);
  [[nodiscard]] DatabaseServer& server() const { return server_; }
  [[nodiscard]] const std::string& database() const { return database_; }

 private:
  DatabaseServer& server_;
  const PluginDescriptor& plugin_;
  std::string database_;
  PluginOptions options_;
};

}  // namespace sluice::test
