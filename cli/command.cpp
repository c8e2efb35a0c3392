// See command.h.
#include "cli/command.h"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace sluice::cli {
namespace {

// Read where no -c is given, as a program's own folder is the usual place for its settings.
constexpr const char* kDefaultFile = "sluice.properties";

void print(const std::vector<ConfigFault>& faults) {
  std::fprintf(stderr, "sluice: the configuration has %zu %s:\n", faults.size(),
               faults.size() == 1 ? "fault" : "faults");
  for (const ConfigFault& fault : faults) {
    std::fprintf(stderr, "  %s: %s\n", fault.key.c_str(), fault.text.c_str());
  }
}

}  // namespace

int complain(std::string_view text, int code) {
  std::fprintf(stderr, "sluice: %.*s\n", static_cast<int>(text.size()), text.data());
  return code;
}

int complain(const Error& error) { return complain(error.text, exitCodeOf(error.code)); }

int exitCodeOf(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::Misconfigured:
      return ExitUsage;
    case ErrorCode::Overloaded:
    case ErrorCode::Unavailable:
    case ErrorCode::OutcomeUnknown:
    case ErrorCode::Stopped:
      return ExitAway;
    case ErrorCode::NotFound:
    case ErrorCode::Conflict:
    case ErrorCode::Unsupported:
    case ErrorCode::Corrupt:
    case ErrorCode::Internal:
      break;
  }
  return ExitNotFine;
}

Result<ConfigSources> configSources(const GlobalOptions& globals) {
  ConfigSources sources;
  sources.files = globals.files;
  if (sources.files.empty() && ::access(kDefaultFile, F_OK) == 0) {
    sources.files.emplace_back(kDefaultFile);
  }
  for (const std::string& set : globals.sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return {ErrorCode::InvalidArgument,
              "--set " + set + ": write key=value, for example --set http.port=8081"};
    }
    sources.sets.emplace_back(set.substr(0, equals), set.substr(equals + 1));
  }
  sources.environment = processEnvironment();
  return sources;
}

std::optional<Config> loadConfig(const GlobalOptions& globals) {
  const Result<ConfigSources> sources = configSources(globals);
  if (!sources) {
    complain(sources.error());
    return std::nullopt;
  }
  std::vector<ConfigFault> faults;
  Config config = Config::load(sources.value(), faults);
  if (!faults.empty()) {
    print(faults);
    return std::nullopt;
  }
  return config;
}

}  // namespace sluice::cli
