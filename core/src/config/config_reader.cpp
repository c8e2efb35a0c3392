// Sorts the values to the tables they belong to, checks each table, then the relations; faults get their
// layer at the end.
#include "config/config_reader.h"

#include <filesystem>

#include "config/relations.h"

namespace sluice {

namespace {

std::string absolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

std::string prefixOf(PluginKind kind, const std::string& name) {
  return std::string(pluginKindName(kind)) + "." + name + ".";
}

std::span<const OptionSpec> tableOf(const PluginDescriptor& plugin) {
  return {plugin.options, plugin.optionCount};
}

}  // namespace

ConfigReader::ConfigReader(const ConfigSources& sources, std::vector<ConfigFault>& faults)
    : faults_(faults), layers_(sources, faults), values_(layers_.values()) {}

Config ConfigReader::read() {
  split();
  config_.core_ = check(coreOptions(), core_, "");
  const std::string& folder = config_.core_.text("plugins.dir");
  config_.pluginFolder_ = folder.empty() ? defaultPluginFolder() : folder;
  config_.dataDir_ = absolutePath(config_.core_.text("data.dir"));
  PluginLoader loader(config_.pluginFolder_);
  if (const Status there = loader.checkFolder(); there) {
    select(loader, PluginKind::Queue, config_.queuePlugin_, config_.queueOptions_);
    select(loader, PluginKind::Store, config_.storePlugin_, config_.storeOptions_);
  } else {
    faults_.push_back({"plugins.dir", there.error().text});
  }
  checkRelations(config_.core_, layers_.strengths(), faults_);
  nameLayers();
  return std::move(config_);
}

// "queue.stream.lease" is the option "lease" of the queue plugin "stream"; "queue" alone and everything else
// is ours.
void ConfigReader::split() {
  for (const auto& [key, value] : values_) {
    const std::size_t first = key.find('.');
    const std::size_t second = first == std::string::npos ? first : key.find('.', first + 1);
    const std::string head = key.substr(0, first);
    if (second == std::string::npos || (head != "queue" && head != "store")) {
      core_[key] = value;
      continue;
    }
    const PluginKind kind = head == "queue" ? PluginKind::Queue : PluginKind::Store;
    plugins_[kind][key.substr(first + 1, second - first - 1)][key.substr(second + 1)] = value;
  }
}

void ConfigReader::select(PluginLoader& loader, PluginKind kind, const PluginDescriptor*& plugin,
                          OptionMap& options) {
  const std::string kindName(pluginKindName(kind));
  const std::string& selected = config_.core_.text(kindName);
  const auto loaded = loader.load(kind, selected);
  if (loaded) {
    plugin = loaded.value();
    options = check(tableOf(*plugin), plugins_[kind][selected], prefixOf(kind, selected));
  } else {
    faults_.push_back({kindName, loaded.error().text});
  }
  for (const auto& [name, given] : plugins_[kind]) {
    if (name != selected) checkUnselected(loader, kind, name, given);
  }
}

// One file may hold the options of several plugins, of which a line selects one. What is missing there does
// not matter now.
void ConfigReader::checkUnselected(PluginLoader& loader, PluginKind kind, const std::string& name,
                                   const Values& given) {
  const std::string prefix = prefixOf(kind, name);
  const auto loaded = loader.load(kind, name);
  if (!loaded) {
    faults_.push_back({prefix + given.begin()->first, loaded.error().text});
    return;
  }
  std::vector<ConfigFault> found;
  (void)checkOptions(tableOf(*loaded.value()), given, prefix, found);
  for (ConfigFault& fault : found) {
    if (values_.contains(fault.key)) faults_.push_back(std::move(fault));
  }
  refuseOpenSecrets(tableOf(*loaded.value()), prefix);
}

OptionMap ConfigReader::check(std::span<const OptionSpec> table, const Values& given,
                              const std::string& prefix) {
  OptionMap map = checkOptions(table, given, prefix, faults_);
  refuseOpenSecrets(table, prefix);
  recordOrigins(table, prefix);
  return map;
}

void ConfigReader::refuseOpenSecrets(std::span<const OptionSpec> table, const std::string& prefix) {
  for (const OptionSpec& spec : table) {
    const std::string key = prefix + spec.key;
    if (!spec.secret) continue;
    for (const std::string& place : layers_.openPlacesOf(key)) {
      std::string text = "is a secret and stands in the open (";
      text.append(place)
          .append("); give it by ")
          .append(environmentName(key))
          .append(" or name its file in ");
      text.append(key).append(".file, then change it: others may have read it");
      faults_.push_back({key, std::move(text)});
    }
  }
}

void ConfigReader::recordOrigins(std::span<const OptionSpec> table, const std::string& prefix) {
  for (const OptionSpec& spec : table) {
    const std::string key = prefix + spec.key;
    const std::string file = key + ".file";
    const std::string byFile = spec.secret ? layers_.originOf(file) : "";
    std::string origin = layers_.originOf(key);
    if (!byFile.empty()) origin.assign(file).append(", ").append(byFile);
    if (!origin.empty()) config_.origins_[key] = std::move(origin);
  }
}

void ConfigReader::nameLayers() {
  for (ConfigFault& fault : faults_) {
    const std::string origin = layers_.originOf(fault.key);
    const bool named = origin.empty() || fault.text.find("(" + origin + ")") != std::string::npos;
    if (!named) fault.text += " (" + origin + ")";
  }
}

}  // namespace sluice
