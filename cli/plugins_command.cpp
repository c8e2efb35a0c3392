// sluice plugins: what lies in the plugin folder, and the options of one plugin.
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/text.h"

namespace sluice::cli {
namespace {

// The folder that is asked for, else the configured one. A configuration with faults does not hide the
// plugins: they may be the fault.
std::string folderOf(const GlobalOptions& globals, const std::string& given) {
  if (!given.empty()) {
    return std::filesystem::absolute(given).lexically_normal().string();
  }
  const Result<ConfigSources> sources = configSources(globals);
  if (sources) {
    std::vector<ConfigFault> faults;
    const Config config = Config::load(sources.value(), faults);
    if (faults.empty() && !config.core().text("plugins.dir").empty()) {
      return std::filesystem::absolute(config.core().text("plugins.dir")).lexically_normal().string();
    }
    if (!faults.empty()) {
      complain(
          "the configuration has faults (sluice config check names them); showing the folder beside this "
          "program",
          ExitUsage);
    }
  }
  return defaultPluginFolder();
}

int list(const GlobalOptions& globals, const std::string& folder) {
  PluginLoader loader(folderOf(globals, folder));
  const Result<std::vector<PluginListing>> plugins = loader.list();
  if (!plugins) {
    return complain(plugins.error());
  }
  Table table({"KIND", "NAME", "VERSION", "WHAT IT IS"});
  int code = ExitFine;
  for (const PluginListing& plugin : plugins.value()) {
    if (plugin.descriptor != nullptr) {
      const PluginDescriptor& found = *plugin.descriptor;
      table.add({std::string(pluginKindName(found.kind)), found.name, found.version, found.summary});
    } else {
      code = complain(plugin.refusal, ExitNotFine);
    }
  }
  if (plugins.value().empty()) {
    return complain("there are no plugins in " + loader.folder(), ExitNotFine);
  }
  std::fputs(table.text().c_str(), stdout);
  return code;
}

void print(const PluginDescriptor& plugin) {
  const std::string kind(pluginKindName(plugin.kind));
  std::printf("%s %s %s: %s\nChosen by: %s = %s\n\n", kind.c_str(), plugin.name, plugin.version,
              plugin.summary, kind.c_str(), plugin.name);
  const std::span<const OptionSpec> options(plugin.options, plugin.optionCount);
  if (options.empty()) {
    std::printf("It has no options.\n");
    return;
  }
  std::fputs(describeOptions(options, kind + "." + plugin.name + ".").c_str(), stdout);
}

int describe(const GlobalOptions& globals, const std::string& folder, const std::string& name) {
  PluginLoader loader(folderOf(globals, folder));
  const Result<std::vector<PluginListing>> plugins = loader.list();
  if (!plugins) {
    return complain(plugins.error());
  }
  std::vector<std::string> names;
  for (const PluginListing& plugin : plugins.value()) {
    if (plugin.descriptor == nullptr) {
      continue;
    }
    if (name == plugin.descriptor->name) {
      print(*plugin.descriptor);
      return ExitFine;
    }
    names.emplace_back(plugin.descriptor->name);
  }
  const std::string nearest = nearestName(name, names);
  return complain(
      "there is no plugin '" + name + "' in " + loader.folder() +
          (nearest.empty() ? "; sluice plugins list shows what is there" : "; did you mean " + nearest + "?"),
      ExitNotFine);
}

}  // namespace

void addPlugins(CLI::App& app, Invocation& invocation) {
  CLI::App* plugins = app.add_subcommand("plugins", "List and describe the queue and store plugins");
  plugins->require_subcommand(1);
  plugins->footer("Example: sluice plugins describe stream");
  auto folder = std::make_shared<std::string>();
  plugins->add_option("--dir", *folder, "Folder to look in (default: plugins.dir of the configuration)")
      ->check(CLI::ExistingDirectory);

  CLI::App* listApp =
      plugins->add_subcommand("list", "Every plugin of the folder; one that is refused, with the reason");
  listApp->footer("Example: sluice plugins list");
  listApp->callback([&invocation, folder] {
    invocation.run = [&invocation, folder] { return list(invocation.globals, *folder); };
  });

  CLI::App* describeApp =
      plugins->add_subcommand("describe", "The options of one plugin: key, type, range, default, meaning");
  auto name = std::make_shared<std::string>();
  describeApp->add_option("name", *name, "Name of the plugin, as in `queue = NAME`")->required();
  describeApp->footer("Example: sluice plugins describe sqlite");
  describeApp->callback([&invocation, folder, name] {
    invocation.run = [&invocation, folder, name] { return describe(invocation.globals, *folder, *name); };
  });
}

}  // namespace sluice::cli
