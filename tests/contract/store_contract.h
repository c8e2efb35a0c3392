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

namespace sluice::test {

// One database of a test's own, empty at first, gone at the end.
class StoreWorld {
 public:
  virtual ~StoreWorld();
  // Another store object on it, neither migrated nor started.
  [[nodiscard]] virtual std::unique_ptr<OrderStore> make() = 0;
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

  VoucherId sell(std::int64_t stock, std::int32_t limitPerUser = 1);
  [[nodiscard]] Voucher voucher(VoucherId id);
  [[nodiscard]] Admission admission(std::int64_t order, std::int64_t user, VoucherId voucher,
                                    std::int32_t quantity = 1) const;
  // Persists and expects an answer.
  std::vector<PersistOutcome> persist(const std::vector<Admission>& admissions);
  PersistOutcome persist(const Admission& one) { return persist(std::vector<Admission>{one}).front(); }
  [[nodiscard]] Order row(std::int64_t order);
  [[nodiscard]] bool hasRow(std::int64_t order);
  [[nodiscard]] Change cancel(const Admission& admission, DeadReason reason = DeadReason::ByUser);
  // Conservation and limits in one consistent read, of one voucher.
  [[nodiscard]] VoucherTotals totals(VoucherId id);
  void expectLaws(OrderStore& store);

  [[nodiscard]] static Deadline soon() { return Deadline::in(milliseconds(20000)); }
  UtcTime now_ = fromMillis(1767225600123);  // the tests' own time
  UtcTime payBy_ = now_ + std::chrono::minutes(15);

 private:
  std::unique_ptr<StoreWorld> world_;
  std::unique_ptr<OrderStore> store_;
};

[[nodiscard]] VoucherSettings settingsOf(std::int64_t stock, std::int32_t limitPerUser);

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
