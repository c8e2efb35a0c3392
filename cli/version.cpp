// The text of --version: this program, its plugin boundary, and the libraries it runs on.
#include <CLI/Version.hpp>
#include <Poco/Environment.h>
#include <hiredis/hiredis.h>
#include <spdlog/version.h>

#include "sluice/plugin.h"

#include "cli/command.h"

namespace sluice::cli {
namespace {

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// Poco packs a version as 0xMMmmPPxx.
std::string pocoVersion() {
  const auto packed = Poco::Environment::libraryVersion();
  return dotted(static_cast<int>(packed >> 24u), static_cast<int>(packed >> 16u & 0xffu),
                static_cast<int>(packed >> 8u & 0xffu));
}

}  // namespace

std::string versionText() {
  return std::string("sluice " SLUICE_VERSION "\n") + "plugins    ABI " + std::to_string(kPluginAbi) +
         ", " SLUICE_BUILD_TAG "\n" + "Poco       " + pocoVersion() + "\n" + "hiredis    " +
         dotted(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH) + "\n" + "spdlog     " +
         dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH) + "\n" + "CLI11      " CLI11_VERSION;
}

}  // namespace sluice::cli
