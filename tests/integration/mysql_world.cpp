// See mysql_world.h.
#include "integration/mysql_world.h"

// NOLINTNEXTLINE(readability-identifier-naming): the one symbol of the plugin boundary
extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

std::unique_ptr<StoreWorld> makeMysqlWorld() {
  static DatabaseServer server(DatabaseKind::Mariadb);
  return std::make_unique<ServerWorld>(server, *sluice_plugin());
}

}  // namespace sluice::test
