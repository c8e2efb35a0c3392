// See server_world.h.
#include "integration/server_world.h"

#include <thread>

#include <unistd.h>

#include "sql_store.h"
#include "statement.h"

namespace sluice::test {
namespace {

constexpr int kDiskMebibytes = 700;  // MariaDB's own files take some 200

}  // namespace

WorldServer::WorldServer(ServerKind kind)
    : kind_(std::move(kind)),
      disk_(kDiskMebibytes),
      server_(kind_.database, isPostgres() ? std::string() : disk_.path()) {
  if (isPostgres()) {
    // Tables on the small disk, the log on the usual one: a full log would end the server.
    const std::string place = disk_.path() + "/tables";
    server_.makeServersFolder(place);
    administer("CREATE TABLESPACE small LOCATION '" + place + "'");
    administer("ALTER USER sluice PASSWORD '" + kStorePassword + "'");
  } else {
    administer("CREATE USER sluice@'%' IDENTIFIED BY '" + kStorePassword + "'");
  }
}

std::string WorldServer::administer(const std::string& sql) const {
  return server_.query(isPostgres() ? "postgres" : "mysql", sql);
}

std::string WorldServer::newDatabase() {
  std::string name = "world" + std::to_string(++made_);
  if (isPostgres()) {
    administer("CREATE DATABASE " + name + " TABLESPACE small");
  } else {
    administer("CREATE DATABASE " + name + "; GRANT ALL ON " + name + ".* TO sluice@'%'");
  }
  return name;
}

ServerWorld::~ServerWorld() { on_.server().dropDatabase(database_); }

std::unique_ptr<OrderStore> ServerWorld::makeWith(std::unique_ptr<sql::Dialect> dialect) {
  return std::make_unique<sql::SqlStore>(std::move(dialect), log, systemClock(), systemRandom());
}

std::unique_ptr<OrderStore> ServerWorld::make() {
  return makeWith(on_.kind().make(on_.server().database(), database_, 0));
}

std::unique_ptr<OrderStore> ServerWorld::makeThrough(std::uint16_t port) {
  return makeWith(on_.kind().make(on_.server().database(), database_, port));
}

std::unique_ptr<OrderStore> ServerWorld::makeLater(bool broken) {
  return makeWith(on_.kind().makeLater(on_.server().database(), database_, broken));
}

std::int64_t ServerWorld::number(const std::string& select) { return on_.server().number(database_, select); }

std::shared_ptr<void> ServerWorld::keepWritersOut() {
  const auto dialect = on_.kind().make(on_.server().database(), database_, 0);
  auto opened = dialect->open(sql::Use::Write, Deadline::in(milliseconds(20000)));
  if (!opened) return nullptr;
  const std::shared_ptr<sql::Session> session = std::move(opened).take();
  session->deadline = Deadline::in(milliseconds(20000));
  try {
    dialect->begin(*session, sql::Use::Write);
    execute(*session, sql::Text(on_.isPostgres() ? "LOCK TABLE vouchers, orders IN EXCLUSIVE MODE"
                                                 : "UPDATE vouchers SET version = version"));
    return session;
  } catch (const soci::soci_error& error) {
    ADD_FAILURE() << error.get_error_message();
    return nullptr;
  }
}

void ServerWorld::setReadOnly(bool on) {
  const std::string word = on ? "ON" : "OFF";
  if (!on_.isPostgres()) {
    on_.administer("SET GLOBAL read_only = " + word);
    return;
  }
  on_.administer("ALTER SYSTEM SET default_transaction_read_only = " + word);
  on_.administer("SELECT pg_reload_conf()");
  // The sessions hear of it before their next statement; the server needs a moment to tell them.
  const Deadline end = Deadline::in(milliseconds(20000));
  while (on_.administer("SHOW default_transaction_read_only").find(on ? "on" : "off") == std::string::npos &&
         !end.passed()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  std::this_thread::sleep_for(milliseconds(200));
}

void ServerWorld::setFull(bool on) {
  if (on) {
    on_.disk().fill();
  } else {
    on_.disk().clear();
  }
}

void ServerWorld::stallStock(bool on) {
  if (!on_.isPostgres()) {
    query(on ? "CREATE TRIGGER stall BEFORE UPDATE ON vouchers FOR EACH ROW SET @stalled = SLEEP(1000)"
             : "DROP TRIGGER stall");
    return;
  }
  query(on ? "CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1000); "
             "RETURN NEW; END $$; CREATE TRIGGER stall BEFORE UPDATE OF remaining ON vouchers FOR EACH ROW "
             "EXECUTE FUNCTION stall()"
           : "DROP TRIGGER stall ON vouchers; DROP FUNCTION stall()");
}

void ServerWorld::refuse(UserId user) {
  if (on_.isPostgres()) {
    query(user.valid()
              ? "ALTER TABLE orders ADD CONSTRAINT refuse CHECK (user_id <> " + user.text() + ") NOT VALID"
              : "ALTER TABLE orders DROP CONSTRAINT refuse");
    return;
  }
  // A quantity of 0 is what the schema refuses.
  query(user.valid() ? "CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW SET NEW.quantity = "
                       "IF(NEW.user_id = " +
                           user.text() + ", 0, NEW.quantity)"
                     : "DROP TRIGGER refuse");
}

void ServerWorld::setReachable(bool on) {
  if (on) {
    start();
  } else {
    stop();
  }
}

void ServerWorld::killSessions() {
  if (on_.isPostgres()) {
    on_.administer("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '" +
                   database_ + "'");
    return;
  }
  std::istringstream ids(
      on_.administer("SELECT id FROM information_schema.processlist WHERE user = 'sluice'"));
  for (std::string id; ids >> id;) {
    on_.administer("KILL " + id);
  }
}

}  // namespace sluice::test
