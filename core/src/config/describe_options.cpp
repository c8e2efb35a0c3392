// Writes an option table as Markdown; the reference page and `plugins describe` show nothing else.
#include "sluice/options.h"

#include "config/option_value.h"

namespace sluice {

namespace {

// A bar would end the table's cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char each : text) {
    if (each == '|') out += '\\';
    out += each;
  }
  return out;
}

std::string defaultText(const OptionSpec& spec) {
  if (spec.defaultValue == nullptr) return "must be given";
  return *spec.defaultValue == '\0' ? "empty" : "`" + cell(spec.defaultValue) + "`";
}

}  // namespace

std::string describeOptions(std::span<const OptionSpec> table, std::string_view prefix) {
  if (table.empty()) return "No options.\n";
  std::string out = "| key | value | default | what it does |\n|---|---|---|---|\n";
  for (const OptionSpec& spec : table) {
    out += "| `" + std::string(prefix) + spec.key + "` | " + (spec.secret ? "secret " : "") +
           cell(expectedValue(spec)) + " | " + defaultText(spec) + " | " + cell(spec.text) + " |\n";
  }
  return out;
}

}  // namespace sluice
