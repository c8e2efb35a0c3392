// JSON texts of what people look at: orders, vouchers, dead letters, the audit. The same for HTTP and the
// command line.
//
// Note:     ids are strings, instants RFC 3339 in UTC. What an order does not have (reason, times) is left
//           out, not null.
#pragma once

#include <string>

#include "sluice/audit.h"
#include "sluice/operations.h"

#include "json_writer.h"

namespace sluice::server {

// Each writes one JSON object.
void writeOrder(JsonWriter& json, const Order& order);
void writeOrderView(JsonWriter& json, const OrderView& view);
void writeVoucher(JsonWriter& json, const Voucher& voucher);
// As writeVoucher, and what Redis has: "loaded", "stock", "held", "holders"; with "loaded": null where Redis
// does not answer.
void writeVoucherView(JsonWriter& json, const VoucherView& view);
void writeDeadLetter(JsonWriter& json, const DeadLetter& letter);
void writeDeadSweep(JsonWriter& json, const DeadSweep& sweep);  // members of an object that is open
void writeAudit(JsonWriter& json, const AuditReport& report);

template <typename T>
[[nodiscard]] std::string jsonText(const T& value, void (*write)(JsonWriter&, const T&)) {
  std::string text;
  JsonWriter json(text);
  write(json, value);
  return text;
}

[[nodiscard]] inline std::string orderJson(const Order& order) { return jsonText(order, writeOrder); }
[[nodiscard]] inline std::string orderViewJson(const OrderView& view) {
  return jsonText(view, writeOrderView);
}
[[nodiscard]] inline std::string voucherJson(const Voucher& voucher) {
  return jsonText(voucher, writeVoucher);
}
[[nodiscard]] inline std::string voucherViewJson(const VoucherView& view) {
  return jsonText(view, writeVoucherView);
}
[[nodiscard]] inline std::string deadLetterJson(const DeadLetter& letter) {
  return jsonText(letter, writeDeadLetter);
}
[[nodiscard]] inline std::string auditJson(const AuditReport& report) { return jsonText(report, writeAudit); }

}  // namespace sluice::server
