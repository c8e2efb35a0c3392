// See mysql_world.h.
#include "integration/mysql_world.h"

// NOLINTNEXTLINE(readability-identifier-naming): the one symbol of the plugin boundary
extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

PrivateMariadb& mariadb() {
  static PrivateMariadb server;
  return server;
}

std::unique_ptr<ServerWorld> mysqlWorld() {
  PrivateMariadb& server = mariadb();
  return std::make_unique<ServerWorld>(server, *sluice_plugin(),
                                       PluginOptions{{"unix_socket", server.socketPath()}, {"user", "root"}});
}

std::unique_ptr<StoreWorld> makeMysqlWorld() { return mysqlWorld(); }

}  // namespace sluice::test
