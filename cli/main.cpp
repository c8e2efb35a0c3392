// The one executable: reads the command line and runs one subcommand.
#include <csignal>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "sluice/options.h"

#include "cli/command.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter =
    "Configuration, later over earlier: built-in defaults, the files of -c (without any: ./sluice.properties "
    "where it exists),\n"
    "SLUICE_... in the environment (SLUICE_HTTP_PORT is http.port), --set. `sluice config reference` "
    "explains every key.\n"
    "Exit codes: 0 fine; 1 the answer is no (violation, refused, not found); 2 command line or "
    "configuration; 3 a server is away.\n"
    "First steps: sluice demo";

void declare(CLI::App& app, Invocation& invocation) {
  app.fallthrough();  // global options may stand behind the subcommand too
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText(), "Versions of this program and of its libraries");
  app.add_option("-c,--config", invocation.globals.files,
                 "Configuration file; may be repeated, later files win")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--set", invocation.globals.sets, "One setting, over all files; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.footer(kFooter);
  addServe(app, invocation);
  addDemo(app, invocation);
  addVoucher(app, invocation);
  addOrders(app, invocation);
  addDead(app, invocation);
  addAudit(app, invocation);
  addConfig(app, invocation);
  addPlugins(app, invocation);
  addStormClient(app, invocation);
}

// The deepest subcommand that was understood; its names are what the next word may have meant.
const CLI::App& deepest(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.front());
}

// What the next word may have meant: a subcommand, or an option where it begins with a dash.
std::vector<std::string> namesAt(const CLI::App& at, bool options) {
  std::vector<std::string> names;
  for (const CLI::App* part = &at; options && part != nullptr; part = part->get_parent()) {
    for (const CLI::Option* option : part->get_options()) {
      names.push_back(option->get_name());
    }
  }
  const auto shown = [](const CLI::App* candidate) { return !candidate->get_group().empty(); };
  for (const CLI::App* sub : options ? std::vector<const CLI::App*>() : at.get_subcommands(shown)) {
    names.push_back(sub->get_name());
  }
  return names;
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = deepest(app);
  std::string path;
  for (const CLI::App* part = &at; part->get_parent() != nullptr; part = part->get_parent()) {
    path.insert(0, part->get_name()).insert(0, " ");
  }
  const std::string see = "see sluice" + path + " --help";
  const auto unknown = app.remaining(true);
  if (unknown.empty()) {
    return std::string(error.what()) + "; " + see;
  }
  const bool option = unknown.front().starts_with('-');
  const std::string nearest = nearestName(unknown.front(), namesAt(at, option));
  return "there is no " +
         std::string(option                           ? "option"
                     : at.get_subcommands({}).empty() ? "argument"
                                                      : "command") +
         " '" + unknown.front() + "' here; " + (nearest.empty() ? "" : "did you mean " + nearest + "? ") +
         see;
}

int parseAndRun(int argc, char** argv) {
  CLI::App app(
      "Sluice sells what is scarce to a crowd that comes at once: never too many, never twice, never lost.",
      "sluice");
  Invocation invocation;
  declare(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return complain(explain(app, error), ExitUsage);
  }
  return invocation.run();
}

}  // namespace
}  // namespace sluice::cli

int main(int argc, char** argv) {
  // Writing to a connection that its peer closed is an error value here, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return sluice::cli::parseAndRun(argc, argv);
  } catch (const std::exception& error) {
    return sluice::cli::complain(std::string("internal fault: ") + error.what(), sluice::cli::ExitNotFine);
  }
}
