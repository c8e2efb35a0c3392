// A database of its own on a private server, as StoreWorld for the contract suite; with every power.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "contract/store_contract.h"
#include "dialect.h"
#include "support/database_server.h"
#include "support/small_disk.h"

namespace sluice::test {

// What the stores of servers differ in for the fixture.
struct ServerKind {
  DatabaseKind database = DatabaseKind::Postgres;
  // A dialect on the database `dbname`; over the server's socket, or over `port` of 127.0.0.1 where it is not 0.
  std::function<std::unique_ptr<sql::Dialect>(const PrivateDatabase&, const std::string& dbname,
                                              std::uint16_t port)>
      make;
  std::function<std::unique_ptr<sql::Dialect>(const PrivateDatabase&, const std::string& dbname, bool broken)>
      makeLater;
};

// That of the store that this program is linked with.
[[nodiscard]] ServerKind serverKind();

// The password that every store of these worlds is given.
inline const std::string kStorePassword = "hunter2-of-the-store";

// One server for a whole test program, with the databases' files on a small disk.
class WorldServer {
 public:
  explicit WorldServer(ServerKind kind);
  [[nodiscard]] const ServerKind& kind() const noexcept { return kind_; }
  [[nodiscard]] DatabaseServer& server() noexcept { return server_; }
  [[nodiscard]] const SmallDisk& disk() const noexcept { return disk_; }
  [[nodiscard]] bool isPostgres() const noexcept { return kind_.database == DatabaseKind::Postgres; }
  // One statement as the server's administrator.
  std::string administer(const std::string& sql) const;
  [[nodiscard]] std::string newDatabase();

 private:
  const ServerKind kind_;
  SmallDisk disk_;
  DatabaseServer server_;
  int made_ = 0;
};

class ServerWorld final : public StoreWorld, public StorePowers, public StoreServer {
 public:
  explicit ServerWorld(WorldServer& on) : on_(on), database_(on.newDatabase()) {}
  ~ServerWorld() override;
  std::unique_ptr<OrderStore> make() override;
  [[nodiscard]] const std::string& database() const noexcept { return database_; }
  void run(const std::string& sql) { static_cast<void>(query(sql)); }
  StorePowers* powers() override { return on_.disk().isSmall() ? this : nullptr; }

  std::unique_ptr<OrderStore> makeLater(bool broken) override;
  std::int64_t number(const std::string& select) override;
  std::shared_ptr<void> keepWritersOut() override;
  void setReadOnly(bool on) override;
  void setFull(bool on) override;
  void stallStock(bool on) override;
  void refuse(UserId user) override;
  void setReachable(bool on) override;
  std::vector<std::string> secrets() const override { return {kStorePassword}; }
  StoreServer* server() override { return this; }

  void killSessions() override;
  void stop() override { on_.server().kill(); }
  void start() override { on_.server().start(); }
  void freeze() override { on_.server().freeze(); }
  void resume() override { on_.server().resume(); }
  std::uint16_t port() const override { return on_.server().database().port(); }
  std::unique_ptr<OrderStore> makeThrough(std::uint16_t port) override;

 private:
  std::unique_ptr<OrderStore> makeWith(std::unique_ptr<sql::Dialect> dialect);
  std::string query(const std::string& sql) const { return on_.server().query(database_, sql); }

  WorldServer& on_;
  const std::string database_;
};

}  // namespace sluice::test
