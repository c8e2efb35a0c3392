// The contract suite of OrderStore: one fixture, the same tests for every store.
//
// A store's own test file makes a StoreKind and instantiates StoreContract with it; the tests come with the
// object libraries sluice_store_contract and sluice_store_contract_concurrent. They say only what
// sluice/order_store.h promises.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/order_store.h"

#include "contract/matrix.h"
#include "support/effort.h"
#include "support/recording_log.h"

namespace sluice::test {

// The server behind a store that has one.
class StoreServer {
 public:
  virtual ~StoreServer();
  virtual void killSessions() = 0;  // every connection to it is cut, at whatever point it is
  virtual void stop() = 0;          // as by SIGKILL
  virtual void start() = 0;         // again, with the same data; answers once it takes connections
  virtual void freeze() = 0;        // as by SIGSTOP
  virtual void resume() = 0;
  // Its port on 127.0.0.1, and a store that goes through another one, where a proxy listens.
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[nodiscard]] virtual std::unique_ptr<OrderStore> makeThrough(std::uint16_t port) = 0;
};

// What a fixture does to the database behind the stores' backs. What a test switched on, it switches off.
class StorePowers {
 public:
  virtual ~StorePowers();
  // A store object of a later program: its schema has one step more, and where `broken` is true another one
  // whose second statement fails.
  [[nodiscard]] virtual std::unique_ptr<OrderStore> makeLater(bool broken) = 0;
  // The first column of the first row of a SELECT.
  [[nodiscard]] virtual std::int64_t number(const std::string& select) = 0;
  // Another program keeps all writers out until the answer goes. Waits at most 20 seconds to get in.
  [[nodiscard]] virtual std::shared_ptr<void> keepWritersOut() = 0;
  virtual void setReadOnly(bool on) = 0;
  virtual void setFull(bool on) = 0;     // no room for more than what is there
  virtual void stallStock(bool on) = 0;  // the last statement of a persist, on the vouchers, never ends
  // The schema refuses rows of this user; of none where it is not valid.
  virtual void refuse(UserId user) = 0;
  // Cannot be opened (file away, server stopped) while nothing has it open.
  virtual void setReachable(bool on) = 0;
  // What no text may show: passwords, connect strings.
  [[nodiscard]] virtual std::vector<std::string> secrets() const = 0;
  // Nothing where there is none.
  [[nodiscard]] virtual StoreServer* server() = 0;
};

// One database of a test's own, empty at first, gone at the end.
class StoreWorld {
 public:
  virtual ~StoreWorld();
  // Another store object on it, neither migrated nor started.
  [[nodiscard]] virtual std::unique_ptr<OrderStore> make() = 0;
  // Without them most cases cannot be shown, and are noted as such.
  [[nodiscard]] virtual StorePowers* powers() { return nullptr; }

  RecordingLog log;  // of the stores that it makes
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreWorld>()> makeWorld;
  friend std::ostream& operator<<(std::ostream& out, const StoreKind& kind) { return out << kind.name; }
};

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override;
  // Ends every test: the laws hold for every voucher that was made.
  void TearDown() override;

  // Migrated and started.
  [[nodiscard]] std::unique_ptr<OrderStore> openStore();
  [[nodiscard]] OrderStore& store() { return *store_; }
  [[nodiscard]] StoreWorld& world() { return *world_; }
  [[nodiscard]] StorePowers& powers() { return *world_->powers(); }
  // Nothing has the database open until reopen(); for work in other processes.
  void closeStore();
  void reopenStore() { store_ = openStore(); }

  VoucherId sell(std::int64_t stock, std::int32_t limitPerUser = 1);
  [[nodiscard]] Voucher voucher(VoucherId id);
  [[nodiscard]] Admission admission(std::int64_t order, std::int64_t user, VoucherId voucher,
                                    std::int32_t quantity = 1) const;
  // Persists and expects an answer.
  std::vector<PersistOutcome> persist(const std::vector<Admission>& admissions);
  PersistOutcome persist(const Admission& one) { return persist(std::vector<Admission>{one}).front(); }
  // Orders `first` and up, each of another user, one piece each.
  [[nodiscard]] std::vector<Admission> batchOf(std::int64_t first, int count, VoucherId voucher) const;
  [[nodiscard]] Order row(std::int64_t order);
  [[nodiscard]] bool hasRow(std::int64_t order);
  [[nodiscard]] Change cancel(const Admission& admission, DeadReason reason = DeadReason::ByUser);
  // Conservation and limits in one consistent read, of one voucher.
  [[nodiscard]] VoucherTotals totals(VoucherId id);
  void expectLaws(OrderStore& store);

  [[nodiscard]] static Deadline soon() { return Deadline::in(scaled(milliseconds(20000))); }
  UtcTime now_ = fromMillis(1767225600123);  // the tests' own time
  UtcTime payBy_ = now_ + std::chrono::minutes(15);

 private:
  std::unique_ptr<StoreWorld> world_;
  std::unique_ptr<OrderStore> store_;
};

[[nodiscard]] VoucherSettings settingsOf(std::int64_t stock, std::int32_t limitPerUser);

// How many were new live rows; 0 with a failed expectation where there is no answer.
[[nodiscard]] std::size_t storedIn(const Result<std::vector<PersistOutcome>>& outcomes);

inline constexpr PersistOutcome kStored{PersistKind::Stored, OrderStatus::PendingPayment, DeadReason::None,
                                        false};
inline constexpr PersistOutcome kNoStock{PersistKind::Rejected, OrderStatus::Rejected, DeadReason::NoStock,
                                         false};
inline constexpr PersistOutcome kOverLimit{PersistKind::Rejected, OrderStatus::Rejected,
                                           DeadReason::OverLimit, false};
inline constexpr PersistOutcome kAlreadyPending{PersistKind::Already, OrderStatus::PendingPayment,
                                                DeadReason::None, false};

}  // namespace sluice::test

namespace sluice {
std::ostream& operator<<(std::ostream& out, const PersistOutcome& outcome);
}  // namespace sluice

// Skips a test that needs what only powers can do.
#define SLUICE_NEEDS_POWERS(world) \
  if ((world).powers() == nullptr) SLUICE_SKIP_UNCLAIMED("powers")
