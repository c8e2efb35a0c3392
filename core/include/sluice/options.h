// Options: a table that declares each setting once, and the checked values that come from it.
//
// Role:     the program and every plugin declare a constant table. Checking, help, `config show`, `plugins
//           describe` and the reference page all come from it; nothing else describes a setting.
// Threads:  plain values; an OptionMap is read-only after checking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/clock.h"
#include "sluice/result.h"

namespace sluice {

enum class OptionType : std::uint8_t {
  Boolean,   // true, false, on, off, yes, no
  Integer,   // decimal; range "1..65535"
  Duration,  // 250ms, 10s, 5m, 2h; range "1ms..1h"
  Size,      // bytes: 4096, 64KiB, 16MiB, 1GiB; range likewise
  Choice,    // range "a|b|c"
  Text,      // range: empty, or the longest length in bytes "..200"
  Path       // as Text; relative to the current folder
};

// Constant data with static lifetime; crosses the plugin boundary. Secrets come from the environment or from
// a file (key + ".file"), and are shown as "***".
struct OptionSpec {
  const char* key;  // dotted, lower case; a plugin's are relative to "queue.<name>." or "store.<name>."
  OptionType type;
  const char* defaultValue;  // nullptr: must be given
  const char* range;         // see OptionType; "" none
  bool secret;
  const char* text;  // one or two sentences: what it does, what raising it costs
};

// One fault of a configuration, for people: "http.prot: unknown key; did you mean http.port?"
struct ConfigFault {
  std::string key;
  std::string text;
};

// The values of one table, all of the right type and in range. Asking for a key that the table lacks, or by
// another type, is a defect and throws std::logic_error.
class OptionMap {
 public:
  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;  // Integer and Size (bytes)
  [[nodiscard]] milliseconds duration(std::string_view key) const;
  [[nodiscard]] const std::string& text(std::string_view key) const;  // Text, Path, Choice
  // As it would be written, for display; secrets as "***" where set. By key.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> display() const;

 private:
  friend OptionMap checkOptions(std::span<const OptionSpec>, const std::map<std::string, std::string>&,
                                std::string_view, std::vector<ConfigFault>&);
  struct Value {
    OptionType type = OptionType::Text;
    bool secret = false;
    std::int64_t number = 0;  // Boolean, Integer, Size, Duration (ms)
    std::string text;
  };
  const Value& find(std::string_view key) const;
  std::map<std::string, Value, std::less<>> values_;
};

// Checks `given` (keys without `prefix`) against a table. Appends every fault (with the prefix in front of
// its key): unknown key with the nearest name, wrong type, out of range, required but missing, unreadable
// secret file. The map is usable only if none was added.
[[nodiscard]] OptionMap checkOptions(std::span<const OptionSpec> table,
                                     const std::map<std::string, std::string>& given, std::string_view prefix,
                                     std::vector<ConfigFault>& faults);

// The nearest of `names` to `word` (edit distance at most a third of its length), or empty.
[[nodiscard]] std::string nearestName(std::string_view word, std::span<const std::string> names);

// A Markdown table of the options: key, type and range, default, text.
[[nodiscard]] std::string describeOptions(std::span<const OptionSpec> table, std::string_view prefix);

}  // namespace sluice
