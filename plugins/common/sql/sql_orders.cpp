// SqlStore: what happens to an order after it was stored; every change by compare-and-set.
#include <algorithm>

#include "checks.h"
#include "rows.h"
#include "sql_store.h"
#include "statement.h"

namespace sluice::sql {

namespace {

std::int64_t number(OrderStatus status) { return static_cast<std::int64_t>(status); }
std::int64_t number(DeadReason reason) { return static_cast<std::int64_t>(reason); }

std::optional<Order> selectOrder(Session& session, OrderId order) {
  auto rows = selectOrders(session, Text("WHERE id = ") << order);
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

Error noSuchOrder(OrderId order) { return {ErrorCode::NotFound, "the store has no order " + order.text()}; }

Status giveBack(Session& session, VoucherId voucher, std::int64_t pieces) {
  const auto changed = execute(session, Text("UPDATE vouchers SET remaining = remaining + ")
                                            << pieces << " WHERE id = " << voucher);
  if (changed != 1)
    return {ErrorCode::Internal, "voucher " + voucher.text() + " of a stored order is missing"};
  return {};
}

// Rule R3: the dead row of an order that was never stored. It takes no place and no stock.
Order insertCancelled(Session& session, const CancelRequest& request, UtcTime now) {
  const Admission& admission = request.admission;
  execute(
      session,
      Text("INSERT INTO orders (id, user_id, voucher_id, quantity, status, reason, admitted_at, stored_at, "
           "updated_at) VALUES (")
          << admission.order << "," << admission.user << "," << admission.voucher << ","
          << std::int64_t{admission.quantity} << "," << number(OrderStatus::Cancelled) << ","
          << number(request.reason) << "," << admission.admittedAt << "," << now << "," << now << ")");
  Order row;
  row.id = admission.order;
  row.user = admission.user;
  row.voucher = admission.voucher;
  row.quantity = admission.quantity;
  row.status = OrderStatus::Cancelled;
  row.reason = request.reason;
  row.admittedAt = admission.admittedAt;
  row.storedAt = row.updatedAt = now;
  return row;
}

std::optional<std::string> faultOf(const CancelRequest& request) {
  switch (request.reason) {
    case DeadReason::ByUser:
    case DeadReason::Unpaid:
    case DeadReason::ByOperator:
    case DeadReason::DeadLetter:
      return sql::faultOf(request.admission);
    case DeadReason::None:
    case DeadReason::NoStock:
    case DeadReason::OverLimit:
      break;
  }
  return "the reason of a cancel must be by_user, unpaid, by_operator or dead_letter";
}

// Orders past their pay-by time, as seen without a lock.
std::vector<Order> selectDue(Session& session, UtcTime now, std::size_t max) {
  return selectOrders(session, Text("WHERE pay_by <= ")
                                   << now << " ORDER BY pay_by LIMIT " << static_cast<std::int64_t>(max));
}

template <typename Of>
auto sortedOf(const std::vector<Order>& orders, const Of& of) {
  std::vector<decltype(of(orders.front()))> ids;
  ids.reserve(orders.size());
  for (const Order& order : orders) {
    ids.push_back(of(order));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

Result<Change> SqlStore::pay(OrderId order, UtcTime now, Deadline deadline) {
  return answer(Use::Write, "pay", deadline, [&](Session& session) -> Result<Change> {
    const auto changed = execute(session, Text("UPDATE orders SET status = ")
                                              << number(OrderStatus::Paid) << ", updated_at = " << now
                                              << ", pay_by = NULL WHERE id = " << order
                                              << " AND status = " << number(OrderStatus::PendingPayment));
    const auto row = selectOrder(session, order);
    if (!row) return noSuchOrder(order);
    return Change{*row, changed == 1};
  });
}

Result<Change> SqlStore::kill(Session& session, OrderId order, OrderStatus from, OrderStatus to,
                              DeadReason reason, UtcTime now) const {
  const auto changed =
      execute(session, Text("UPDATE orders SET status = ")
                           << number(to) << ", reason = " << number(reason) << ", updated_at = " << now
                           << ", pay_by = NULL, slot = NULL WHERE id = " << order
                           << " AND status = " << number(from));
  const auto row = selectOrder(session, order);
  if (!row) return noSuchOrder(order);
  if (changed == 1) {
    if (const Status back = giveBack(session, row->voucher, row->quantity); !back) return back.error();
  }
  return Change{*row, changed == 1};
}

Result<Change> SqlStore::cancel(const CancelRequest& request, UtcTime now, Deadline deadline) {
  if (const auto fault = faultOf(request)) return {ErrorCode::InvalidArgument, "cancel: " + *fault};
  const Admission& admission = request.admission;
  return answer(Use::Write, "cancel", deadline, [&](Session& session) -> Result<Change> {
    const bool known = !lockVouchers(session, {&admission.voucher, 1}).empty();
    const auto row = selectOrder(session, admission.order);
    if (row && !sameOrder(*row, admission)) {
      return {ErrorCode::Conflict,
              "order " + admission.order.text() + " is of another user, voucher or quantity"};
    }
    if (!known) return {ErrorCode::NotFound, "the store has no voucher " + admission.voucher.text()};
    if (!row) return Change{insertCancelled(session, request, now), true};
    return kill(session, admission.order, OrderStatus::PendingPayment, OrderStatus::Cancelled, request.reason,
                now);
  });
}

Result<Change> SqlStore::refund(OrderId order, UtcTime now, Deadline deadline) {
  return answer(Use::Write, "refund", deadline, [&](Session& session) -> Result<Change> {
    const auto row =
        selectOrder(session, order);  // its voucher never changes, so it may be read before the lock
    if (!row) return noSuchOrder(order);
    lockVouchers(session, {&row->voucher, 1});
    return kill(session, order, OrderStatus::Paid, OrderStatus::Refunded, DeadReason::ByOperator, now);
  });
}

Result<std::size_t> SqlStore::expire(UtcTime now, std::size_t max, Deadline deadline) {
  if (const auto fault = faultOfPage(max)) return {ErrorCode::InvalidArgument, "expire: " + *fault};
  // Asked every second, mostly in vain: the question takes no lock.
  const auto due = answer(Use::Read, "expire", deadline, [&](Session& session) -> Result<std::vector<Order>> {
    return selectDue(session, now, max);
  });
  if (!due) return due.error();
  if (due.value().empty()) return std::size_t{0};
  const auto ids = sortedOf(due.value(), [](const Order& order) { return order.id; });
  const auto vouchers = sortedOf(due.value(), [](const Order& order) { return order.voucher; });
  return answer(Use::Write, "expire", deadline, [&](Session& session) -> Result<std::size_t> {
    lockVouchers(session, vouchers);
    // Paid or cancelled meanwhile: no longer pending, and left out. The lock keeps the rest as they are.
    const auto pending =
        selectOrders(session, Text("WHERE status = ").operator<<(number(OrderStatus::PendingPayment))
                                  << " AND id IN " << Text().list(ids).str() << dialect_->lockRows());
    if (pending.empty()) return std::size_t{0};
    execute(session,
            Text("UPDATE orders SET status = ")
                << number(OrderStatus::Cancelled) << ", reason = " << number(DeadReason::Unpaid)
                << ", updated_at = " << now << ", pay_by = NULL, slot = NULL WHERE id IN "
                << Text().list(pending, [](Text& text, const Order& order) { text << order.id; }).str());
    std::map<VoucherId, std::int64_t> pieces;
    for (const Order& order : pending) {
      pieces[order.voucher] += order.quantity;
    }
    for (const auto& [voucher, count] : pieces) {
      if (const Status back = giveBack(session, voucher, count); !back) return back.error();
    }
    return pending.size();
  });
}

Result<std::vector<Order>> SqlStore::unreleased(std::size_t max, Deadline deadline) {
  if (const auto fault = faultOfPage(max)) return {ErrorCode::InvalidArgument, "list unreleased: " + *fault};
  return answer(Use::Read, "list unreleased", deadline, [&](Session& session) -> Result<std::vector<Order>> {
    return selectOrders(
        session, Text("WHERE ") << dialect_->unreleased() << " LIMIT " << static_cast<std::int64_t>(max));
  });
}

Status SqlStore::markReleased(std::span<const OrderId> orders, UtcTime now, Deadline deadline) {
  if (orders.empty()) return {};
  if (const auto fault = faultOfPage(orders.size()))
    return {ErrorCode::InvalidArgument, "mark released: " + *fault};
  std::vector<OrderId> sorted(orders.begin(), orders.end());
  std::sort(sorted.begin(), sorted.end());  // one order of row locks for everybody
  return run(Use::Write, "mark released", deadline, [&](Session& session) -> Status {
    execute(session, Text("UPDATE orders SET released_at = ")
                         << now << ", updated_at = " << now
                         << " WHERE released_at IS NULL AND status >= 3 AND id IN "
                         << Text().list(sorted).str());
    return {};
  });
}

}  // namespace sluice::sql
