// Handlers of buyers' orders: order, status, cancel, and the demo payment.
#pragma once

#include "service.h"

namespace sluice::server {

// The engine and the parts outlive the routes. `pay` exists only with `demoPayment`.
void addOrderRoutes(RouteList& list, Engine& engine, Parts parts, bool demoPayment);

}  // namespace sluice::server
