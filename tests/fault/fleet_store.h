// The store of a fleet: a real database of its own, and a hand behind everybody's back.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fault/fleet_server.h"
#include "support/server_process.h"

namespace sluice::test {

class FleetStore {
 public:
  virtual ~FleetStore();
  // What a process needs to use it, through the line where there is one.
  [[nodiscard]] virtual ServerProcess::Sets sets() const = 0;
  [[nodiscard]] virtual std::map<std::string, int> rowsById() const = 0;  // order id -> number of rows
  // One statement as the database's administrator.
  virtual void run(const std::string& sql) = 0;
  // Orders of users up to this one are refused by the database itself.
  virtual void refuseUpTo(std::int64_t user) = 0;
  virtual void refuseNobody() = 0;
  // Every write is refused; nobody may enter any more. False where this store has no such thing.
  virtual bool setReadOnly(bool) { return false; }
  virtual bool lockOut(bool) { return false; }

  // None where the store is a file.
  [[nodiscard]] virtual FleetServer* server() { return nullptr; }
};

// "sqlite", "pg", "mysql".
[[nodiscard]] const std::vector<std::string>& fleetStoreNames();
// Its servers are shared by all tests of a program, each test has a database of its own. `dataDir` is the
// data.dir of the fleet.
[[nodiscard]] std::unique_ptr<FleetStore> makeFleetStore(const std::string& name, const std::string& dataDir);

}  // namespace sluice::test
