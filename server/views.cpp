// The members of each JSON text.
#include "views.h"

namespace sluice::server {

namespace {

void writeIdentity(JsonWriter& json, OrderId order, VoucherId voucher, UserId user, std::int32_t quantity) {
  json.key("orderId")
      .id(order)
      .key("voucherId")
      .id(voucher)
      .key("userId")
      .id(user)
      .member("quantity", quantity);
}

void writeTime(JsonWriter& json, std::string_view name, const std::optional<UtcTime>& time) {
  if (time) json.key(name).time(*time);
}

void writeRow(JsonWriter& json, const Order& order) {
  if (order.reason != DeadReason::None) json.member("reason", deadReasonName(order.reason));
  json.key("admittedAt").time(order.admittedAt);
  json.key("storedAt").time(order.storedAt);
  json.key("updatedAt").time(order.updatedAt);
  writeTime(json, "payBy", order.payBy);
  writeTime(json, "releasedAt", order.releasedAt);
}

void writeVoucherMembers(JsonWriter& json, const Voucher& voucher) {
  const VoucherSettings& settings = voucher.settings;
  json.key("voucherId").id(voucher.id).member("title", settings.title);
  json.key("begin").time(settings.begin).key("end").time(settings.end);
  json.member("state", voucherStateName(settings.state)).member("limitPerUser", settings.limitPerUser);
  json.flag("eligibleOnly", settings.eligibleOnly).member("allocated", settings.allocated);
  json.member("remaining", voucher.remaining).member("version", voucher.version);
}

void writeSnapshot(JsonWriter& json, const VoucherSnapshot& snapshot) {
  json.flag("loaded", snapshot.loaded);
  if (!snapshot.loaded) return;
  json.member("stock", snapshot.stock).member("held", snapshot.held).member("holders", snapshot.holders);
}

void writeVoucherAudit(JsonWriter& json, const VoucherAudit& audit) {
  json.beginObject()
      .key("voucherId")
      .id(audit.voucher)
      .member("title", audit.title)
      .flag("loaded", audit.loaded);
  json.member("allocated", audit.allocated).member("stock", audit.stock).member("held", audit.held);
  json.member("remaining", audit.remaining).member("livePieces", audit.livePieces).member("rows", audit.rows);
  json.member("waiting", audit.waiting).member("deadLettered", audit.deadLettered).member("lost", audit.lost);
  json.member("countedAdmissions", audit.countedAdmissions)
      .member("unaccounted", audit.unaccounted)
      .endObject();
}

}  // namespace

void writeOrder(JsonWriter& json, const Order& order) {
  json.beginObject();
  writeIdentity(json, order.id, order.voucher, order.user, order.quantity);
  json.member("status", orderStatusName(order.status));
  writeRow(json, order);
  json.endObject();
}

void writeOrderView(JsonWriter& json, const OrderView& view) {
  json.beginObject();
  writeIdentity(json, view.id, view.voucher, view.user, view.quantity);
  json.member("status", view.status);
  if (view.delayed) json.flag("delayed", true);
  if (view.row) writeRow(json, *view.row);
  json.endObject();
}

void writeVoucher(JsonWriter& json, const Voucher& voucher) {
  json.beginObject();
  writeVoucherMembers(json, voucher);
  json.endObject();
}

void writeVoucherView(JsonWriter& json, const VoucherView& view) {
  json.beginObject();
  writeVoucherMembers(json, view.voucher);
  if (view.snapshot) {
    writeSnapshot(json, *view.snapshot);
  } else {
    json.key("loaded").null();
  }
  json.endObject();
}

void writeDeadLetter(JsonWriter& json, const DeadLetter& letter) {
  json.beginObject().member("id", letter.id);
  if (letter.admission) {
    const Admission& admission = *letter.admission;
    writeIdentity(json, admission.order, admission.voucher, admission.user, admission.quantity);
    json.key("admittedAt").time(admission.admittedAt);
  }
  json.member("bytes", letter.bytes)
      .member("reason", letter.reason)
      .member("deliveries", letter.deliveries)
      .member("failures", letter.failures);
  json.key("deadAt").time(letter.deadAt).endObject();
}

void writeDeadSweep(JsonWriter& json, const DeadSweep& sweep) {
  json.member("matched", static_cast<std::int64_t>(sweep.matched))
      .member("done", static_cast<std::int64_t>(sweep.done))
      .member("failed", static_cast<std::int64_t>(sweep.failed));
  if (sweep.failed > 0) json.member("firstFailure", sweep.firstFailure);
  if (sweep.stopped) json.member("stopped", sweep.stopped->text);
  json.flag("more", sweep.more);
  if (sweep.more) json.member("next", sweep.next);
}

void writeAudit(JsonWriter& json, const AuditReport& report) {
  json.beginObject().flag("clean", report.clean()).flag("atRest", report.atRest);
  json.key("violations").beginList();
  for (const Violation& violation : report.violations) {
    json.beginObject().member("invariant", violation.invariant).key("voucherId").id(violation.voucher);
    json.member("text", violation.text).endObject();
  }
  json.endList().key("vouchers").beginList();
  for (const VoucherAudit& voucher : report.vouchers)
    writeVoucherAudit(json, voucher);
  json.endList().key("lost").beginList();
  for (const LostOrder& order : report.lost) {
    json.beginObject();
    writeIdentity(json, order.order, order.voucher, order.user, order.quantity);
    json.endObject();
  }
  json.endList().endObject();
}

}  // namespace sluice::server
