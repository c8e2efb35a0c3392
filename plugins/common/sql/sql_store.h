// SqlStore: the OrderStore of every SQL database; what differs between them is in its Dialect.
//
// Role:     the store plugins make one with their dialect. See sluice/order_store.h for the contract.
// Threads:  every call from any thread. Lifetime: construction is inert. A closed store stays closed.
//           Blocking: waits for a session, for locks and for statements all end at the Deadline; close()
//           waits for calls under way. Tables: vouchers, eligible_users, orders, processes,
//           admission_counts, sluice_schema (the ledger).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sluice/log.h"
#include "sluice/order_store.h"

#include "decide.h"
#include "dialect.h"
#include "transactions.h"

namespace sluice::sql {

class SqlStore final : public OrderStore {
 public:
  // What the references name outlives the store.
  SqlStore(std::unique_ptr<Dialect> dialect, Log& log, const Clock& clock, Random& random);
  ~SqlStore() override { close(); }
  SqlStore(const SqlStore&) = delete;
  SqlStore& operator=(const SqlStore&) = delete;

  Status start(Deadline deadline) override;
  Status migrate(Deadline deadline) override;
  void close() noexcept override;
  Result<std::string> durability(Deadline deadline) override;

  Result<Voucher> createVoucher(VoucherId id, const VoucherSettings& settings, Deadline deadline) override;
  Result<Voucher> updateVoucher(VoucherId id, std::int64_t expectedVersion, const VoucherSettings& settings,
                                Deadline deadline) override;
  Result<std::optional<Voucher>> findVoucher(VoucherId id, Deadline deadline) override;
  Result<std::vector<Voucher>> listVouchers(VoucherId after, std::size_t max, Deadline deadline) override;
  Status addEligible(VoucherId voucher, std::span<const UserId> users, Deadline deadline) override;
  Result<std::vector<UserId>> listEligible(VoucherId voucher, UserId after, std::size_t max,
                                           Deadline deadline) override;

  Result<std::vector<PersistOutcome>> persist(std::span<const Admission> admissions, UtcTime now,
                                              UtcTime payBy, Deadline deadline) override;
  Result<Change> pay(OrderId order, UtcTime now, Deadline deadline) override;
  Result<Change> cancel(const CancelRequest& request, UtcTime now, Deadline deadline) override;
  Result<Change> refund(OrderId order, UtcTime now, Deadline deadline) override;
  Result<std::size_t> expire(UtcTime now, std::size_t max, Deadline deadline) override;
  Result<std::vector<Order>> unreleased(std::size_t max, Deadline deadline) override;
  Status markReleased(std::span<const OrderId> orders, UtcTime now, Deadline deadline) override;

  Result<std::optional<Order>> findOrder(OrderId order, Deadline deadline) override;
  Result<std::vector<Order>> findOrders(std::span<const OrderId> orders, Deadline deadline) override;
  Result<std::vector<Order>> listOrders(VoucherId voucher, UserId user, std::optional<OrderStatus> status,
                                        OrderId after, std::size_t max, Deadline deadline) override;
  Result<std::vector<Order>> recentOrders(milliseconds window, ChangePoint after, std::size_t max,
                                          Deadline deadline) override;

  Result<ProcessLease> leaseProcess(const std::string& name, milliseconds duration, UtcTime now,
                                    Deadline deadline) override;
  Result<ProcessLease> renewProcess(const ProcessLease& lease, milliseconds duration, UtcTime now,
                                    std::span<const AdmissionCount> counts, Deadline deadline) override;
  Status endProcess(const ProcessLease& lease, UtcTime now, std::span<const AdmissionCount> counts,
                    Deadline deadline) override;
  Result<std::vector<ProcessLease>> listProcesses(Deadline deadline) override;

  Result<std::vector<VoucherTotals>> totals(VoucherId after, std::size_t max, Deadline deadline) override;

 private:
  struct Pools {
    std::unique_ptr<SessionPool> readers;
    std::unique_ptr<SessionPool> writers;
  };

  [[nodiscard]] Status run(Use use, const char* doing, Deadline deadline, const Transactions::Body& body);
  // As run(), for a body that answers a Result.
  template <typename Body>
  auto answer(Use use, const char* doing, Deadline deadline, const Body& body)
      -> decltype(body(std::declval<Session&>())) {
    using Answer = decltype(body(std::declval<Session&>()));
    std::optional<Answer> made;
    const Status done = run(use, doing, deadline, [&](Session& session) -> Status {
      made.emplace(body(session));
      return made->ok() ? Status() : Status(made->error());
    });
    if (!done) return done.error();
    return std::move(*made);
  }
  [[nodiscard]] std::shared_ptr<Pools> pools() const;
  [[nodiscard]] Status keepIfOpen(std::shared_ptr<Pools> pools);

  // Locks the vouchers, which must be sorted by id; answers those that exist.
  std::vector<Voucher> lockVouchers(Session& session, std::span<const VoucherId> sorted) const;
  BatchFacts readFacts(Session& session, std::span<const Admission> admissions) const;
  // Takes one order from a state to a dead one, and its pieces back; under the voucher's lock.
  Result<Change> kill(Session& session, OrderId order, OrderStatus from, OrderStatus to, DeadReason reason,
                      UtcTime now) const;

  const std::unique_ptr<Dialect> dialect_;
  Log& log_;
  const Clock& clock_;
  Random& random_;
  Transactions transactions_;
  mutable std::mutex mutex_;  // guards the two below
  std::shared_ptr<Pools> pools_;
  bool closed_ = false;
};

}  // namespace sluice::sql
