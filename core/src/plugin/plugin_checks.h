// What the loader asks of a folder, a file and a descriptor before it trusts them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/plugin.h"

namespace sluice {

// A lower case letter and up to 31 lower case letters or digits; so no name leads out of the folder.
[[nodiscard]] bool isPluginName(std::string_view name) noexcept;

// Absolute, there, a folder, not writable by everybody.
[[nodiscard]] Status checkPluginFolder(const std::string& folder);

// A regular file inside the folder, after following links, not writable by everybody. Answers its real path.
[[nodiscard]] Result<std::string> checkPluginFile(const std::string& folder, const std::string& path);

// Whether the library that has this symbol was linked without -z now.
[[nodiscard]] bool bindsLazily(const void* symbol) noexcept;

// Each as "what: found x, expected y". A wrong magic number is named alone: nothing behind it can be read.
[[nodiscard]] std::vector<std::string> mismatchesOf(const PluginDescriptor* descriptor, PluginKind kind,
                                                    std::string_view name);

}  // namespace sluice
