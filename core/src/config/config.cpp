// Config: what was read and checked, as the program asks for it.
#include "sluice/config.h"

#include <filesystem>

#include <unistd.h>

#include "sluice/embedded_redis.h"

#include "config/config_reader.h"

namespace sluice {

namespace {

// A host's name may hold anything; an instance may not.
std::string hostName() {
  constexpr std::size_t kHostBytesMax = 64;
  std::string host(kHostBytesMax + 1, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) return "localhost";
  host.resize(host.find('\0'));
  for (char& each : host) {
    const bool allowed = (each >= 'A' && each <= 'Z') || (each >= 'a' && each <= 'z') ||
                         (each >= '0' && each <= '9') || each == '.' || each == '-' || each == '_';
    if (!allowed) each = '-';
  }
  return host.empty() ? "localhost" : host;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> processEnvironment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

std::string defaultPluginFolder() {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "/usr/lib/sluice/plugins" : (executable.parent_path().parent_path() / "plugins").string();
}

Config Config::load(const ConfigSources& sources, std::vector<ConfigFault>& faults) {
  return ConfigReader(sources, faults).read();
}

Role Config::role() const {
  const std::string& name = core_.text("role");
  return name == "front" ? Role::Front : name == "worker" ? Role::Worker : Role::All;
}

std::string Config::dataDir() const { return dataDir_; }

RedisTarget Config::redisTarget() const {
  RedisTarget target;
  target.connectTimeout = core_.duration("redis.connect.timeout");
  if (core_.boolean("redis.embedded")) {
    target.socketPath = EmbeddedRedis::socketPath(dataDir_);
    return target;
  }
  target.socketPath = core_.text("redis.socket");
  target.host = core_.text("redis.host");
  target.port = static_cast<std::uint16_t>(core_.integer("redis.port"));
  target.username = core_.text("redis.username");
  target.password = core_.text("redis.password");
  target.database = static_cast<std::int32_t>(core_.integer("redis.database"));
  return target;
}

std::string Config::instance() const {
  const std::int64_t port = core_.integer("http.port");
  // Port 0 (any free one) may be shared by many; only the process tells them apart.
  return hostName() + ":" + (port == 0 ? "p" + std::to_string(::getpid()) : std::to_string(port));
}

std::vector<Config::Line> Config::show() const {
  std::vector<Line> lines;
  const auto add = [&](const OptionMap& options, const std::string& prefix) {
    for (auto& [key, value] : options.display()) {
      const auto origin = origins_.find(prefix + key);
      lines.push_back(
          {prefix + key, std::move(value), origin == origins_.end() ? "default" : origin->second});
    }
  };
  add(core_, "");
  add(queueOptions_, "queue." + core_.text("queue") + ".");
  add(storeOptions_, "store." + core_.text("store") + ".");
  for (Line& line : lines) {
    if (line.key == "plugins.dir") line.value = pluginFolder_;
    if (line.key == "data.dir") line.value = dataDir_;
  }
  return lines;
}

}  // namespace sluice
