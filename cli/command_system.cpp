// How a command gets its system: configuration, then everything opened in the right order.
#include "cli/command.h"

namespace sluice::cli {

int withSystem(const GlobalOptions& globals,
               const std::function<int(System& system, const Config& config)>& work) {
  const std::optional<Config> config = loadConfig(globals);
  if (!config) {
    return ExitUsage;
  }
  Result<std::unique_ptr<System>> system =
      System::open(*config, SystemUse::Command, Deadline::in(kCommandDeadline));
  if (!system) {
    return complain(system.error());
  }
  return work(*system.value(), *config);
}

}  // namespace sluice::cli
