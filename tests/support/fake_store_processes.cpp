// The store in memory: process numbers, totals, and the check of its own laws; see fakes.h.
#include <algorithm>

#include "sluice/limits.h"

#include "support/fakes.h"

namespace sluice::test {

void FakeStore::record(const ProcessLease& lease, std::span<const AdmissionCount> counts) {
  for (const AdmissionCount& count : counts) {
    std::int64_t& admitted = admitted_[{lease.token, count.voucher}];
    admitted = std::max(admitted, count.admitted);
  }
}

Result<ProcessLease> FakeStore::leaseProcess(const std::string& name, milliseconds duration, UtcTime now,
                                             Deadline) {
  return call("leaseProcess", [&]() -> Result<ProcessLease> {
    for (std::int32_t number = 0; number < limits::kProcessNumbers; ++number) {
      const auto held = processes_.find(number);
      if (held != processes_.end() && held->second.expiresAt > now) continue;
      ProcessLease lease;
      lease.number = number;
      lease.name = name;
      lease.token = "lease-" + std::to_string(++lastLease_);
      lease.since = held == processes_.end() ? now : std::max(now, held->second.expiresAt);
      lease.expiresAt = now + duration;
      processes_[number] = lease;
      return lease;
    }
    return {ErrorCode::Overloaded, "all process numbers are held"};
  });
}

Result<ProcessLease> FakeStore::renewProcess(const ProcessLease& lease, milliseconds duration, UtcTime now,
                                             std::span<const AdmissionCount> counts, Deadline) {
  return call("renewProcess", [&]() -> Result<ProcessLease> {
    const auto held = processes_.find(lease.number);
    if (held == processes_.end() || held->second.token != lease.token) {
      return {ErrorCode::Conflict, "process number " + std::to_string(lease.number) + " has another holder"};
    }
    held->second.expiresAt = now + duration;
    record(lease, counts);
    return held->second;
  });
}

Status FakeStore::endProcess(const ProcessLease& lease, UtcTime now, std::span<const AdmissionCount> counts,
                             Deadline) {
  return call("endProcess", [&]() -> Status {
    record(lease, counts);
    const auto held = processes_.find(lease.number);
    if (held != processes_.end() && held->second.token == lease.token) held->second.expiresAt = now;
    return {};
  });
}

Result<std::vector<ProcessLease>> FakeStore::listProcesses(Deadline) {
  return call("listProcesses", [&]() -> Result<std::vector<ProcessLease>> { return listLeases(); });
}

std::vector<ProcessLease> FakeStore::listLeases() const {
  std::vector<ProcessLease> leases;
  for (const auto& [number, lease] : processes_) {
    leases.push_back(lease);
  }
  return leases;
}

std::vector<ProcessLease> FakeStore::leases() const {
  const std::lock_guard lock(mutex_);
  return listLeases();
}

VoucherTotals FakeStore::totalsOf(const Voucher& voucher) const {
  VoucherTotals sums;
  sums.voucher = voucher;
  std::map<UserId, std::int64_t> byUser;
  for (const auto& [id, row] : orders_) {
    if (row.voucher != voucher.id) continue;
    ++sums.rows;
    if (isLive(row.status)) {
      sums.livePieces += row.quantity;
      byUser[row.user] += row.quantity;
    } else if (!row.releasedAt) {
      ++sums.unreleasedRows;
    }
  }
  for (const auto& [user, pieces] : byUser) {
    if (pieces > voucher.settings.limitPerUser) ++sums.usersOverLimit;
  }
  for (const auto& [key, admitted] : admitted_) {
    if (key.second == voucher.id) sums.countedAdmissions += admitted;
  }
  return sums;
}

Result<std::vector<VoucherTotals>> FakeStore::totals(VoucherId after, std::size_t max, Deadline) {
  return call("totals", [&]() -> Result<std::vector<VoucherTotals>> {
    std::vector<VoucherTotals> page;
    for (auto entry = vouchers_.upper_bound(after); entry != vouchers_.end() && page.size() < max; ++entry) {
      page.push_back(totalsOf(entry->second));
    }
    return page;
  });
}

void FakeStore::poison(OrderId order, bool poisoned) {
  const std::lock_guard lock(mutex_);
  if (poisoned) {
    poisoned_.insert(order);
  } else {
    poisoned_.erase(order);
  }
}

void FakeStore::overwrite(OrderId order, OrderStatus status) {
  const std::lock_guard lock(mutex_);
  orders_.at(order).status = status;
  lives_[order].push_back(status);
}

void FakeStore::reopen() {
  const std::lock_guard lock(mutex_);
  started_ = closed_ = false;
}

std::map<OrderId, Order> FakeStore::rows() const {
  const std::lock_guard lock(mutex_);
  return orders_;
}

bool FakeStore::knows(VoucherId voucher) const {
  const std::lock_guard lock(mutex_);
  return vouchers_.contains(voucher);
}

std::map<OrderId, std::vector<OrderStatus>> FakeStore::lives() const {
  const std::lock_guard lock(mutex_);
  return lives_;
}

void FakeStore::stealLease(std::int32_t number, UtcTime now) {
  const std::lock_guard lock(mutex_);
  ProcessLease& lease = processes_.at(number);
  lease.since = std::max(now, lease.expiresAt);
  lease.expiresAt = lease.since + std::chrono::hours(1);
  lease.token = "lease-" + std::to_string(++lastLease_);
}

std::string FakeStore::brokenLaws() const {
  const std::lock_guard lock(mutex_);
  std::string broken;
  const auto add = [&broken](bool wrong, const std::string& text) {
    if (wrong) broken += text + "\n";
  };
  for (const auto& [id, voucher] : vouchers_) {
    const VoucherTotals sums = totalsOf(voucher);
    add(voucher.remaining + sums.livePieces != voucher.settings.allocated,
        "CONSERVE_STORE: voucher " + id.text());
    add(voucher.remaining < 0, "NEVER_NEGATIVE: voucher " + id.text());
    add(sums.livePieces > voucher.settings.allocated, "NO_OVERSELL: voucher " + id.text());
    add(sums.usersOverLimit > 0, "ONE_PER_USER: voucher " + id.text());
  }
  for (const auto& [id, row] : orders_) {
    add(isLive(row.status) && row.releasedAt.has_value(),
        "R2: live order " + id.text() + " is marked released");
  }
  return broken;
}

}  // namespace sluice::test
