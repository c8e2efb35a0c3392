// A server that a fleet uses, a database or a broker: it is killed and frozen, and the line to it is broken.
#pragma once

#include "support/fault_proxy.h"

namespace sluice::test {

class FleetServer {
 public:
  virtual ~FleetServer();
  [[nodiscard]] virtual FaultProxy& line() = 0;  // all processes of the fleet reach it over this one
  virtual void kill() = 0;
  virtual void start() = 0;  // again, where it was killed
  virtual void freeze() = 0;
  virtual void resume() = 0;
};

}  // namespace sluice::test
