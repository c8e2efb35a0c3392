// Handlers of operators: vouchers, refunds, audit.
#pragma once

#include "service.h"

namespace sluice::server {

void addAdminRoutes(RouteList& list, Parts parts);

}  // namespace sluice::server
