// The store in memory: the five rules of decision over maps; see fakes.h.
#include <algorithm>

#include "sluice/limits.h"

#include "support/fakes.h"

namespace sluice::test {

Status FakeStore::start(Deadline) {
  return faults.run("start", [&]() -> Status {
    const std::lock_guard lock(mutex_);
    if (closed_) return {ErrorCode::Stopped, "store is closed"};
    if (!migrated_) return {ErrorCode::Misconfigured, "schema is older than this program: migrate it"};
    started_ = true;
    return {};
  });
}

Status FakeStore::migrate(Deadline) {
  return faults.run("migrate", [&]() -> Status {
    const std::lock_guard lock(mutex_);
    if (closed_) return {ErrorCode::Stopped, "store is closed"};
    migrated_ = true;
    return {};
  });
}

void FakeStore::close() noexcept {
  faults.note("close");
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  faults.unblock();
}

Result<std::string> FakeStore::durability(Deadline) {
  return call("durability", [&]() -> Result<std::string> { return std::string("in memory"); });
}

Result<Voucher> FakeStore::createVoucher(VoucherId id, const VoucherSettings& settings, Deadline) {
  return call("createVoucher", [&]() -> Result<Voucher> {
    if (const auto fault = faultOf(settings)) return {ErrorCode::InvalidArgument, *fault};
    if (!id.valid()) id = VoucherId(vouchers_.empty() ? 1 : vouchers_.rbegin()->first.value() + 1);
    if (vouchers_.contains(id)) return {ErrorCode::Conflict, "voucher " + id.text() + " exists"};
    vouchers_[id] = {id, settings, 1, settings.allocated};
    return vouchers_[id];
  });
}

Result<Voucher> FakeStore::updateVoucher(VoucherId id, std::int64_t expectedVersion,
                                         const VoucherSettings& settings, Deadline) {
  return call("updateVoucher", [&]() -> Result<Voucher> {
    if (const auto fault = faultOf(settings)) return {ErrorCode::InvalidArgument, *fault};
    const auto found = vouchers_.find(id);
    if (found == vouchers_.end()) return {ErrorCode::NotFound, "no voucher " + id.text()};
    Voucher& voucher = found->second;
    if (voucher.version != expectedVersion)
      return {ErrorCode::Conflict, "voucher " + id.text() + " has another version"};
    const std::int64_t remaining = voucher.remaining + settings.allocated - voucher.settings.allocated;
    if (remaining < 0) return {ErrorCode::Conflict, "more pieces are sold than the new stock"};
    voucher = {id, settings, voucher.version + 1, remaining};
    return voucher;
  });
}

Result<std::optional<Voucher>> FakeStore::findVoucher(VoucherId id, Deadline) {
  return call("findVoucher", [&]() -> Result<std::optional<Voucher>> {
    const auto found = vouchers_.find(id);
    return found == vouchers_.end() ? std::nullopt : std::optional(found->second);
  });
}

Result<std::vector<Voucher>> FakeStore::listVouchers(VoucherId after, std::size_t max, Deadline) {
  return call("listVouchers", [&]() -> Result<std::vector<Voucher>> {
    std::vector<Voucher> page;
    for (auto entry = vouchers_.upper_bound(after); entry != vouchers_.end() && page.size() < max; ++entry) {
      page.push_back(entry->second);
    }
    return page;
  });
}

Status FakeStore::addEligible(VoucherId voucher, std::span<const UserId> users, Deadline) {
  return call("addEligible", [&]() -> Status {
    if (!vouchers_.contains(voucher)) return {ErrorCode::NotFound, "no voucher " + voucher.text()};
    eligible_[voucher].insert(users.begin(), users.end());
    return {};
  });
}

Result<std::vector<UserId>> FakeStore::listEligible(VoucherId voucher, UserId after, std::size_t max,
                                                    Deadline) {
  return call("listEligible", [&]() -> Result<std::vector<UserId>> {
    std::vector<UserId> page;
    const std::set<UserId>& users = eligible_[voucher];
    for (auto user = users.upper_bound(after); user != users.end() && page.size() < max; ++user) {
      page.push_back(*user);
    }
    return page;
  });
}

std::int64_t FakeStore::livePieces(VoucherId voucher, UserId user) const {
  std::int64_t pieces = 0;
  for (const auto& [id, row] : orders_) {
    if (row.voucher == voucher && (!user.valid() || row.user == user) && isLive(row.status))
      pieces += row.quantity;
  }
  return pieces;
}

Order& FakeStore::insert(const Admission& admission, OrderStatus status, DeadReason reason, UtcTime now) {
  Order row;
  row.id = admission.order;
  row.user = admission.user;
  row.voucher = admission.voucher;
  row.quantity = admission.quantity;
  row.status = status;
  row.reason = reason;
  row.admittedAt = admission.admittedAt;
  row.storedAt = row.updatedAt = now;
  lives_[row.id].push_back(status);
  return orders_[row.id] = row;
}

namespace {

bool sameOrder(const Order& row, const Admission& admission) {
  return row.user == admission.user && row.voucher == admission.voucher && row.quantity == admission.quantity;
}

}  // namespace

PersistOutcome FakeStore::persistOne(const Admission& admission, UtcTime now, UtcTime payBy) {
  if (const auto found = orders_.find(admission.order); found != orders_.end()) {
    const Order& row = found->second;
    if (!sameOrder(row, admission)) return {PersistKind::Conflict, row.status, row.reason, false};
    return {PersistKind::Already, row.status, row.reason, row.releasedAt.has_value()};
  }
  const auto voucher = vouchers_.find(admission.voucher);
  if (voucher == vouchers_.end())
    return {PersistKind::UnknownVoucher, OrderStatus::Rejected, DeadReason::None, false};
  DeadReason reason = DeadReason::None;
  if (voucher->second.remaining < admission.quantity) reason = DeadReason::NoStock;
  if (livePieces(admission.voucher, admission.user) + admission.quantity >
      voucher->second.settings.limitPerUser) {
    reason = DeadReason::OverLimit;
  }
  if (reason != DeadReason::None) {
    insert(admission, OrderStatus::Rejected, reason, now);
    return {PersistKind::Rejected, OrderStatus::Rejected, reason, false};
  }
  insert(admission, OrderStatus::PendingPayment, DeadReason::None, now).payBy = payBy;
  voucher->second.remaining -= admission.quantity;
  return {PersistKind::Stored, OrderStatus::PendingPayment, DeadReason::None, false};
}

Result<std::vector<PersistOutcome>> FakeStore::persist(std::span<const Admission> admissions, UtcTime now,
                                                       UtcTime payBy, Deadline) {
  return call("persist", [&]() -> Result<std::vector<PersistOutcome>> {
    if (admissions.empty() || admissions.size() > limits::kReceiveBatchMax) {
      return {ErrorCode::InvalidArgument, "a batch has 1 to 500 orders"};
    }
    for (const Admission& admission : admissions) {
      if (poisoned_.contains(admission.order)) return {ErrorCode::Internal, "scripted: poisoned order"};
    }
    std::vector<PersistOutcome> outcomes;
    for (const Admission& admission : admissions) {
      outcomes.push_back(persistOne(admission, now, payBy));
    }
    return outcomes;
  });
}

void FakeStore::die(Order& row, OrderStatus status, DeadReason reason, UtcTime now) {
  vouchers_.at(row.voucher).remaining += row.quantity;
  row.status = status;
  lives_[row.id].push_back(status);
  row.reason = reason;
  row.updatedAt = now;
  row.payBy.reset();
}

Change FakeStore::change(Order& row, OrderStatus from, OrderStatus to, DeadReason reason, UtcTime now) {
  if (row.status != from) return {row, false};
  if (isLive(to)) {
    row.status = to;
    lives_[row.id].push_back(to);
    row.updatedAt = now;
    row.payBy.reset();
  } else {
    die(row, to, reason, now);
  }
  return {row, true};
}

Result<Change> FakeStore::pay(OrderId order, UtcTime now, Deadline) {
  return call("pay", [&]() -> Result<Change> {
    const auto row = orders_.find(order);
    if (row == orders_.end()) return {ErrorCode::NotFound, "no order " + order.text()};
    return change(row->second, OrderStatus::PendingPayment, OrderStatus::Paid, DeadReason::None, now);
  });
}

Result<Change> FakeStore::cancel(const CancelRequest& request, UtcTime now, Deadline) {
  return call("cancel", [&]() -> Result<Change> {
    const Admission& admission = request.admission;
    const auto row = orders_.find(admission.order);
    if (row != orders_.end()) {
      if (!sameOrder(row->second, admission))
        return {ErrorCode::Conflict, "order " + admission.order.text() + " is another one"};
      return change(row->second, OrderStatus::PendingPayment, OrderStatus::Cancelled, request.reason, now);
    }
    if (!vouchers_.contains(admission.voucher))
      return {ErrorCode::NotFound, "no voucher " + admission.voucher.text()};
    return Change{insert(admission, OrderStatus::Cancelled, request.reason, now), true};
  });
}

Result<Change> FakeStore::refund(OrderId order, UtcTime now, Deadline) {
  return call("refund", [&]() -> Result<Change> {
    const auto row = orders_.find(order);
    if (row == orders_.end()) return {ErrorCode::NotFound, "no order " + order.text()};
    return change(row->second, OrderStatus::Paid, OrderStatus::Refunded, DeadReason::ByOperator, now);
  });
}

Result<std::size_t> FakeStore::expire(UtcTime now, std::size_t max, Deadline) {
  return call("expire", [&]() -> Result<std::size_t> {
    std::size_t expired = 0;
    for (auto& [id, row] : orders_) {
      if (expired == max) break;
      if (row.status != OrderStatus::PendingPayment || !row.payBy || *row.payBy > now) continue;
      die(row, OrderStatus::Cancelled, DeadReason::Unpaid, now);
      ++expired;
    }
    return expired;
  });
}

Result<std::vector<Order>> FakeStore::unreleased(std::size_t max, Deadline) {
  return call("unreleased", [&]() -> Result<std::vector<Order>> {
    std::vector<Order> rows;
    for (const auto& [id, row] : orders_) {
      if (!isLive(row.status) && !row.releasedAt) rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Order& a, const Order& b) { return a.updatedAt < b.updatedAt; });
    rows.resize(std::min(rows.size(), max));
    return rows;
  });
}

