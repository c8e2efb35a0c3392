// The real parts of a configuration, opened in this process; and an engine over them that fails on command.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/engine.h"
#include "sluice/system.h"

#include "support/faulty_qualifier.h"
#include "support/faulty_queue.h"
#include "support/faulty_store.h"

namespace sluice::test {

// Configuration keys with their values; later ones win.
using Settings = std::vector<std::pair<std::string, std::string>>;

// With the plugins of this build. Throws std::runtime_error with every fault of the configuration.
[[nodiscard]] std::unique_ptr<System> openSystem(const Settings& settings, SystemUse use);

// Redis, queue and store are those of the configuration; each stands behind the wrapper that makes it fail.
class FaultyEngine {
 public:
  explicit FaultyEngine(const Settings& settings);
  ~FaultyEngine();
  FaultyEngine(const FaultyEngine&) = delete;
  FaultyEngine& operator=(const FaultyEngine&) = delete;

  void start();  // throws std::runtime_error where it does not come up ready
  void stop();

  [[nodiscard]] FaultyQualifier& qualifier() noexcept { return qualifier_; }
  [[nodiscard]] FaultyQueue& queue() noexcept { return queue_; }
  [[nodiscard]] FaultyStore& store() noexcept { return store_; }
  [[nodiscard]] Engine& engine() noexcept { return *engine_; }
  [[nodiscard]] Parts parts() noexcept;

  // A voucher that is on sale now, created and loaded.
  void sell(VoucherId id, std::int64_t stock, std::int32_t limitPerUser = 1);
  // Users 1 .. count, each once, from several threads; answers what each was told, by user.
  [[nodiscard]] std::vector<OrderAnswer> orderAll(VoucherId voucher, std::int64_t count);

 private:
  std::unique_ptr<System> system_;
  FaultyQualifier qualifier_;
  FaultyQueue queue_;
  FaultyStore store_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace sluice::test
