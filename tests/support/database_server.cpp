// See database_server.h.
#include "support/database_server.h"

#include <csignal>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::test {
namespace {

constexpr milliseconds kUpWithin{60000};

// MariaDB with a time zone and a character set that the store must not depend on.
PrivateDatabaseOptions optionsOf(DatabaseKind kind) {
  PrivateDatabaseOptions options;
  options.kind = kind;
  options.synced = false;
  if (kind == DatabaseKind::Mariadb) {
    options.arguments = {"--character-set-server=latin1", "--default-time-zone=-07:00"};
  } else {
    options.arguments = {"-c", "timezone=America/New_York"};
  }
  return options;
}

}  // namespace

DatabaseServer::DatabaseServer(DatabaseKind kind, const std::string& parent) : kind_(kind) {
  ::signal(SIGPIPE, SIG_IGN);
  PrivateDatabaseOptions options = optionsOf(kind);
  options.parent = parent;
  auto started = PrivateDatabase::start(options, Deadline::in(kUpWithin));
  if (!started) throw std::runtime_error(started.error().text);
  server_ = std::move(started).take();
}

std::string DatabaseServer::query(const std::string& database, const std::string& sql) const {
  auto answer = server_->query(database, sql);
  EXPECT_TRUE(answer.ok()) << sql << ": " << (answer ? "" : answer.error().text);
  return answer ? std::move(answer).take() : std::string();
}

std::int64_t DatabaseServer::number(const std::string& database, const std::string& sql) const {
  const std::string text = query(database, sql);
  return text.empty() ? -1 : std::stoll(text);
}

void DatabaseServer::makeServersFolder(const std::string& path) const {
  struct stat owner {};
  EXPECT_EQ(::stat(server_->folder().c_str(), &owner), 0);
  EXPECT_EQ(::mkdir(path.c_str(), S_IRWXU), 0);
  EXPECT_EQ(::chown(path.c_str(), owner.st_uid, owner.st_gid), 0);
}

void DatabaseServer::createDatabase(const std::string& name) const {
  const Status done = server_->createDatabase(name);
  EXPECT_TRUE(done.ok()) << (done ? "" : done.error().text);
}

void DatabaseServer::dropDatabase(const std::string& name) const {
  const Status done = server_->dropDatabase(name);
  EXPECT_TRUE(done.ok()) << (done ? "" : done.error().text);
}

void DatabaseServer::start() {
  const Status started = server_->startAgain(Deadline::in(kUpWithin));
  if (!started) throw std::runtime_error(started.error().text);
}

}  // namespace sluice::test