Status FakeStore::markReleased(std::span<const OrderId> orders, UtcTime now, Deadline) {
  return call("markReleased", [&]() -> Status {
    for (const OrderId order : orders) {
      const auto row = orders_.find(order);
      if (row == orders_.end() || isLive(row->second.status) || row->second.releasedAt) continue;
      row->second.releasedAt = row->second.updatedAt = now;
    }
    return {};
  });
}

Result<std::optional<Order>> FakeStore::findOrder(OrderId order, Deadline) {
  return call("findOrder", [&]() -> Result<std::optional<Order>> {
    const auto row = orders_.find(order);
    return row == orders_.end() ? std::nullopt : std::optional(row->second);
  });
}

Result<std::vector<Order>> FakeStore::findOrders(std::span<const OrderId> orders, Deadline) {
  return call("findOrders", [&]() -> Result<std::vector<Order>> {
    if (orders.size() > limits::kPageMax) return {ErrorCode::InvalidArgument, "at most 1000 ids"};
    std::vector<Order> rows;
    for (const OrderId order : std::set<OrderId>(orders.begin(), orders.end())) {
      const auto row = orders_.find(order);
      if (row != orders_.end()) rows.push_back(row->second);
    }
    return rows;
  });
}

Result<std::vector<Order>> FakeStore::listOrders(VoucherId voucher, UserId user,
                                                 std::optional<OrderStatus> status, OrderId after,
                                                 std::size_t max, Deadline) {
  return call("listOrders", [&]() -> Result<std::vector<Order>> {
    std::vector<Order> page;
    for (auto entry = orders_.upper_bound(after); entry != orders_.end() && page.size() < max; ++entry) {
      const Order& row = entry->second;
      if (row.voucher != voucher || (user.valid() && row.user != user) || (status && row.status != *status))
        continue;
      page.push_back(row);
    }
    return page;
  });
}

Result<std::vector<Order>> FakeStore::recentOrders(milliseconds window, ChangePoint after, std::size_t max,
                                                   Deadline) {
  return call("recentOrders", [&]() -> Result<std::vector<Order>> {
    UtcTime newest{};
    for (const auto& [id, row] : orders_) {
      newest = std::max(newest, row.updatedAt);
    }
    std::vector<Order> page;
    for (const auto& [id, row] : orders_) {
      const bool behind = std::pair(row.updatedAt, id) > std::pair(after.at, after.order);
      if (row.updatedAt >= newest - window && behind) page.push_back(row);
    }
    std::stable_sort(page.begin(), page.end(),
                     [](const Order& a, const Order& b) { return a.updatedAt < b.updatedAt; });
    page.resize(std::min(page.size(), max));
    return page;
  });
}

}  // namespace sluice::test
