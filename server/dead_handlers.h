// Handlers of operators for dead letters: one by one, and by a filter.
#pragma once

#include "service.h"

namespace sluice::server {

void addDeadRoutes(RouteList& list, Parts parts);

}  // namespace sluice::server
