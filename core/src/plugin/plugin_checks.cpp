// Compares what was found with what is expected; every refusal names both.
#include "plugin/plugin_checks.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include "sluice/plugin_loader.h"
#include "sluice/printable.h"

namespace sluice {

namespace fs = std::filesystem;

namespace {

Error refused(const std::string& what, const std::string& path, const std::string& text) {
  return {ErrorCode::Misconfigured, what + " " + printable(path, 300) + " " + text};
}

std::string found(const std::string& what, const std::string& found, const std::string& expected) {
  return what + ": found " + found + ", expected " + expected;
}

std::string quoted(const char* text) { return text == nullptr ? "nothing" : "'" + printable(text) + "'"; }

bool differs(const char* text, std::string_view expected) { return text == nullptr || text != expected; }

// Only where head and ABI are right: the layout behind them is ours then.
void checkBody(const PluginDescriptor& descriptor, PluginKind kind, std::vector<std::string>& mismatches) {
  const bool queue = kind == PluginKind::Queue;
  const bool hasOwn = queue ? descriptor.makeQueue != nullptr : descriptor.makeStore != nullptr;
  const bool hasOther = queue ? descriptor.makeStore != nullptr : descriptor.makeQueue != nullptr;
  if (!hasOwn) mismatches.push_back(found("factory", "none", queue ? "makeQueue" : "makeStore"));
  if (hasOther) mismatches.push_back(found("factory of the other kind", "one", "none"));
  if (descriptor.version == nullptr) mismatches.push_back(found("version", "nothing", "a text"));
  if (descriptor.summary == nullptr) mismatches.push_back(found("summary", "nothing", "a text"));
  if (descriptor.options == nullptr && descriptor.optionCount != 0) {
    mismatches.push_back(
        found("option table", "nothing", std::to_string(descriptor.optionCount) + " options"));
    return;
  }
  for (std::size_t at = 0; at < descriptor.optionCount; ++at) {
    const OptionSpec& spec = descriptor.options[at];
    if (spec.key == nullptr || spec.range == nullptr || spec.text == nullptr) {
      mismatches.push_back(found("option " + std::to_string(at + 1), "no key, range or text", "all three"));
    }
  }
}

}  // namespace

bool isPluginName(std::string_view name) noexcept {
  constexpr std::size_t kNameBytesMax = 32;
  if (name.empty() || name.size() > kNameBytesMax || name.front() < 'a' || name.front() > 'z') return false;
  for (const char each : name) {
    if ((each < 'a' || each > 'z') && (each < '0' || each > '9')) return false;
  }
  return true;
}

Status checkPluginFolder(const std::string& folder) {
  const std::string what = "plugin folder";
  if (!folder.starts_with('/')) return refused(what, folder, "is relative; give an absolute path");
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0)
    return refused(what, folder, "cannot be read: " + std::generic_category().message(errno));
  if (!S_ISDIR(status.st_mode)) return refused(what, folder, "is not a folder");
  if ((status.st_mode & S_IWOTH) != 0)
    return refused(what, folder, "can be written by everybody; chmod o-w it");
  return {};
}

Result<std::string> checkPluginFile(const std::string& folder, const std::string& path) {
  const std::string what = "plugin";
  std::error_code error;
  const fs::path realFolder = fs::canonical(folder, error);
  if (error) return refused("plugin folder", folder, "cannot be read: " + error.message());
  const fs::path real = fs::canonical(path, error);
  if (error) return refused(what, path, "cannot be read: " + error.message());
  if (real.parent_path() != realFolder) {
    return refused(
        what, path,
        "is a link that leads outside the folder, to " + printable(real.string(), 300) + "; copy the file");
  }
  struct stat status {};
  if (::stat(real.c_str(), &status) != 0)
    return refused(what, path, "cannot be read: " + std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return refused(what, path, "is not a regular file");
  if ((status.st_mode & S_IWOTH) != 0)
    return refused(what, path, "can be written by everybody; chmod o-w it");
  return real.string();
}

bool bindsLazily(const void* symbol) noexcept {
  Dl_info info{};
  void* extra = nullptr;
  if (::dladdr1(symbol, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr) return true;
  for (const ElfW(Dyn)* entry = static_cast<const link_map*>(extra)->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto flags = entry->d_un.d_val;
    const bool now = entry->d_tag == DT_BIND_NOW ||
                     (entry->d_tag == DT_FLAGS && (flags & DF_BIND_NOW) != 0) ||
                     (entry->d_tag == DT_FLAGS_1 && (flags & DF_1_NOW) != 0);
    if (now) return false;
  }
  return true;
}

std::vector<std::string> mismatchesOf(const PluginDescriptor* descriptor, PluginKind kind,
                                      std::string_view name) {
  if (descriptor == nullptr) return {found("descriptor", "nothing", "one")};
  if (descriptor->magic != kPluginMagic) {
    return {found("magic", std::to_string(descriptor->magic),
                  std::to_string(kPluginMagic) + "; it is no plugin of this program")};
  }
  std::vector<std::string> mismatches;
  if (descriptor->abi != kPluginAbi) {
    mismatches.push_back(found("ABI", std::to_string(descriptor->abi), std::to_string(kPluginAbi)));
  }
  if (descriptor->kind != kind) {
    mismatches.push_back(found(
        "kind", std::to_string(static_cast<std::uint32_t>(descriptor->kind)),
        std::to_string(static_cast<std::uint32_t>(kind)) + " (" + std::string(pluginKindName(kind)) + ")"));
  }
  if (differs(descriptor->buildTag, SLUICE_BUILD_TAG)) {
    mismatches.push_back(
        found("build tag", quoted(descriptor->buildTag), std::string("'") + SLUICE_BUILD_TAG + "'"));
  }
  if (differs(descriptor->name, name)) {
    mismatches.push_back(found("name", quoted(descriptor->name), "'" + std::string(name) + "'"));
  }
  if (descriptor->abi == kPluginAbi) checkBody(*descriptor, kind, mismatches);
  return mismatches;
}

}  // namespace sluice
