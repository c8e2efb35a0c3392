// Pages of listings: `after` (the last id of the page before) and `limit`, never an offset.
#pragma once

#include <cstddef>
#include <string_view>

#include "server_limits.h"
#include "service.h"

namespace sluice::server {

struct Page {
  std::string_view after;  // empty: from the start
  std::size_t limit = limits::kPageDefault;
};

// Reads ?after=…&limit=…; false: the answer is the refusal.
[[nodiscard]] bool readPage(Call& call, Page& page);
// As readPage, with `after` a voucher's id.
[[nodiscard]] bool readVoucherPage(Call& call, VoucherId& after, std::size_t& limit);

}  // namespace sluice::server
