// Configuration files: reading never throws, each line is either one value or one fault that names it, and
// Poco reads the values as they are written.
#include <string>
#include <vector>

#include "sluice/config.h"

#include "config/property_file.h"
#include "fuzz/property.h"

namespace sluice::test {
namespace {

constexpr std::string_view kName = "fuzzed.properties";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The lines with something to say, by number from 1; trimmed.
std::map<std::size_t, std::string_view> sayingLines(std::string_view content) {
  std::map<std::size_t, std::string_view> lines;
  for (std::size_t number = 1; !content.empty(); ++number) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    if (!line.empty() && line.front() != '#' && line.front() != '!') lines[number] = line;
  }
  return lines;
}

void checkFault(const ConfigFault& fault, const std::map<std::size_t, std::string_view>& lines) {
  require(fault.key == kName, "a fault names the file");
  require(fault.text.starts_with("line "), "a fault names its line");
  require(lines.contains(std::stoul(fault.text.substr(5))), "the line is one that says something");
}

void readValues(const PropertyFile& file, const std::map<std::size_t, std::string_view>& lines) {
  for (const auto& [key, number] : file.lines) {
    const std::string_view line = lines.at(number);
    const std::size_t equals = line.find('=');
    require(trimmed(line.substr(0, equals)) == key, "a key stands on its line");
    require(file.values->hasProperty(key), "Poco knows the key");
    require(file.values->getRawString(key) == trimmed(line.substr(equals + 1)), "Poco reads the same value");
  }
}

// The table takes whatever the file gives, except for secrets, which would be read from other files.
void checkValues(const PropertyFile& file) {
  std::map<std::string, std::string> given;
  for (const auto& [key, number] : file.lines) {
    if (!key.ends_with(".file")) given[key] = file.values->getRawString(key);
  }
  std::vector<ConfigFault> faults;
  const OptionMap options = checkOptions(coreOptions(), given, "", faults);
  for (const ConfigFault& fault : faults) {
    require(!fault.key.empty() && !fault.text.empty(), "a fault says what is wrong with which key");
  }
  if (faults.empty()) (void)options.display();
}

void readFile(std::string_view content) {
  std::vector<ConfigFault> faults;
  const PropertyFile file = parseProperties(content, std::string(kName), faults);
  const auto lines = sayingLines(content);
  require(file.lines.size() + faults.size() == lines.size(), "each line is one value or one fault");
  for (const ConfigFault& fault : faults) {
    checkFault(fault, lines);
  }
  readValues(file, lines);
  checkValues(file);
}

}  // namespace
}  // namespace sluice::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sluice::test::readFile(sluice::test::bytesOf(data, size));
  return 0;
}
