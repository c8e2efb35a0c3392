// What users and operators do with one order: find, cancel, pay, refund.
#include "sluice/order_id.h"

#include "lifecycle/release.h"

namespace sluice {
namespace {

constexpr std::string_view kQueued = "queued";

OrderView viewOf(const Order& row) {
  return {row.id, row.voucher, row.user, row.quantity, orderStatusName(row.status), false, row};
}

// One text for an order that does not exist and for another user's.
Error notFound(OrderId order) { return {ErrorCode::NotFound, "there is no order " + order.text()}; }

// For people: what the row is, and what can be done instead.
Error cannot(std::string_view verb, const Order& row, std::string_view instead) {
  std::string text = "order " + row.id.text() + " is " + std::string(orderStatusName(row.status));
  if (row.reason != DeadReason::None) text += " (" + std::string(deadReasonName(row.reason)) + ")";
  return {ErrorCode::Conflict, text + " and cannot be " + std::string(verb) + "; " + std::string(instead)};
}

Error cannotCancel(const Order& row) {
  switch (row.status) {
    case OrderStatus::Paid:
      return cannot("cancelled", row, "an operator can refund it");
    case OrderStatus::Refunded:
      return cannot("cancelled", row, "its stock is back already");
    default:
      return cannot("cancelled", row, "it holds nothing");
  }
}

Error cannotPay(const Order& row) { return cannot("paid", row, "its stock was given back"); }

Error cannotRefund(const Order& row) {
  const bool unpaid = row.status == OrderStatus::PendingPayment;
  return cannot("refunded", row, unpaid ? "cancel it" : "only a paid order can");
}

// A hold does not keep the instant of its admission; the order id does, to the millisecond.
Admission admissionOf(const OrderView& view) {
  if (view.row) return lifecycle::admissionOf(*view.row);
  return {view.id, view.user, view.voucher, view.quantity, splitOrderId(view.id).issuedAt};
}

}  // namespace

Result<std::optional<OrderView>> Orders::findStored(OrderId order, UserId user, Deadline deadline) {
  const auto row = parts_.store.findOrder(order, deadline);
  if (!row) return row.error();
  if (!row.value()) return std::optional<OrderView>();
  if (user.valid() && row.value()->user != user) return notFound(order);
  return std::optional(viewOf(*row.value()));
}

Result<std::optional<OrderView>> Orders::findHeld(OrderId order, VoucherId voucher, UserId user,
                                                  Deadline deadline) {
  if (!voucher.valid() || !user.valid()) return std::optional<OrderView>();
  const auto holds = parts_.qualifier.holdsOf(voucher, user, deadline);
  if (!holds) return holds.error();
  for (const Hold& hold : holds.value()) {
    if (hold.order != order) continue;
    return std::optional(OrderView{order, voucher, user, hold.quantity, kQueued, false, std::nullopt});
  }
  return std::optional<OrderView>();
}

// Neither row nor hold. That is "not found" only where Redis can know: a voucher that it lost may have orders
// in the queue.
Error Orders::missing(OrderId order, VoucherId voucher, UserId user, Deadline deadline) {
  if (!user.valid() || !voucher.valid()) {
    return {ErrorCode::NotFound,
            "order " + order.text() +
                " is not stored; to find it while it is queued, name its voucher and its user"};
  }
  const auto snapshot = parts_.qualifier.snapshot(voucher, deadline);
  if (!snapshot) return snapshot.error();
  if (snapshot.value().loaded) return notFound(order);
  const auto stored = parts_.store.findVoucher(voucher, deadline);
  if (!stored) return stored.error();
  const UtcTime now = parts_.clock.now();
  const bool mayBeQueued = stored.value() && stored.value()->settings.begin <= now &&
                           now < stored.value()->settings.end + limits::kKeyRetention;
  if (!mayBeQueued) return notFound(order);
  return {ErrorCode::Unavailable, "order " + order.text() + " is not stored, and voucher " + voucher.text() +
                                      " is not in Redis: whether the order is queued cannot be told now"};
}

Result<OrderView> Orders::find(OrderId order, VoucherId voucher, UserId user, Deadline deadline) {
  auto stored = findStored(order, user, deadline);
  if (!stored) return stored.error();
  if (stored.value()) return *std::move(stored).take();
  auto held = findHeld(order, voucher, user, deadline);
  if (!held) return held.error();
  if (held.value()) return *std::move(held).take();
  // Between the two looks the order may have been stored, cancelled and released: then the store has its row
  // now.
  stored = findStored(order, user, deadline);
  if (!stored) return stored.error();
  if (stored.value()) return *std::move(stored).take();
  return missing(order, voucher, user, deadline);
}

Result<OrderView> Orders::cancel(OrderId order, VoucherId voucher, UserId user, DeadReason reason,
                                 Deadline deadline) {
  const auto found = find(order, voucher, user, deadline);
  if (!found) return found.error();
  // Without a row this inserts the dead one (R3), with a row it is a compare-and-set; whoever came first is
  // in the answer.
  const auto change = parts_.store.cancel({admissionOf(found.value()), reason}, parts_.clock.now(), deadline);
  if (!change) return change.error();
  const Order& row = change.value().order;
  if (row.status != OrderStatus::Cancelled) return cannotCancel(row);
  lifecycle::releaseNow(parts_, row, deadline);
  return viewOf(row);
}

Result<OrderView> Orders::pay(OrderId order, UserId user, Deadline deadline) {
  if (!user.valid()) return {ErrorCode::InvalidArgument, "name the user who pays"};
  const auto stored = findStored(order, user, deadline);
  if (!stored) return stored.error();
  if (!stored.value()) {
    Error error = notFound(order);
    error.text += ", or it is still queued: pay once its status is pending_payment";
    return error;
  }
  const auto change = parts_.store.pay(order, parts_.clock.now(), deadline);
  if (!change) return change.error();
  const Order& row = change.value().order;
  return row.status == OrderStatus::Paid ? Result(viewOf(row)) : cannotPay(row);
}

Result<OrderView> Orders::refund(OrderId order, Deadline deadline) {
  const auto change = parts_.store.refund(order, parts_.clock.now(), deadline);
  if (!change) return change.error();
  const Order& row = change.value().order;
  if (row.status != OrderStatus::Refunded) return cannotRefund(row);
  lifecycle::releaseNow(parts_, row, deadline);
  return viewOf(row);
}

}  // namespace sluice
