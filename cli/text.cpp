// See text.h.
#include "cli/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

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

// Exactly `count` digits at the front of `text`, which loses them; nothing where they are not there.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  int value = 0;
  const auto end = text.data() + std::min(count, text.size());
  if (text.size() < count || std::from_chars(text.data(), end, value).ptr != end || text.front() == '-') {
    return std::nullopt;
  }
  text.remove_prefix(count);
  return value;
}

bool literal(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) {
    return false;
  }
  text.remove_prefix(expected.size());
  return true;
}

std::optional<UtcTime> parseRfc3339(std::string_view text) {
  std::array<int, 6> parts{};
  constexpr std::array<std::size_t, 6> kWidths{4, 2, 2, 2, 2, 2};
  constexpr std::array<std::string_view, 6> kBehind{"-", "-", "T", ":", ":", ""};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto value = digits(text, kWidths[part]);
    if (!value || !literal(text, kBehind[part])) {
      return std::nullopt;
    }
    parts[part] = *value;
  }
  int millis = 0;
  if (literal(text, ".")) {
    const auto value = digits(text, 3);
    if (!value) {
      return std::nullopt;
    }
    millis = *value;
  }
  const std::chrono::year_month_day day{std::chrono::year(parts[0]),
                                        std::chrono::month(static_cast<unsigned>(parts[1])),
                                        std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (text != "Z" || !day.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) {
    return std::nullopt;
  }
  return UtcTime(std::chrono::sys_days(day)) + std::chrono::hours(parts[3]) + std::chrono::minutes(parts[4]) +
         std::chrono::seconds(parts[5]) + milliseconds(millis);
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

std::string instantText(UtcTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<milliseconds> clock(time - day);
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  std::string text = buffer.data();
  if (clock.subseconds().count() != 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%03d", static_cast<int>(clock.subseconds().count()));
    text += buffer.data();
  }
  return text + "Z";
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
                                  : parseRfc3339(text);
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

std::string printable(std::string_view text, std::size_t max) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4u], kHex[byte & 0xfu]};
    }
  }
  return text.size() > max ? out + "..." : out;
}

}  // namespace sluice::cli
