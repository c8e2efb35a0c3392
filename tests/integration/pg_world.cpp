// See pg_world.h.
#include "integration/pg_world.h"

// NOLINTNEXTLINE(readability-identifier-naming): the one symbol of the plugin boundary
extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

PrivatePostgres& postgres() {
  static PrivatePostgres server;
  return server;
}

std::unique_ptr<ServerWorld> pgWorld() {
  PrivatePostgres& server = postgres();
  return std::make_unique<ServerWorld>(
      server, *sluice_plugin(),
      PluginOptions{{"host", server.folder()}, {"port", std::to_string(server.port())}, {"user", "sluice"}});
}

std::unique_ptr<StoreWorld> makePgWorld() { return pgWorld(); }

}  // namespace sluice::test
