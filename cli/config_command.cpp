// sluice config: checks and shows the configuration, prints its reference.
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/text.h"

namespace sluice::cli {
namespace {

int check(const GlobalOptions& globals) {
  const std::optional<Config> config = loadConfig(globals);
  if (!config) {
    return ExitUsage;
  }
  std::printf("The configuration is sound: queue %s, store %s.\n", config->queuePlugin().name,
              config->storePlugin().name);
  return ExitFine;
}

int show(const GlobalOptions& globals) {
  const std::optional<Config> config = loadConfig(globals);
  if (!config) {
    return ExitUsage;
  }
  Table table({"KEY", "VALUE", "FROM"});
  for (const Config::Line& line : config->show()) {
    table.add({line.key, line.value, line.origin});
  }
  std::fputs(table.text().c_str(), stdout);
  return ExitFine;
}

int reference(const std::string& folder) {
  PluginLoader loader(folder.empty() ? defaultPluginFolder()
                                     : std::filesystem::absolute(folder).lexically_normal().string());
  const Result<std::string> page = configurationReference(loader);
  if (!page) {
    return complain(page.error());
  }
  std::fputs(page.value().c_str(), stdout);
  return ExitFine;
}

}  // namespace

void addConfig(CLI::App& app, Invocation& invocation) {
  CLI::App* config = app.add_subcommand("config", "Check and show the configuration");
  config->require_subcommand(1);
  config->footer("Example: sluice config check -c config/production.properties");

  CLI::App* checkApp =
      config->add_subcommand("check", "Say every fault of the configuration at once; nothing is started");
  checkApp->footer("Example: sluice config check -c config/production.properties --set http.port=8081");
  checkApp->callback([&invocation] { invocation.run = [&invocation] { return check(invocation.globals); }; });

  CLI::App* showApp =
      config->add_subcommand("show", "Every setting in force, and the layer it came from; secrets as ***");
  showApp->footer("Example: sluice config show -c config/quickstart.properties");
  showApp->callback([&invocation] { invocation.run = [&invocation] { return show(invocation.globals); }; });

  CLI::App* referenceApp =
      config->add_subcommand("reference", "Print the reference of all settings as Markdown");
  auto folder = std::make_shared<std::string>();
  referenceApp
      ->add_option("--dir", *folder, "Folder of the plugins to describe (default: beside this program)")
      ->check(CLI::ExistingDirectory);
  referenceApp->footer("Example: sluice config reference > docs/configuration.md");
  referenceApp->callback([&invocation, folder] { invocation.run = [folder] { return reference(*folder); }; });
}

}  // namespace sluice::cli
