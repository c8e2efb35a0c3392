// What the command line of sluice dead says: one letter, or conditions that mean many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sluice/operations.h"

// The library's own name.
// NOLINTNEXTLINE(readability-identifier-naming): see above
namespace CLI {
class App;
}

namespace sluice::cli {

inline constexpr std::size_t kDeadPage = 100;

struct DeadGiven {
  std::string id;
  std::string after;
  std::optional<std::size_t> max;
  bool json = false;
  std::int64_t voucher = 0;
  std::int64_t user = 0;
  std::int64_t order = 0;
  std::string reason;
  std::string since;
  std::string until;
  bool undecodable = false;
  bool all = false;
  bool yes = false;
  bool dryRun = false;

  // Any condition, or all.
  [[nodiscard]] bool saysWhich() const noexcept {
    return voucher != 0 || user != 0 || order != 0 || !reason.empty() || !since.empty() || !until.empty() ||
           undecodable || all;
  }
  // Instants that are relative count from now. InvalidArgument where one cannot be read.
  [[nodiscard]] Result<DeadFilter> filter() const;
};

// The options that say which letters, and how many.
void addDeadFilter(CLI::App& app, DeadGiven& given);
// --all, --yes and --dry-run.
void addDeadConsent(CLI::App& app, DeadGiven& given);

// Counts, replays or drops what `given` means, call by call; prints what became of it, answers the exit code.
[[nodiscard]] int sweepDead(DeadLetters& letters, const DeadGiven& given, DeadDeed deed);

}  // namespace sluice::cli
