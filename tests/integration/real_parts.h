// The three parts as they run in the program: Lua qualifier on a private Redis, the queue in its journal,
// SQLite in a file. With words for tests of what people do with orders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/lua_qualifier.h"
#include "sluice/operations.h"
#include "sluice/plugin_loader.h"

#include "support/private_redis.h"
#include "support/temp_folder.h"

namespace sluice::test {

class RealParts {
 public:
  explicit RealParts(std::size_t consumers = 1);
  ~RealParts();

  [[nodiscard]] Parts parts() {
    return {*qualifier_, *queue_, *store_, systemClock(), systemRandom(), noLog()};
  }
  [[nodiscard]] PrivateRedis& redis() { return redis_; }
  // One statement on the store's file, behind its back, past every check.
  void sql(const std::string& statement) const;

  // A voucher on sale, created and loaded.
  VoucherId sell(std::int64_t stock, std::int32_t limitPerUser = 1);
  OrderId newId();
  Decision ask(VoucherId voucher, OrderId order, UserId user, std::int32_t quantity = 1);
  OrderId admit(VoucherId voucher, UserId user, std::int32_t quantity = 1);
  // What a worker does with one batch, releases included. Answers its size.
  std::size_t work(std::size_t slot = 0);
  void workAll() {
    while (work() > 0) {
    }
  }
  OrderId buy(VoucherId voucher, UserId user, std::int32_t quantity = 1);
  // Puts the next message aside.
  void deadLetterOne();
  // Redis was restarted: repairs what it lost and trusts it, as the engine does.
  RecoveryReport recover();
  [[nodiscard]] VoucherSnapshot snapshot(VoucherId voucher);

  [[nodiscard]] std::string voucherKey(VoucherId id) const { return "sluice:{0}:voucher:" + id.text(); }
  [[nodiscard]] std::string holdsKey(VoucherId id) const { return "sluice:{0}:holds:" + id.text(); }
  [[nodiscard]] std::string answersKey(VoucherId id) const { return "sluice:{0}:keys:" + id.text(); }
  [[nodiscard]] std::string journalKey() const { return "sluice:{0}:orders"; }

 private:
  void makeQueue(std::size_t consumers);
  void makeStore();
  void trust();

  PrivateRedis redis_;
  TempFolder folder_;
  PluginLoader loader_;
  std::unique_ptr<Qualifier> qualifier_;
  std::unique_ptr<OrderStore> store_;
  std::unique_ptr<OrderQueue> queue_;
  std::atomic<std::int32_t> sequence_{0};
};

[[nodiscard]] inline Deadline inTime() noexcept { return Deadline::in(milliseconds(30000)); }

}  // namespace sluice::test
