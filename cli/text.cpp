// See text.h.
#include "cli/text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "server/utc_text.h"

namespace sluice::cli {
namespace {

// Code points, which is what a terminal shows of a title in most scripts.
std::size_t widthOf(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789,.-") == std::string_view::npos;
}

std::optional<milliseconds> parseOffset(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr std::int64_t kDecade = 10LL * 366 * 24 * 3600;
  if (error != std::errc() || number < 0 || number > kDecade || text.data() + text.size() - end != 1) {
    return std::nullopt;
  }
  switch (*end) {
    case 's':
      return std::chrono::seconds(number);
    case 'm':
      return std::chrono::minutes(number);
    case 'h':
      return std::chrono::hours(number);
    case 'd':
      return std::chrono::hours(24 * number);
    default:
      return std::nullopt;
  }
}

}  // namespace

Table::Table(std::vector<std::string> headline) { rows_.push_back(std::move(headline)); }

void Table::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> numeric(columns, rows_.size() > 1);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      widths[column] = std::max(widths[column], widthOf(rows_[row][column]));
      numeric[column] = numeric[column] && (row == 0 || isNumber(rows_[row][column]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::string padding(widths[column] - widthOf(row[column]), ' ');
      line += (column == 0 ? "" : "  ") + (numeric[column] ? padding + row[column] : row[column] + padding);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

Result<UtcTime> parseInstant(std::string_view text, UtcTime now) {
  if (text == "now") {
    return now;
  }
  const bool later = text.starts_with('+');
  const bool relative = later || text.starts_with('-');
  const auto offset = relative ? parseOffset(text.substr(1)) : std::nullopt;
  const auto instant = offset     ? std::optional(later ? now + *offset : now - *offset)
                       : relative ? std::nullopt
                                  : server::parseUtcText(text);
  if (!instant) {
    return {ErrorCode::InvalidArgument,
            "'" + std::string(text) +
                "' is not an instant; write it in UTC like 2026-11-11T00:00:00Z, or relative to "
                "now like +90s, +10m, +2h, +3d, -1h, or now"};
  }
  return *instant;
}

std::string countText(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace sluice::cli
