// Handlers of what anyone may see of vouchers: the list, and one with its live stock.
#pragma once

#include "service.h"

namespace sluice::server {

void addVoucherRoutes(RouteList& list, Engine& engine, Parts parts);

}  // namespace sluice::server
