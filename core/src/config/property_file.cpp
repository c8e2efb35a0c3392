// Scans a property file line by line, then lets Poco parse the lines that passed.
#include "config/property_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include <Poco/Util/PropertyFileConfiguration.h>
#include <sys/stat.h>

#include "sluice/printable.h"

namespace sluice {

namespace {

constexpr std::size_t kFileBytesMax = 1024 * 1024;
constexpr std::size_t kLineBytesMax = 4096;
constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// What is wrong with the file itself, or its content.
Result<std::string> readWhole(const std::string& path) {
  const auto failed = [](const std::string& what) { return Error{ErrorCode::Misconfigured, what}; };
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return failed("cannot be read: " + std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return failed("is not a regular file; give a .properties file");
  if (static_cast<std::size_t>(status.st_size) > kFileBytesMax)
    return failed("is larger than 1 MiB; a configuration is smaller");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file) return failed("cannot be read: " + std::generic_category().message(errno));
  if (status.st_size > 0) content << file.rdbuf();
  if (!file || !content) return failed("cannot be read to its end");
  return content.str();
}

// The fault of a line that is neither blank nor a comment; nothing where it is "key = value".
std::optional<std::string> faultOfLine(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t equals = line.find('=');
  const std::string_view key = trimmed(line.substr(0, equals));
  if (line.size() > kLineBytesMax) return "is longer than 4 KiB";
  if (line.starts_with(kByteOrderMark))
    return "begins with a byte order mark; save the file as UTF-8 without it";
  if (equals == std::string_view::npos) return "has no '='; write key = value";
  if (key.empty()) return "has no key before '='; write key = value";
  if (key.find(':') != std::string_view::npos) return "has ':' before '='; write key = value";
  if (!isOptionKey(key))
    return "has a malformed key; keys are lower case letters and digits joined by dots, such as http.port";
  if (line.find('\\') != std::string_view::npos)
    return "has a backslash; there are no escapes and no continued lines here";
  if (line.find("${") != std::string_view::npos)
    return "has ${...}, which is not expanded here; write the value itself";
  if (!isPrintable(trimmed(line.substr(equals + 1)))) return "has control characters or is not UTF-8";
  return std::nullopt;
}

class Scan {
 public:
  Scan(const std::string& path, std::vector<ConfigFault>& faults) : path_(path), faults_(faults) {}

  // The good lines, for Poco.
  std::string run(std::string_view content) {
    std::size_t number = 0;
    while (!content.empty()) {
      const std::size_t end = std::min(content.find('\n'), content.size());
      std::string_view line = content.substr(0, end);
      content.remove_prefix(std::min(end + 1, content.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      take(trimmed(line), ++number);
    }
    return std::move(good_);
  }

  std::map<std::string, std::size_t> lines;

 private:
  void take(std::string_view line, std::size_t number) {
    if (line.empty() || line.front() == '#' || line.front() == '!') return;
    if (const auto fault = faultOfLine(line)) return refuse(number, *fault);
    const std::string key(trimmed(line.substr(0, line.find('='))));
    const auto [known, isNew] = lines.emplace(key, number);
    if (!isNew) {
      return refuse(number, "gives " + key + " again after line " + std::to_string(known->second) +
                                "; keep one of the two");
    }
    good_ += line;
    good_ += '\n';
  }

  void refuse(std::size_t number, const std::string& text) {
    faults_.push_back({printable(path_, 300), "line " + std::to_string(number) + " " + text});
  }

  const std::string& path_;
  std::vector<ConfigFault>& faults_;
  std::string good_;
};

}  // namespace

bool isOptionKey(std::string_view key) noexcept {
  char before = '.';
  for (const char each : key) {
    const bool dot = each == '.';
    if (!dot && (each < 'a' || each > 'z') && (each < '0' || each > '9')) return false;
    if (dot && before == '.') return false;
    before = each;
  }
  return before != '.';
}

PropertyFile parseProperties(std::string_view content, const std::string& name,
                             std::vector<ConfigFault>& faults) {
  Scan scan(name, faults);
  std::istringstream good(scan.run(content));
  return {new Poco::Util::PropertyFileConfiguration(good), std::move(scan.lines)};
}

PropertyFile readPropertyFile(const std::string& path, std::vector<ConfigFault>& faults) {
  const Result<std::string> content = readWhole(path);
  if (!content) {
    faults.push_back({printable(path, 300), content.error().text});
    return {};
  }
  return parseProperties(content.value(), path, faults);
}

}  // namespace sluice
