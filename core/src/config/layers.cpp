// Fills the layers; remembers where each value stands, for messages and `config show`.
#include "config/layers.h"

#include <algorithm>
#include <string_view>

#include <Poco/Util/MapConfiguration.h>

#include "sluice/printable.h"

namespace sluice {

namespace {

constexpr std::string_view kEnvironmentPrefix = "SLUICE_";
constexpr std::string_view kSet = "--set";

// Kubernetes puts such names into every container when a service is called "sluice"; nobody wrote them.
bool isServiceLink(std::string_view name) noexcept {
  return name == "SLUICE_PORT" || name.starts_with("SLUICE_PORT_") || name.starts_with("SLUICE_SERVICE_");
}

char lowered(char each) noexcept {
  return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
}

// "http.port" for SLUICE_HTTP_PORT; empty where the name is not one of ours.
std::string keyOfEnvironment(std::string_view name) {
  std::string key;
  for (const char each : name.substr(kEnvironmentPrefix.size())) {
    if (each >= 'a' && each <= 'z') return {};
    key += each == '_' ? '.' : lowered(each);
  }
  return isOptionKey(key) ? key : std::string();
}

// Keys of a Poco configuration are a tree, and an inner node may have a value of its own (`queue` and
// `queue.stream.lease`).
void collect(const Poco::Util::AbstractConfiguration& from, const std::string& parent,
             std::map<std::string, std::string>& values) {
  Poco::Util::AbstractConfiguration::Keys children;
  from.keys(parent, children);
  for (const std::string& child : children) {
    std::string key = parent;
    key.append(parent.empty() ? "" : ".").append(child);
    if (from.hasProperty(key)) values[key] = from.getRawString(key);
    collect(from, key, values);
  }
}

}  // namespace

Layers::Layers(const ConfigSources& sources, std::vector<ConfigFault>& faults) {
  for (const std::string& path : sources.files) {
    addFile(path, faults);
  }
  addEnvironment(sources, faults);
  addSets(sources, faults);
}

void Layers::addFile(const std::string& path, std::vector<ConfigFault>& faults) {
  PropertyFile file = readPropertyFile(path, faults);
  if (!file.values) return;
  Layer layer{std::move(file.values), {}, false};
  for (const auto& [key, line] : file.lines) {
    layer.places[key] = printable(path, 300) + ":" + std::to_string(line);
  }
  add(std::move(layer));
}

void Layers::addEnvironment(const ConfigSources& sources, std::vector<ConfigFault>& faults) {
  Layer layer{new Poco::Util::MapConfiguration, {}, true};
  for (const auto& [name, value] : sources.environment) {
    if (!name.starts_with(kEnvironmentPrefix) || isServiceLink(name)) continue;
    const std::string key = keyOfEnvironment(name);
    if (key.empty()) {
      faults.push_back({printable(name), "malformed name in the environment; http.port is SLUICE_HTTP_PORT"});
      continue;
    }
    layer.values->setString(key, value);
    layer.places[key] = "environment " + name;
  }
  add(std::move(layer));
}

void Layers::addSets(const ConfigSources& sources, std::vector<ConfigFault>& faults) {
  Layer layer{new Poco::Util::MapConfiguration, {}, false};
  for (const auto& [key, value] : sources.sets) {
    if (!isOptionKey(key)) {
      faults.push_back({printable(key), "malformed key (--set); write --set http.port=8080"});
      continue;
    }
    layer.values->setString(key, value);
    layer.places[key] = kSet;
  }
  add(std::move(layer));
}

void Layers::add(Layer layer) {
  layers_.push_back(std::move(layer));
  // Poco's lower number is the stronger layer.
  merged_->add(layers_.back().values, -static_cast<int>(layers_.size()), false);
}

std::map<std::string, std::string> Layers::values() const {
  std::map<std::string, std::string> values;
  collect(*merged_, "", values);
  return values;
}

std::string Layers::originOf(const std::string& key) const {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const auto place = layer->places.find(key);
    if (place != layer->places.end()) return place->second;
  }
  return {};
}

std::map<std::string, std::size_t> Layers::strengths() const {
  std::map<std::string, std::size_t> ranks;
  for (std::size_t rank = 0; rank < layers_.size(); ++rank) {
    for (const auto& [key, place] : layers_[rank].places) {
      ranks[key] = rank;
    }
  }
  return ranks;
}

std::vector<std::string> Layers::openPlacesOf(const std::string& key) const {
  std::vector<std::string> open;
  for (const Layer& layer : layers_) {
    const auto place = layer.places.find(key);
    if (!layer.environment && place != layer.places.end()) open.push_back(place->second);
  }
  return open;
}

std::string environmentName(std::string_view key) {
  std::string name(kEnvironmentPrefix);
  for (const char each : key) {
    name += each == '.' ? '_' : each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
  }
  return name;
}

}  // namespace sluice
