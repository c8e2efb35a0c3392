// Text for people: tables, instants, counts; and the reading of what people write for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice::cli {

// Rows under a headline, columns padded to their widest cell; columns that hold only numbers are set to the
// right.
class Table {
 public:
  explicit Table(std::vector<std::string> headline);
  void add(std::vector<std::string> cells);  // as many as the headline has
  [[nodiscard]] bool empty() const noexcept { return rows_.size() == 1; }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// An instant of RFC 3339 in UTC ("2026-11-11T00:00:00Z"), "now", or relative to `now`: +90s, +10m, +2h, +3d,
// -1h.
[[nodiscard]] Result<UtcTime> parseInstant(std::string_view text, UtcTime now);

// 1234567 as "1,234,567".
[[nodiscard]] std::string countText(std::int64_t number);

}  // namespace sluice::cli
