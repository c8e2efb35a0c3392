// See faulty_store.h.
#include "support/faulty_store.h"

#include <algorithm>
#include <csignal>

#include <unistd.h>

namespace sluice::test {

Status FaultyStore::start(Deadline deadline) {
  return faults.run("start", [&] { return real_.start(deadline); });
}

Status FaultyStore::migrate(Deadline deadline) {
  return faults.run("migrate", [&] { return real_.migrate(deadline); });
}

void FaultyStore::close() noexcept { real_.close(); }

Result<std::string> FaultyStore::durability(Deadline deadline) {
  return faults.run("durability", [&] { return real_.durability(deadline); });
}

Result<Voucher> FaultyStore::createVoucher(VoucherId id, const VoucherSettings& settings, Deadline deadline) {
  return faults.run("createVoucher", [&] { return real_.createVoucher(id, settings, deadline); });
}

Result<Voucher> FaultyStore::updateVoucher(VoucherId id, std::int64_t expectedVersion,
                                           const VoucherSettings& settings, Deadline deadline) {
  return faults.run("updateVoucher",
                    [&] { return real_.updateVoucher(id, expectedVersion, settings, deadline); });
}

Result<std::optional<Voucher>> FaultyStore::findVoucher(VoucherId id, Deadline deadline) {
  return faults.run("findVoucher", [&] { return real_.findVoucher(id, deadline); });
}

Result<std::vector<Voucher>> FaultyStore::listVouchers(VoucherId after, std::size_t max, Deadline deadline) {
  return faults.run("listVouchers", [&] { return real_.listVouchers(after, max, deadline); });
}

Status FaultyStore::addEligible(VoucherId voucher, std::span<const UserId> users, Deadline deadline) {
  return faults.run("addEligible", [&] { return real_.addEligible(voucher, users, deadline); });
}

Result<std::vector<UserId>> FaultyStore::listEligible(VoucherId voucher, UserId after, std::size_t max,
                                                      Deadline deadline) {
  return faults.run("listEligible", [&] { return real_.listEligible(voucher, after, max, deadline); });
}

Result<std::vector<PersistOutcome>> FaultyStore::persist(std::span<const Admission> admissions, UtcTime now,
                                                         UtcTime payBy, Deadline deadline) {
  return faults.run("persist", [&]() -> Result<std::vector<PersistOutcome>> {
    dieOf(admissions);
    if (holdsPoison(admissions)) return {ErrorCode::Internal, "poisoned for the test"};
    return real_.persist(admissions, now, payBy, deadline);
  });
}

void FaultyStore::makeDeadly(UserId user) {
  const std::lock_guard lock(mutex_);
  deadly_ = user;
}

void FaultyStore::dieOf(std::span<const Admission> admissions) const {
  const std::lock_guard lock(mutex_);
  const bool deadly = std::any_of(admissions.begin(), admissions.end(),
                                  [this](const Admission& of) { return of.user == deadly_; });
  if (deadly) static_cast<void>(::kill(::getpid(), SIGKILL));
}

void FaultyStore::poison(UserId user) {
  const std::lock_guard lock(mutex_);
  poisoned_.insert(user);
}

void FaultyStore::cure() {
  const std::lock_guard lock(mutex_);
  poisoned_.clear();
}

bool FaultyStore::holdsPoison(std::span<const Admission> admissions) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(admissions.begin(), admissions.end(),
                     [this](const Admission& admission) { return poisoned_.count(admission.user) > 0; });
}

Result<Change> FaultyStore::pay(OrderId order, UtcTime now, Deadline deadline) {
  return faults.run("pay", [&] { return real_.pay(order, now, deadline); });
}

Result<Change> FaultyStore::cancel(const CancelRequest& request, UtcTime now, Deadline deadline) {
  return faults.run("cancel", [&] { return real_.cancel(request, now, deadline); });
}

Result<Change> FaultyStore::refund(OrderId order, UtcTime now, Deadline deadline) {
  return faults.run("refund", [&] { return real_.refund(order, now, deadline); });
}

Result<std::size_t> FaultyStore::expire(UtcTime now, std::size_t max, Deadline deadline) {
  return faults.run("expire", [&] { return real_.expire(now, max, deadline); });
}

Result<std::vector<Order>> FaultyStore::unreleased(std::size_t max, Deadline deadline) {
  return faults.run("unreleased", [&] { return real_.unreleased(max, deadline); });
}

Status FaultyStore::markReleased(std::span<const OrderId> orders, UtcTime now, Deadline deadline) {
  return faults.run("markReleased", [&] { return real_.markReleased(orders, now, deadline); });
}

Result<std::optional<Order>> FaultyStore::findOrder(OrderId order, Deadline deadline) {
  return faults.run("findOrder", [&] { return real_.findOrder(order, deadline); });
}

Result<std::vector<Order>> FaultyStore::findOrders(std::span<const OrderId> orders, Deadline deadline) {
  return faults.run("findOrders", [&] { return real_.findOrders(orders, deadline); });
}

Result<std::vector<Order>> FaultyStore::listOrders(VoucherId voucher, UserId user,
                                                   std::optional<OrderStatus> status, OrderId after,
                                                   std::size_t max, Deadline deadline) {
  return faults.run("listOrders",
                    [&] { return real_.listOrders(voucher, user, status, after, max, deadline); });
}

Result<std::vector<Order>> FaultyStore::recentOrders(milliseconds window, ChangePoint after, std::size_t max,
                                                     Deadline deadline) {
  return faults.run("recentOrders", [&] { return real_.recentOrders(window, after, max, deadline); });
}

Result<ProcessLease> FaultyStore::leaseProcess(const std::string& name, milliseconds duration, UtcTime now,
                                               Deadline deadline) {
  return faults.run("leaseProcess", [&] { return real_.leaseProcess(name, duration, now, deadline); });
}

Result<ProcessLease> FaultyStore::renewProcess(const ProcessLease& lease, milliseconds duration, UtcTime now,
                                               std::span<const AdmissionCount> counts, Deadline deadline) {
  return faults.run("renewProcess",
                    [&] { return real_.renewProcess(lease, duration, now, counts, deadline); });
}

Status FaultyStore::endProcess(const ProcessLease& lease, UtcTime now, std::span<const AdmissionCount> counts,
                               Deadline deadline) {
  return faults.run("endProcess", [&] { return real_.endProcess(lease, now, counts, deadline); });
}

Result<std::vector<ProcessLease>> FaultyStore::listProcesses(Deadline deadline) {
  return faults.run("listProcesses", [&] { return real_.listProcesses(deadline); });
}

Result<std::vector<VoucherTotals>> FaultyStore::totals(VoucherId after, std::size_t max, Deadline deadline) {
  return faults.run("totals", [&] { return real_.totals(after, max, deadline); });
}

}  // namespace sluice::test
