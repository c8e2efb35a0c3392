// Configuration: read from layers, checked as a whole.
//
// Role:     layers, later over earlier: defaults of the tables, one or more .properties files, the
//           environment (SLUICE_HTTP_PORT is http.port), --set key=value. All faults are reported together,
//           each with its layer and the nearest name.
// Keys:     the program's own table (coreOptions), `queue` and `store` name the plugins, `queue.<name>.*`
//           and `store.<name>.*` are checked against the table of that plugin, also where another one is
//           selected.
// Files:    `key = value`, `#` begins a comment line. Lines that could be read in two ways are refused:
//           without `=`, with a backslash or `${`, a key given twice. Values are never expanded.
// Secrets:  an option marked secret may not stand in a file or on the command line: environment, or
//           `<key>.file`.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/options.h"
#include "sluice/plugin_loader.h"
#include "sluice/redis.h"
#include "sluice/result.h"

namespace sluice {

struct ConfigSources {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>> sets;  // --set
  std::vector<std::pair<std::string, std::string>>
      environment;  // NAME -> value; only SLUICE_... is looked at
};

// The environment of this process, for ConfigSources.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> processEnvironment();

// The program's own options.
[[nodiscard]] std::span<const OptionSpec> coreOptions() noexcept;

enum class Role : std::uint8_t { All, Front, Worker };

class Config {
 public:
  // Reads and checks. With faults, `faults` is filled and the Config must not be used.
  [[nodiscard]] static Config load(const ConfigSources& sources, std::vector<ConfigFault>& faults);

  [[nodiscard]] const OptionMap& core() const noexcept { return core_; }
  [[nodiscard]] const OptionMap& queueOptions() const noexcept { return queueOptions_; }
  [[nodiscard]] const OptionMap& storeOptions() const noexcept { return storeOptions_; }
  [[nodiscard]] const PluginDescriptor& queuePlugin() const noexcept { return *queuePlugin_; }
  [[nodiscard]] const PluginDescriptor& storePlugin() const noexcept { return *storePlugin_; }

  [[nodiscard]] Role role() const;
  [[nodiscard]] std::string dataDir() const;      // absolute
  [[nodiscard]] RedisTarget redisTarget() const;  // of the embedded server where that is on
  [[nodiscard]] std::string instance() const;     // host:port, see QueueContext::instance

  // Every effective setting, "key = value", secrets as ***, with the layer it came from; for `config show`.
  struct Line {
    std::string key;
    std::string value;
    std::string origin;  // "default", "sale.properties:12", "environment SLUICE_HTTP_PORT", "--set"
  };
  [[nodiscard]] std::vector<Line> show() const;

 private:
  friend class ConfigReader;
  OptionMap core_;
  OptionMap queueOptions_;
  OptionMap storeOptions_;
  const PluginDescriptor* queuePlugin_ = nullptr;
  const PluginDescriptor* storePlugin_ = nullptr;
  std::string dataDir_;  // absolute since reading: the program may change its folder later
  std::string pluginFolder_;
  std::map<std::string, std::string> origins_;  // key -> layer, where it is not the default
};

// Where plugins are when `plugins.dir` is not set: ../plugins beside the running executable's folder.
[[nodiscard]] std::string defaultPluginFolder();

// The configuration reference: the program's options and those of every plugin in the folder, as Markdown.
[[nodiscard]] Result<std::string> configurationReference(PluginLoader& loader);

}  // namespace sluice
