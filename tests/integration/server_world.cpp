// See server_world.h.
#include "integration/server_world.h"

#include <atomic>
#include <stdexcept>

namespace sluice::test {

ServerWorld::ServerWorld(DatabaseServer& server, const PluginDescriptor& plugin)
    : server_(server), plugin_(plugin) {
  static std::atomic<int> made{0};
  database_ = "world" + std::to_string(++made);
  for (const auto& [key, value] : server.database().storeOptions(database_)) {
    options_[key] = value;
  }
  server_.createDatabase(database_);
}

ServerWorld::~ServerWorld() { server_.dropDatabase(database_); }

std::unique_ptr<OrderStore> ServerWorld::makeWith(const PluginOptions& more) {
  PluginOptions all = more;
  all.insert(options_.begin(), options_.end());  // what is there already stays
  std::vector<ConfigFault> faults;
  const OptionMap map = checkOptions({plugin_.options, plugin_.optionCount}, all,
                                     "store." + std::string(plugin_.name) + ".", faults);
  if (!faults.empty()) throw std::runtime_error(faults.front().key + ": " + faults.front().text);
  auto store = plugin_.makeStore({.options = map,
                                  .log = noLog(),
                                  .clock = systemClock(),
                                  .random = systemRandom(),
                                  .dataDir = server_.database().folder()});
  if (!store) throw std::runtime_error(store.error().text);
  return std::move(store).take();
}

}  // namespace sluice::test
