// sluice serve: runs the server until it is told to stop.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "server/serve.h"

namespace sluice::cli {

void addServe(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("serve", "Run the server until Ctrl-C or SIGTERM");
  auto role = std::make_shared<std::string>();
  command->add_option("--role", *role, "all: both (default); front: takes requests; worker: stores orders")
      ->check(CLI::IsMember({"all", "front", "worker"}));
  command->footer(
      "Without other servers: sluice serve -c config/quickstart.properties\n"
      "Example: sluice serve -c config/production.properties --role front");
  command->callback([&invocation, role] {
    invocation.run = [&invocation, role] {
      GlobalOptions globals = invocation.globals;
      if (!role->empty()) {
        globals.sets.push_back("role=" + *role);
      }
      const std::optional<Config> config = loadConfig(globals);
      return config ? server::serve(*config) : static_cast<int>(ExitUsage);
    };
  });
}

}  // namespace sluice::cli
