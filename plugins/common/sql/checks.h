// Checks of arguments before any of them reaches a statement. Each answers nothing where the value is sound.
#pragma once

#include <optional>
#include <string>

#include "sluice/limits.h"
#include "sluice/order.h"

namespace sluice::sql {

[[nodiscard]] inline std::optional<std::string> faultOf(const Admission& admission) {
  if (!admission.order.valid() || !admission.user.valid() || !admission.voucher.valid()) {
    return "ids of order, user and voucher must be positive";
  }
  if (admission.quantity < 1 || admission.quantity > limits::kQuantityMax) {
    return "quantity must be 1 to " + std::to_string(limits::kQuantityMax);
  }
  return std::nullopt;
}

// Of the length of a page or list.
[[nodiscard]] inline std::optional<std::string> faultOfPage(std::size_t max) {
  if (max <= limits::kPageMax) return std::nullopt;
  return "at most " + std::to_string(limits::kPageMax) + " at one time";
}

}  // namespace sluice::sql
