// Reads booleans, numbers with and without units, choices and texts; every refusal says what would be right.
#include "config/option_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sluice/printable.h"

namespace sluice {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array<Unit, 1> kNoUnits = {{{"", 1}}};
constexpr std::array<Unit, 4> kDurationUnits = {{{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
constexpr std::array<Unit, 4> kSizeUnits = {
    {{"", 1}, {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024}}};

std::span<const Unit> unitsOf(OptionType type) noexcept {
  if (type == OptionType::Duration) return kDurationUnits;
  if (type == OptionType::Size) return kSizeUnits;
  return kNoUnits;
}

bool isNumber(OptionType type) noexcept {
  return type == OptionType::Integer || type == OptionType::Duration || type == OptionType::Size;
}

std::optional<std::int64_t> readNumber(OptionType type, std::string_view written) noexcept {
  std::int64_t number = 0;
  const char* end = written.data() + written.size();
  const auto [rest, error] = std::from_chars(written.data(), end, number);
  if (error != std::errc() || (type != OptionType::Integer && number < 0)) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& known : unitsOf(type)) {
    if (known.name != unit) continue;
    if (number > std::numeric_limits<std::int64_t>::max() / known.factor) return std::nullopt;
    return number * known.factor;
  }
  return std::nullopt;
}

struct Bounds {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// "1..10", "1..", "..10"; nothing where the table itself is malformed.
std::optional<Bounds> readBounds(OptionType type, std::string_view range) noexcept {
  Bounds bounds;
  if (range.empty()) return bounds;
  const std::size_t dots = range.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto readSide = [type](std::string_view side, std::int64_t& bound) {
    if (side.empty()) return true;
    const auto number = readNumber(type, side);
    if (number) bound = *number;
    return number.has_value();
  };
  const bool sound =
      readSide(range.substr(0, dots), bounds.least) && readSide(range.substr(dots + 2), bounds.most);
  return sound ? std::optional(bounds) : std::nullopt;
}

std::vector<std::string> choicesOf(std::string_view range) {
  std::vector<std::string> choices;
  for (std::size_t begin = 0; begin <= range.size();) {
    const std::size_t end = std::min(range.find('|', begin), range.size());
    choices.emplace_back(range.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

Error refused(std::string text) { return {ErrorCode::Misconfigured, std::move(text)}; }

std::string shown(const OptionSpec& spec, std::string_view written) {
  return spec.secret ? "the value" : "'" + printable(written) + "'";
}

Error malformedTable(const OptionSpec& spec) {
  return refused("the range '" + printable(spec.range) +
                 "' of its table is malformed: a defect of the program or plugin");
}

Result<OptionValue> readBoolean(const OptionSpec& spec, std::string_view written) {
  for (const std::string_view yes : {"true", "on", "yes"}) {
    if (written == yes) return OptionValue{1, "true"};
  }
  for (const std::string_view no : {"false", "off", "no"}) {
    if (written == no) return OptionValue{0, "false"};
  }
  return refused(shown(spec, written) + " is neither true nor false; write true, false, on, off, yes or no");
}

std::string examplesOf(OptionType type) {
  if (type == OptionType::Duration) return "250ms, 10s, 5m or 2h";
  return type == OptionType::Size ? "4096, 64KiB, 16MiB or 1GiB" : "decimal digits";
}

Result<OptionValue> readRanged(const OptionSpec& spec, std::string_view written) {
  const auto bounds = readBounds(spec.type, spec.range);
  if (!bounds) return malformedTable(spec);
  const auto number = readNumber(spec.type, written);
  if (!number) {
    return refused(shown(spec, written) + " is not " + expectedValue(spec) + "; write " +
                   examplesOf(spec.type));
  }
  if (*number < bounds->least || *number > bounds->most) {
    return refused(shown(spec, written) + " is outside " + spec.range);
  }
  return OptionValue{*number, std::string(written)};
}

Result<OptionValue> readChoice(const OptionSpec& spec, std::string_view written) {
  const std::vector<std::string> choices = choicesOf(spec.range);
  if (std::find(choices.begin(), choices.end(), written) != choices.end())
    return OptionValue{0, std::string(written)};
  const std::string nearest = nearestName(written, choices);
  return refused(shown(spec, written) + " is not " + expectedValue(spec) +
                 (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

Result<OptionValue> readText(const OptionSpec& spec, std::string_view written) {
  const auto bounds = readBounds(OptionType::Integer, spec.range);
  if (!bounds) return malformedTable(spec);
  if (!isPrintable(written))
    return refused("the value has control characters or is not UTF-8; write plain text");
  if (static_cast<std::int64_t>(written.size()) > bounds->most) {
    return refused("the value is longer than " + std::to_string(bounds->most) + " bytes");
  }
  return OptionValue{0, std::string(written)};
}

}  // namespace

Result<OptionValue> readOptionValue(const OptionSpec& spec, std::string_view written) {
  if (spec.type == OptionType::Boolean) return readBoolean(spec, written);
  if (spec.type == OptionType::Choice) return readChoice(spec, written);
  if (isNumber(spec.type)) return readRanged(spec, written);
  return readText(spec, written);
}

std::string expectedValue(const OptionSpec& spec) {
  const std::string range = spec.range;
  const std::string within = range.empty() ? "" : ", " + range;
  switch (spec.type) {
    case OptionType::Boolean:
      return "true or false";
    case OptionType::Integer:
      return "a whole number" + within;
    case OptionType::Duration:
      return "a duration" + within;
    case OptionType::Size:
      return "a size" + within;
    case OptionType::Path:
      return "a path";
    case OptionType::Text:
      return range.empty() ? "text" : "text, at most " + range.substr(range.find("..") + 2) + " bytes";
    case OptionType::Choice:
      break;
  }
  std::string list = "one of ";
  for (const std::string& choice : choicesOf(range)) {
    list += choice + ", ";
  }
  return list.substr(0, list.size() - 2);
}

}  // namespace sluice
