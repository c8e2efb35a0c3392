// Checks given settings against a table and keeps the values that came out.
#include "sluice/options.h"

#include <algorithm>
#include <stdexcept>

#include "sluice/printable.h"

#include "config/option_value.h"
#include "config/secret_file.h"

namespace sluice {

namespace {

using Given = std::map<std::string, std::string>;

constexpr std::string_view kFileSuffix = ".file";

// What a table gives when nothing is said. An empty text where the option is required, so that the map is
// complete all the same.
Result<OptionValue> defaultOf(const OptionSpec& spec) {
  if (spec.defaultValue == nullptr) return OptionValue{};
  const bool unset =
      *spec.defaultValue == '\0' && (spec.type == OptionType::Text || spec.type == OptionType::Path);
  return unset ? OptionValue{} : readOptionValue(spec, spec.defaultValue);
}

// A secret is given by itself or by the name of its file.
Result<OptionValue> readSecret(const OptionSpec& spec, const Given& given) {
  const auto path = given.find(spec.key + std::string(kFileSuffix));
  const auto direct = given.find(spec.key);
  if (path == given.end()) return readOptionValue(spec, direct->second);
  if (direct != given.end()) {
    return {ErrorCode::Misconfigured, "is given itself and by " + path->first + "; keep one of the two"};
  }
  const Result<std::string> content = readSecretFile(path->second);
  return content ? readOptionValue(spec, content.value()) : content.error();
}

class TableCheck {
 public:
  TableCheck(std::span<const OptionSpec> table, const Given& given, std::string_view prefix,
             std::vector<ConfigFault>& faults)
      : table_(table), given_(given), prefix_(prefix), faults_(faults) {}

  OptionValue read(const OptionSpec& spec) {
    Result<OptionValue> fallback = defaultOf(spec);
    if (!fallback) add(spec.key, "default: " + fallback.error().text);
    const bool byFile = spec.secret && given_.contains(spec.key + std::string(kFileSuffix));
    if (byFile || given_.contains(spec.key)) {
      Result<OptionValue> value =
          spec.secret ? readSecret(spec, given_) : readOptionValue(spec, given_.at(spec.key));
      if (value) return std::move(value).take();
      add(byFile ? spec.key + std::string(kFileSuffix) : spec.key, value.error().text);
    } else if (spec.defaultValue == nullptr) {
      add(spec.key, "must be given: " + expectedValue(spec));
    }
    return fallback ? std::move(fallback).take() : OptionValue{};
  }

  void reportUnknown() {
    const std::vector<std::string> names = knownKeys();
    for (const auto& [key, value] : given_) {
      if (std::find(names.begin(), names.end(), key) != names.end()) continue;
      const std::string nearest = nearestName(key, names);
      add(key, nearest.empty() ? "unknown key" : "unknown key; did you mean " + prefix_ + nearest + "?");
    }
  }

 private:
  void add(const std::string& key, std::string text) {
    faults_.push_back({prefix_ + printable(key, 200), std::move(text)});
  }

  [[nodiscard]] std::vector<std::string> knownKeys() const {
    std::vector<std::string> names;
    for (const OptionSpec& spec : table_) {
      names.emplace_back(spec.key);
      if (spec.secret) names.push_back(spec.key + std::string(kFileSuffix));
    }
    return names;
  }

  std::span<const OptionSpec> table_;
  const Given& given_;
  std::string prefix_;
  std::vector<ConfigFault>& faults_;
};

[[noreturn]] void wrongType(std::string_view key, std::string_view wanted) {
  throw std::logic_error("option " + std::string(key) + " is not declared as " + std::string(wanted));
}

}  // namespace

OptionMap checkOptions(std::span<const OptionSpec> table, const std::map<std::string, std::string>& given,
                       std::string_view prefix, std::vector<ConfigFault>& faults) {
  OptionMap map;
  TableCheck check(table, given, prefix, faults);
  for (const OptionSpec& spec : table) {
    OptionValue value = check.read(spec);
    map.values_.insert_or_assign(
        spec.key, OptionMap::Value{spec.type, spec.secret, value.number, std::move(value.text)});
  }
  check.reportUnknown();
  return map;
}

const OptionMap::Value& OptionMap::find(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw std::logic_error("option " + std::string(key) + " is not declared");
  return found->second;
}

bool OptionMap::boolean(std::string_view key) const {
  const Value& value = find(key);
  if (value.type != OptionType::Boolean) wrongType(key, "a boolean");
  return value.number != 0;
}

std::int64_t OptionMap::integer(std::string_view key) const {
  const Value& value = find(key);
  if (value.type != OptionType::Integer && value.type != OptionType::Size)
    wrongType(key, "an integer or size");
  return value.number;
}

milliseconds OptionMap::duration(std::string_view key) const {
  const Value& value = find(key);
  if (value.type != OptionType::Duration) wrongType(key, "a duration");
  return milliseconds(value.number);
}

const std::string& OptionMap::text(std::string_view key) const {
  const Value& value = find(key);
  const bool textual =
      value.type == OptionType::Text || value.type == OptionType::Path || value.type == OptionType::Choice;
  if (!textual) wrongType(key, "text, path or choice");
  return value.text;
}

std::vector<std::pair<std::string, std::string>> OptionMap::display() const {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [key, value] : values_) {
    lines.emplace_back(key, value.secret && !value.text.empty() ? "***" : value.text);
  }
  return lines;
}

}  // namespace sluice
