// Reads a Config from its layers: one object for one reading.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/config.h"

#include "config/layers.h"

namespace sluice {

class ConfigReader {
 public:
  ConfigReader(const ConfigSources& sources, std::vector<ConfigFault>& faults);
  [[nodiscard]] Config read();

 private:
  using Values = std::map<std::string, std::string>;

  void split();
  void select(PluginLoader& loader, PluginKind kind, const PluginDescriptor*& plugin, OptionMap& options);
  void checkUnselected(PluginLoader& loader, PluginKind kind, const std::string& name, const Values& given);
  OptionMap check(std::span<const OptionSpec> table, const Values& given, const std::string& prefix);
  void refuseOpenSecrets(std::span<const OptionSpec> table, const std::string& prefix);
  void recordOrigins(std::span<const OptionSpec> table, const std::string& prefix);
  void nameLayers();

  std::vector<ConfigFault>& faults_;
  Layers layers_;
  Values values_;
  Values core_;
  std::map<PluginKind, std::map<std::string, Values>>
      plugins_;  // kind -> name -> key without "queue.<name>."
  Config config_;
};

}  // namespace sluice
