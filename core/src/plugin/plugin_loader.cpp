// Opens plugin libraries through Poco::SharedLibrary, behind checks that come before any call into them.
#include "sluice/plugin_loader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <Poco/Exception.h>
#include <Poco/SharedLibrary.h>

#include "sluice/printable.h"

#include "plugin/plugin_checks.h"

namespace sluice {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".so";

std::string prefixOf(PluginKind kind) { return std::string(pluginKindName(kind)) + "_"; }

Error refused(const std::string& text) { return {ErrorCode::Misconfigured, text}; }

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : ", ") + word;
  }
  return out.empty() ? "none" : out;
}

// The names of all libraries in a folder, sorted; empty where it cannot be read.
std::vector<std::string> librariesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string file = at->path().filename().string();
    if (file.ends_with(kSuffix)) files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Local scope keeps the symbols of plugins apart. The handle is dropped and the library stays mapped: code of
// it may be on a thread's stack, in an exit handler or a destructor until the very end.
Result<void*> openLibrary(const std::string& path) {
  try {
    Poco::SharedLibrary library(path, Poco::SharedLibrary::SHLIB_LOCAL);
    if (!library.hasSymbol("sluice_plugin"))
      return refused("has no symbol sluice_plugin; is it a plugin of this program?");
    return library.getSymbol("sluice_plugin");
  } catch (const Poco::Exception& error) {
    return refused("cannot be loaded: " + printable(error.message(), 600));
  }
}

}  // namespace

std::string_view pluginKindName(PluginKind kind) noexcept {
  return kind == PluginKind::Queue ? "queue" : "store";
}

PluginLoader::PluginLoader(std::string folder) : folder_(std::move(folder)) {}

Status PluginLoader::checkFolder() const { return checkPluginFolder(folder_); }

std::vector<std::string> PluginLoader::names(PluginKind kind) const {
  std::vector<std::string> names;
  const std::string prefix = prefixOf(kind);
  for (const std::string& file : librariesIn(folder_)) {
    if (!file.starts_with(prefix)) continue;
    std::string name = file.substr(prefix.size(), file.size() - prefix.size() - kSuffix.size());
    if (isPluginName(name)) names.push_back(std::move(name));
  }
  return names;
}

Result<const PluginDescriptor*> PluginLoader::load(PluginKind kind, std::string_view name) {
  if (const Status folder = checkFolder(); !folder) return folder.error();
  const std::string what = std::string(pluginKindName(kind)) + " plugin";
  const std::vector<std::string> there = names(kind);
  if (!isPluginName(name)) {
    return refused("'" + printable(name) + "' is not the name of a " + what +
                   "; names are a letter and up to 31 letters or digits; " + folder_ +
                   " has: " + joined(there));
  }
  if (std::find(there.begin(), there.end(), name) == there.end()) {
    const std::string nearest = nearestName(name, there);
    return refused("there is no " + what + " called " + std::string(name) + "; " + folder_ +
                   " has: " + joined(there) + (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }
  return open(folder_ + "/" + prefixOf(kind) + std::string(name) + std::string(kSuffix), kind, name);
}

Result<const PluginDescriptor*> PluginLoader::open(const std::string& path, PluginKind kind,
                                                   std::string_view name) {
  const Result<std::string> real = checkPluginFile(folder_, path);
  if (!real) return real.error();
  const Result<void*> entry = openLibrary(real.value());
  if (!entry) return entry.error().during("plugin " + path);
  if (bindsLazily(entry.value())) {
    return refused("plugin " + path +
                   ": binds its symbols when they are first called, so that a missing one would end the "
                   "program in the middle of a "
                   "sale; link it with -Wl,-z,now");
  }
  // An object pointer becomes a function pointer; POSIX guarantees it for what dlsym answers.
  const PluginDescriptor* descriptor = reinterpret_cast<PluginEntry>(entry.value())();
  const std::vector<std::string> mismatches = mismatchesOf(descriptor, kind, name);
  if (mismatches.empty()) return descriptor;
  std::string text = "plugin " + path + " does not fit:";
  for (const std::string& mismatch : mismatches) {
    text += (&mismatch == &mismatches.front() ? " " : "; ") + mismatch;
  }
  return refused(text);
}

Result<std::vector<PluginListing>> PluginLoader::list() {
  if (const Status folder = checkFolder(); !folder) return folder.error();
  std::vector<PluginListing> listings;
  for (const std::string& file : librariesIn(folder_)) {
    PluginListing listing{file, nullptr, "is called neither queue_<name>.so nor store_<name>.so"};
    for (const PluginKind kind : {PluginKind::Queue, PluginKind::Store}) {
      if (!file.starts_with(prefixOf(kind))) continue;
      const std::size_t begin = prefixOf(kind).size();
      const auto loaded = load(kind, file.substr(begin, file.size() - begin - kSuffix.size()));
      listing.descriptor = loaded ? loaded.value() : nullptr;
      listing.refusal = loaded ? "" : loaded.error().text;
    }
    listings.push_back(std::move(listing));
  }
  return listings;
}

}  // namespace sluice
