// What a queue and a store show together (cases E1 to E8), whichever they are.
//
// A pair is described by a TogetherPair in a test file of its own, which instantiates Together with it; the
// tests come with the object library sluice_together_contract. Each test has a Redis, a data folder and a
// world of its own, and runs the program itself in processes that it kills.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/audit.h"
#include "sluice/order.h"

#include "fault/sale.h"
#include "support/effort.h"
#include "support/faulty_engine.h"
#include "support/private_redis.h"
#include "support/server_process.h"
#include "support/temp_folder.h"

namespace sluice::test {

// The store of one test, and its server where it has one.
class TogetherWorld {
 public:
  virtual ~TogetherWorld();
  // Which store, and where: what a server needs to use this one.
  [[nodiscard]] virtual Settings settings() const = 0;
  // From outside, while servers use it: nothing can be written until it is brought back.
  virtual void takeStoreAway() = 0;
  virtual void bringStoreBack() = 0;
};

struct TogetherPair {
  std::string name;           // stream_sqlite
  Settings queue;             // which queue, and what it needs beside the program's Redis
  bool survivesKill = false;  // what was admitted outlives the process that admitted it
  Settings otherQueue;        // E8: with which the same sale must end the same
  // `dataDir` is the data.dir of its servers.
  std::function<std::unique_ptr<TogetherWorld>(const std::string& dataDir)> makeWorld;
  friend std::ostream& operator<<(std::ostream& out, const TogetherPair& pair) { return out << pair.name; }
};

// Redis, data folder and store of one sale, with the settings of its servers.
struct TogetherPlace {
  TogetherPlace(const TogetherPair& pair, const Settings& queue);
  [[nodiscard]] Settings with(const Settings& more) const;

  PrivateRedis redis;
  TempFolder data;
  std::unique_ptr<TogetherWorld> world;
  Settings settings;
};

// What is in the store and what the audit says, read through parts of our own beside the servers.
struct Look {
  std::map<std::string, Order> rows;  // by order id
  AuditReport audit;
  [[nodiscard]] bool isLost(const std::string& order) const;
  [[nodiscard]] const VoucherAudit& voucher() const { return audit.vouchers.at(0); }
  [[nodiscard]] std::string text() const;  // of the violations
};
[[nodiscard]] Look lookAt(const Settings& settings);

class Together : public testing::TestWithParam<TogetherPair> {
 protected:
  static constexpr std::int64_t kVoucher = 1;

  Together() : place_(GetParam(), GetParam().queue) {}
  [[nodiscard]] bool survivesKill() const { return GetParam().survivesKill; }
  [[nodiscard]] static milliseconds bound() { return scaled(milliseconds(30000)); }

  // A process of ours admits `users` orders and stops for ever at its first `call`; then it is killed.
  // Answers what was admitted.
  std::vector<Attempt> killAt(const std::string& call, int users);
  // Each has one row, or (where the pair does not survive a kill) the audit names it as lost; and nothing else
  // is wrong.
  Look expectAllAccountedFor(const std::vector<Attempt>& winners);
  // Somebody orders, and has a row.
  void expectOrdersFlowAgain(const ServerProcess& server, std::int64_t user);

  TogetherPlace place_;
};

}  // namespace sluice::test
