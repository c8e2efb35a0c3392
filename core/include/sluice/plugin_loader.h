// Loads queue and store plugins, behind a gate.
//
// Role:     `name` -> <folder>/queue_<name>.so or store_<name>.so -> descriptor -> object.
// Threads:  load and list by one thread at a time (start); descriptors are constant afterwards.
// Errors:   Misconfigured, one message with the path and every mismatch (found and expected): file missing
//           (with what is there), folder relative, file or folder writable by others, symlink leading
//           outside, no symbol, magic, ABI, build tag, kind, name, missing factory, unresolved symbols,
//           symbols bound late (not linked with -z now).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/plugin.h"
#include "sluice/result.h"

namespace sluice {

[[nodiscard]] std::string_view pluginKindName(PluginKind kind) noexcept;  // "queue", "store"

struct PluginListing {
  std::string file;
  const PluginDescriptor* descriptor = nullptr;  // none where it was refused
  std::string refusal;
};

class PluginLoader {
 public:
  // `folder` is absolute.
  explicit PluginLoader(std::string folder);

  // The same descriptor when asked again; the library stays mapped until the process ends.
  [[nodiscard]] Result<const PluginDescriptor*> load(PluginKind kind, std::string_view name);
  // Every *.so of the folder, by file name.
  [[nodiscard]] Result<std::vector<PluginListing>> list();
  // What load() and list() ask of the folder first: absolute, readable, not writable by others.
  [[nodiscard]] Status checkFolder() const;
  // The names that the folder has files for, sorted; nothing is loaded.
  [[nodiscard]] std::vector<std::string> names(PluginKind kind) const;
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  Result<const PluginDescriptor*> open(const std::string& path, PluginKind kind, std::string_view name);
  std::string folder_;
};

}  // namespace sluice
