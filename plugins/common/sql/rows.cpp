// See rows.h.
#include "rows.h"

namespace sluice::sql {

std::vector<Order> selectOrders(Session& session, const Text& tail) {
  Rows<11> rows(
      session,
      Text("SELECT id, user_id, voucher_id, quantity, status, reason, admitted_at, stored_at, updated_at, "
           "pay_by, released_at FROM orders ")
          << tail.str());
  std::vector<Order> orders;
  while (rows.next()) {
    Order& order = orders.emplace_back();
    order.id = OrderId(rows.number(0));
    order.user = UserId(rows.number(1));
    order.voucher = VoucherId(rows.number(2));
    order.quantity = rows.small(3);
    order.status = static_cast<OrderStatus>(rows.number(4));  // in range: the schema checks it
    order.reason = static_cast<DeadReason>(rows.number(5));
    order.admittedAt = rows.time(6);
    order.storedAt = rows.time(7);
    order.updatedAt = rows.time(8);
    order.payBy = rows.optionalTime(9);
    order.releasedAt = rows.optionalTime(10);
  }
  return orders;
}

std::vector<Voucher> selectVouchers(Session& session, const Text& tail) {
  Rows<9, 1> rows(session,
                  Text("SELECT id, version, begin_at, end_at, limit_per_user, allocated, remaining, state, "
                       "eligible_only, title FROM vouchers ")
                      << tail.str());
  std::vector<Voucher> vouchers;
  while (rows.next()) {
    Voucher& voucher = vouchers.emplace_back();
    voucher.id = VoucherId(rows.number(0));
    voucher.version = rows.number(1);
    voucher.settings.begin = rows.time(2);
    voucher.settings.end = rows.time(3);
    voucher.settings.limitPerUser = rows.small(4);
    voucher.settings.allocated = rows.number(5);
    voucher.remaining = rows.number(6);
    voucher.settings.state = static_cast<VoucherState>(rows.number(7));
    voucher.settings.eligibleOnly = rows.number(8) != 0;
    voucher.settings.title = rows.text(0);
  }
  return vouchers;
}

std::vector<ProcessLease> selectProcesses(Session& session, const Text& tail) {
  Rows<3, 2> rows(session, Text("SELECT number, since, expires_at, name, token FROM processes ")
                               << tail.str());
  std::vector<ProcessLease> leases;
  while (rows.next()) {
    leases.push_back({rows.small(0), rows.text(0), rows.text(1), rows.time(1), rows.time(2)});
  }
  return leases;
}

}  // namespace sluice::sql
