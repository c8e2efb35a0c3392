// An order on its way (Admission) and at its end (Order).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/ids.h"
#include "sluice/result.h"

namespace sluice {

// An admitted request: what the journal holds and the queue carries.
struct Admission {
  OrderId order;
  UserId user;
  VoucherId voucher;
  std::int32_t quantity = 1;  // pieces
  UtcTime admittedAt;
  friend bool operator==(const Admission&, const Admission&) = default;
};

// One packed, versioned field: "1 <order> <user> <voucher> <quantity> <admitted at, ms>", decimal, one space
// between. The qualify script writes the same form. decode answers Corrupt with the reason for anything else.
[[nodiscard]] std::string encodeAdmission(const Admission& admission);
[[nodiscard]] Result<Admission> decodeAdmission(std::string_view packed);

// Live: PendingPayment, Paid. Dead: Rejected, Cancelled, Refunded.
enum class OrderStatus : std::uint8_t {
  PendingPayment = 1,
  Paid = 2,
  Rejected = 3,
  Cancelled = 4,
  Refunded = 5
};

[[nodiscard]] constexpr bool isLive(OrderStatus status) noexcept {
  return status == OrderStatus::PendingPayment || status == OrderStatus::Paid;
}
[[nodiscard]] std::string_view orderStatusName(OrderStatus status) noexcept;  // "pending_payment", ...
[[nodiscard]] std::optional<OrderStatus> parseOrderStatus(std::string_view name) noexcept;

// Why a row is dead. None for live rows.
enum class DeadReason : std::uint8_t {
  None = 0,
  NoStock = 1,     // rejected: fewer pieces left than ordered
  OverLimit = 2,   // rejected: the user's live orders leave no room
  ByUser = 3,      // cancelled by its user
  Unpaid = 4,      // cancelled when its pay-by time passed
  ByOperator = 5,  // cancelled or refunded by an operator
  DeadLetter = 6   // cancelled when its dead letter was dropped
};
[[nodiscard]] std::string_view deadReasonName(DeadReason reason) noexcept;

// A row of the store.
struct Order {
  OrderId id;
  UserId user;
  VoucherId voucher;
  std::int32_t quantity = 1;
  OrderStatus status = OrderStatus::PendingPayment;
  DeadReason reason = DeadReason::None;
  UtcTime admittedAt;
  UtcTime storedAt;
  UtcTime updatedAt;                  // last change of status, or the mark of the release
  std::optional<UtcTime> payBy;       // set while PendingPayment
  std::optional<UtcTime> releasedAt;  // dead rows: when its hold was released
};

}  // namespace sluice
