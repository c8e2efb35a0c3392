// FaultyStore: a real store that fails on command, or at the order of one user.
#pragma once

#include <mutex>
#include <set>

#include "sluice/order_store.h"

#include "support/faults.h"

namespace sluice::test {

// What fails before the call never reaches the real one; what fails after it has happened there.
class FaultyStore final : public OrderStore {
 public:
  explicit FaultyStore(OrderStore& real) : real_(real) {}

  Faults faults{storeCalls()};
  // A persist that has an order of this user in its batch answers Internal, and stores nothing.
  void poison(UserId user);
  void cure();
  // A persist that has an order of this user in its batch kills this process.
  void makeDeadly(UserId user);

  [[nodiscard]] Status start(Deadline deadline) override;
  [[nodiscard]] Status migrate(Deadline deadline) override;
  void close() noexcept override;
  [[nodiscard]] Result<std::string> durability(Deadline deadline) override;
  [[nodiscard]] Result<Voucher> createVoucher(VoucherId id, const VoucherSettings& settings,
                                              Deadline deadline) override;
  [[nodiscard]] Result<Voucher> updateVoucher(VoucherId id, std::int64_t expectedVersion,
                                              const VoucherSettings& settings, Deadline deadline) override;
  [[nodiscard]] Result<std::optional<Voucher>> findVoucher(VoucherId id, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Voucher>> listVouchers(VoucherId after, std::size_t max,
                                                          Deadline deadline) override;
  [[nodiscard]] Status addEligible(VoucherId voucher, std::span<const UserId> users,
                                   Deadline deadline) override;
  [[nodiscard]] Result<std::vector<UserId>> listEligible(VoucherId voucher, UserId after, std::size_t max,
                                                         Deadline deadline) override;
  [[nodiscard]] Result<std::vector<PersistOutcome>> persist(std::span<const Admission> admissions,
                                                            UtcTime now, UtcTime payBy,
                                                            Deadline deadline) override;
  [[nodiscard]] Result<Change> pay(OrderId order, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<Change> cancel(const CancelRequest& request, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<Change> refund(OrderId order, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> expire(UtcTime now, std::size_t max, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> unreleased(std::size_t max, Deadline deadline) override;
  [[nodiscard]] Status markReleased(std::span<const OrderId> orders, UtcTime now, Deadline deadline) override;
  [[nodiscard]] Result<std::optional<Order>> findOrder(OrderId order, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> findOrders(std::span<const OrderId> orders,
                                                      Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> listOrders(VoucherId voucher, UserId user,
                                                      std::optional<OrderStatus> status, OrderId after,
                                                      std::size_t max, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Order>> recentOrders(milliseconds window, ChangePoint after,
                                                        std::size_t max, Deadline deadline) override;
  [[nodiscard]] Result<ProcessLease> leaseProcess(const std::string& name, milliseconds duration, UtcTime now,
                                                  Deadline deadline) override;
  [[nodiscard]] Result<ProcessLease> renewProcess(const ProcessLease& lease, milliseconds duration,
                                                  UtcTime now, std::span<const AdmissionCount> counts,
                                                  Deadline deadline) override;
  [[nodiscard]] Status endProcess(const ProcessLease& lease, UtcTime now,
                                  std::span<const AdmissionCount> counts, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<ProcessLease>> listProcesses(Deadline deadline) override;
  [[nodiscard]] Result<std::vector<VoucherTotals>> totals(VoucherId after, std::size_t max,
                                                          Deadline deadline) override;

 private:
  [[nodiscard]] bool holdsPoison(std::span<const Admission> admissions) const;
  void dieOf(std::span<const Admission> admissions) const;

  mutable std::mutex mutex_;
  std::set<UserId> poisoned_;  // guarded by mutex_
  UserId deadly_;              // guarded by mutex_
  OrderStore& real_;
};

}  // namespace sluice::test
