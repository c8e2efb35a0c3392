// SqlStore: looking orders up and paging through them.
#include <algorithm>

#include "checks.h"
#include "rows.h"
#include "sql_store.h"
#include "statement.h"

namespace sluice::sql {

Result<std::optional<Order>> SqlStore::findOrder(OrderId order, Deadline deadline) {
  return answer(Use::Read, "find order", deadline, [&](Session& session) -> Result<std::optional<Order>> {
    auto rows = selectOrders(session, Text("WHERE id = ") << order);
    return rows.empty() ? std::nullopt : std::optional(rows.front());
  });
}

Result<std::vector<Order>> SqlStore::findOrders(std::span<const OrderId> orders, Deadline deadline) {
  if (const auto fault = faultOfPage(orders.size()))
    return {ErrorCode::InvalidArgument, "find orders: " + *fault};
  if (orders.empty()) return std::vector<Order>();
  return answer(Use::Read, "find orders", deadline, [&](Session& session) -> Result<std::vector<Order>> {
    return selectOrders(session, Text("WHERE id IN ").list(orders));
  });
}

Result<std::vector<Order>> SqlStore::listOrders(VoucherId voucher, UserId user,
                                                std::optional<OrderStatus> status, OrderId after,
                                                std::size_t max, Deadline deadline) {
  if (const auto fault = faultOfPage(max)) return {ErrorCode::InvalidArgument, "list orders: " + *fault};
  Text where("WHERE voucher_id = ");
  where << voucher;
  // A user has few orders: found by the unique key and sorted. "id + 0" keeps the planner from walking the
  // voucher by id instead.
  const std::string_view byId = user.valid() ? "id + 0" : "id";
  if (user.valid()) where << " AND user_id = " << user;
  if (status) where << " AND status = " << static_cast<std::int64_t>(*status);
  where << " AND " << byId << " > " << after << " ORDER BY " << byId << " LIMIT "
        << static_cast<std::int64_t>(max);
  return answer(Use::Read, "list orders", deadline,
                [&](Session& session) -> Result<std::vector<Order>> { return selectOrders(session, where); });
}

namespace {

void selectChanged(Session& session, const Text& where, std::size_t max, std::vector<OrderId>& ids) {
  Rows<1> rows(session, Text("SELECT id FROM orders WHERE ")
                            << where.str() << " LIMIT " << static_cast<std::int64_t>(max));
  while (rows.next()) {
    ids.emplace_back(rows.number(0));
  }
}

// Two statements, because not every planner finds a pair of columns by index: the rest of the instant at
// which the page before ended, then the instants behind it. The index on updated_at ends in the id.
std::vector<OrderId> selectRecentIds(Session& session, UtcTime since, ChangePoint after, std::size_t max) {
  std::vector<OrderId> ids;
  Text later("updated_at >= ");
  later << since;
  if (after.order.valid()) {
    selectChanged(session, Text("updated_at = ") << after.at << " AND id > " << after.order << " ORDER BY id",
                  max, ids);
    later << " AND updated_at > " << after.at;
  }
  if (ids.size() < max) {
    selectChanged(session, later << " ORDER BY updated_at, id", max - ids.size(), ids);
  }
  return ids;
}

std::optional<std::int64_t> newestChange(Session& session) {
  Rows<1> rows(session, Text("SELECT MAX(updated_at) FROM orders"));
  if (!rows.next() || rows.isNull(0)) return std::nullopt;
  return rows.number(0);
}

}  // namespace

Result<std::vector<Order>> SqlStore::recentOrders(milliseconds window, ChangePoint after, std::size_t max,
                                                  Deadline deadline) {
  if (const auto fault = faultOfPage(max))
    return {ErrorCode::InvalidArgument, "list recent orders: " + *fault};
  return answer(Use::Read, "list recent orders", deadline,
                [&](Session& session) -> Result<std::vector<Order>> {
                  const auto newest = newestChange(session);
                  if (!newest) return std::vector<Order>();
                  const auto ids = selectRecentIds(session, fromMillis(*newest) - window, after, max);
                  if (ids.empty()) return std::vector<Order>();
                  return selectOrders(session, Text("WHERE id IN ").list(ids) << " ORDER BY updated_at, id");
                });
}

}  // namespace sluice::sql
