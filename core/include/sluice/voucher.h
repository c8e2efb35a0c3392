// What is sold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/ids.h"

namespace sluice {

enum class VoucherState : std::uint8_t { OnSale, Paused, Closed };

[[nodiscard]] std::string_view voucherStateName(
    VoucherState state) noexcept;  // "on_sale", "paused", "closed"
[[nodiscard]] std::optional<VoucherState> parseVoucherState(std::string_view name) noexcept;

// The settings of a voucher, decided by an operator. Window is [begin, end). `allocated` counts pieces ever
// put on sale.
struct VoucherSettings {
  std::string title;  // at most limits::kTitleBytesMax bytes of UTF-8, no control characters
  UtcTime begin;
  UtcTime end;
  std::int32_t limitPerUser = 1;  // pieces over a user's live orders, 1 .. limits::kLimitPerUserMax
  std::int64_t allocated = 0;     // pieces, 0 .. limits::kAllocatedMax
  VoucherState state = VoucherState::OnSale;
  bool eligibleOnly = false;  // only users listed as eligible may order
};

// A voucher as the store knows it. `remaining` = allocated - pieces of live rows. `version` rises with every
// change of settings.
struct Voucher {
  VoucherId id;
  VoucherSettings settings;
  std::int64_t version = 1;
  std::int64_t remaining = 0;
};

// Nothing if the settings are sound, else a text that names every fault.
[[nodiscard]] std::optional<std::string> faultOf(const VoucherSettings& settings);

}  // namespace sluice
