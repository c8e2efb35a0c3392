// The layers of a configuration over Poco's LayeredConfiguration: files in their order, the environment,
// --set; later over earlier.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <Poco/AutoPtr.h>
#include <Poco/Util/LayeredConfiguration.h>

#include "sluice/config.h"

#include "config/property_file.h"

namespace sluice {

class Layers {
 public:
  // Malformed lines and names are appended to `faults`.
  Layers(const ConfigSources& sources, std::vector<ConfigFault>& faults);

  // Every key that some layer gives, with the value that wins; never expanded.
  [[nodiscard]] std::map<std::string, std::string> values() const;
  // Where the winning value stands: "conf/sale.properties:12", "environment SLUICE_HTTP_PORT", "--set"; empty
  // where nowhere.
  [[nodiscard]] std::string originOf(const std::string& key) const;
  // Every key that some layer gives, with the rank of the strongest layer that does; higher is stronger.
  [[nodiscard]] std::map<std::string, std::size_t> strengths() const;
  // The places of a key where a secret may not stand (files and --set), in any layer.
  [[nodiscard]] std::vector<std::string> openPlacesOf(const std::string& key) const;

 private:
  struct Layer {
    Poco::AutoPtr<Poco::Util::AbstractConfiguration> values;
    std::map<std::string, std::string> places;  // key -> where it stands in this layer
    bool environment = false;
  };
  void addFile(const std::string& path, std::vector<ConfigFault>& faults);
  void addEnvironment(const ConfigSources& sources, std::vector<ConfigFault>& faults);
  void addSets(const ConfigSources& sources, std::vector<ConfigFault>& faults);
  void add(Layer layer);

  std::vector<Layer> layers_;  // weakest first
  Poco::AutoPtr<Poco::Util::LayeredConfiguration> merged_{new Poco::Util::LayeredConfiguration};
};

// SLUICE_HTTP_PORT for http.port.
[[nodiscard]] std::string environmentName(std::string_view key);

}  // namespace sluice
