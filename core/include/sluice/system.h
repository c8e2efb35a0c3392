// System: everything a command needs, opened from a checked configuration in the right order.
//
// Role:     used by server, CLI and lab: log, embedded Redis where asked for, qualifier, queue, store.
//           Lifetime: open() builds; the destructor closes in reverse order. Parts live as long as the
//           System.
// Errors:   Misconfigured with a text for people.
#pragma once

#include <memory>

#include "sluice/config.h"
#include "sluice/engine.h"
#include "sluice/operations.h"
#include "sluice/result.h"

namespace sluice {

enum class SystemUse : std::uint8_t {
  Serve,   // supervises the embedded Redis (starts it again when it dies); parts are not started: the engine
           // does that
  Command  // attaches to a running embedded Redis or runs one for the length of the command; parts are
           // started and migrated
};

class System {
 public:
  [[nodiscard]] static Result<std::unique_ptr<System>> open(const Config& config, SystemUse use,
                                                            Deadline deadline);
  virtual ~System();
  [[nodiscard]] virtual Parts parts() noexcept = 0;
  [[nodiscard]] virtual EngineOptions engineOptions() const = 0;
};

}  // namespace sluice
