// Writes the configuration reference; docs/configuration.md is its output for the plugins of this repository.
#include "sluice/config.h"

namespace sluice {

namespace {

constexpr std::string_view kHead = R"(# Configuration

This page is printed by `sluice config reference` from the tables that also check the settings; do not edit it by hand.

Settings come from layers, later over earlier: the defaults below, one or more `.properties` files, the environment, `--set key=value`.
`sluice config check` reports every fault at once, `sluice config show` prints every setting with the layer it came from.

- A file has lines `key = value`; lines that begin with `#` are comments. Refused with their number: lines without `=`, with a backslash
  or with `${`, and a key given twice. Values are taken as they stand, without expansion.
- In the environment `http.port` is `SLUICE_HTTP_PORT`. Unknown names that begin with `SLUICE_` are refused as unknown keys are.
- A secret stands in the environment (`SLUICE_ADMIN_TOKEN`) or in a file of its own, named by the key with `.file` behind it
  (`admin.token.file = /run/secrets/token`) and closed to everybody but its owner and group. It is never read from a `.properties` file or
  `--set`, and never shown.
- Durations are `250ms`, `10s`, `5m`, `2h`; sizes are `4096`, `64KiB`, `16MiB`, `1GiB`; truth is `true`, `on`, `yes` or `false`, `off`, `no`.
- Relative paths start at the folder in which the program was started.

## The program

)";

std::string sentence(std::string_view text) { return std::string(text) + (text.ends_with('.') ? "" : "."); }

}  // namespace

Result<std::string> configurationReference(PluginLoader& loader) {
  const auto listings = loader.list();
  if (!listings) return listings.error();
  std::string text(kHead);
  text += describeOptions(coreOptions(), "");
  for (const PluginListing& listing : listings.value()) {
    if (listing.descriptor == nullptr)
      return {ErrorCode::Misconfigured, listing.file + ": " + listing.refusal};
    const PluginDescriptor& plugin = *listing.descriptor;
    const std::string kind(pluginKindName(plugin.kind));
    text += "\n## " + std::string(plugin.kind == PluginKind::Queue ? "Queue" : "Store") + " `" + plugin.name +
            "`\n\n" + sentence(plugin.summary) + " Selected by `" + kind + " = " + plugin.name + "`.\n\n" +
            describeOptions({plugin.options, plugin.optionCount}, kind + "." + plugin.name + ".");
  }
  return text;
}

}  // namespace sluice
