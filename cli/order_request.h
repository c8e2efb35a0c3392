// The HTTP requests that the demo and its crowd send, as bytes.
#pragma once

#include <cstdint>
#include <string>

#include "sluice/ids.h"

namespace sluice::cli {

// One piece of a voucher for a user.
[[nodiscard]] std::string orderRequest(std::uint16_t port, VoucherId voucher, UserId user);
// A POST of an operator to a path below /admin/v1.
[[nodiscard]] std::string adminRequest(std::uint16_t port, const std::string& path, const std::string& token,
                                       const std::string& body);

}  // namespace sluice::cli
