// Reads one .properties file strictly: what two readers could understand differently is refused with its
// line.
//
// Role:     Poco's PropertyFileConfiguration parses; before it, a scan refuses what Poco would accept in
//           silence: a line without `=`, `:` as separator, backslashes (escapes, continued lines), `${...}`
//           (expanded by some readings), a key given twice.
// Limits:   1 MiB a file, 4 KiB a line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <Poco/AutoPtr.h>
#include <Poco/Util/AbstractConfiguration.h>

#include "sluice/options.h"

namespace sluice {

struct PropertyFile {
  Poco::AutoPtr<Poco::Util::AbstractConfiguration> values;  // null where the file cannot be read
  std::map<std::string, std::size_t> lines;                 // key -> line
};

// Reads what stands in a file of this name. Appends a fault for each bad line, without its content (it may
// hold a secret); the good lines are read all the same.
[[nodiscard]] PropertyFile parseProperties(std::string_view content, const std::string& name,
                                           std::vector<ConfigFault>& faults);

// The same, for the file at `path`; one that cannot be read is a fault.
[[nodiscard]] PropertyFile readPropertyFile(const std::string& path, std::vector<ConfigFault>& faults);

// Lower case letters and digits in parts joined by dots: "http.port".
[[nodiscard]] bool isOptionKey(std::string_view key) noexcept;

}  // namespace sluice
