// See pg_world.h.
#include "integration/pg_world.h"

#include "integration/later_dialect.h"
#include "pg_dialect.h"

namespace sluice::test {
namespace {

pg::PgOptions optionsOf(const PrivateDatabase& database, const std::string& dbname, std::uint16_t port) {
  pg::PgOptions options;
  options.connect = "host=" + (port == 0 ? database.folder() : "127.0.0.1") +
                    " port=" + std::to_string(port == 0 ? database.port() : port) +
                    " user=sluice connect_timeout=2 password=" + kStorePassword + " dbname=" + dbname;
  return options;
}

}  // namespace

ServerKind serverKind() {
  return {.database = DatabaseKind::Postgres,
          .make =
              [](const PrivateDatabase& database, const std::string& dbname, std::uint16_t port) {
                return std::make_unique<pg::PgDialect>(optionsOf(database, dbname, port));
              },
          .makeLater =
              [](const PrivateDatabase& database, const std::string& dbname, bool broken) {
                return std::make_unique<LaterDialect<pg::PgDialect>>(optionsOf(database, dbname, 0), broken);
              }};
}

std::unique_ptr<StoreWorld> makePgWorld() {
  static WorldServer server(serverKind());
  return std::make_unique<ServerWorld>(server);
}

}  // namespace sluice::test
