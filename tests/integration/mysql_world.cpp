// See mysql_world.h.
#include "integration/mysql_world.h"

#include "integration/later_dialect.h"
#include "mysql_dialect.h"

namespace sluice::test {
namespace {

mysql::MysqlOptions optionsOf(const PrivateDatabase& database, const std::string& dbname,
                              std::uint16_t port) {
  mysql::MysqlOptions options;
  options.connect =
      "charset=utf8mb4 user=sluice password=" + kStorePassword + " dbname=" + dbname +
      (port == 0 ? " unix_socket=" + database.socketPath() : " host=127.0.0.1 port=" + std::to_string(port));
  options.connectTimeout = milliseconds(1000);
  options.dbname = dbname;
  return options;
}

}  // namespace

ServerKind serverKind() {
  return {.database = DatabaseKind::Mariadb,
          .make =
              [](const PrivateDatabase& database, const std::string& dbname, std::uint16_t port) {
                return std::make_unique<mysql::MysqlDialect>(optionsOf(database, dbname, port));
              },
          .makeLater =
              [](const PrivateDatabase& database, const std::string& dbname, bool broken) {
                return std::make_unique<LaterDialect<mysql::MysqlDialect>>(optionsOf(database, dbname, 0),
                                                                           broken);
              }};
}

std::unique_ptr<StoreWorld> makeMysqlWorld() {
  static WorldServer server(serverKind());
  return std::make_unique<ServerWorld>(server);
}

}  // namespace sluice::test
