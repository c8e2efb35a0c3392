// RFC 3339 instants over the calendar of <chrono>.
#include "utc_text.h"

#include <array>
#include <cstdio>

namespace sluice::server {

namespace {

// Reads exactly `count` digits at `at`; -1 where there are others.
int digits(std::string_view text, std::size_t at, std::size_t count) noexcept {
  int number = 0;
  for (std::size_t k = at; k < at + count; ++k) {
    if (k >= text.size() || text[k] < '0' || text[k] > '9') return -1;
    number = number * 10 + (text[k] - '0');
  }
  return number;
}

// ".5" is 500 ms; -1 where it is not one to three digits behind a point.
int fraction(std::string_view text) noexcept {
  if (text.size() < 2 || text.size() > 4 || text.front() != '.') return -1;
  const int number = digits(text, 1, text.size() - 1);
  constexpr std::array<int, 3> kScale = {100, 10, 1};
  return number < 0 ? -1 : number * kScale[text.size() - 2];
}

}  // namespace

std::string utcText(UtcTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 64> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::optional<UtcTime> parseUtcText(std::string_view text) noexcept {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  if (text.size() < kShape.size() + 1 || text.back() != 'Z') return std::nullopt;
  for (const std::size_t at : {4u, 7u, 10u, 13u, 16u}) {
    if (text[at] != kShape[at]) return std::nullopt;
  }
  const int year = digits(text, 0, 4);
  const int month = digits(text, 5, 2);
  const int day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  const std::string_view rest = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  const int millis = rest.empty() ? 0 : fraction(rest);
  if (year < 1970 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 59 || millis < 0) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return UtcTime(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                 std::chrono::minutes(minute) + std::chrono::seconds(second) + milliseconds(millis));
}

}  // namespace sluice::server
