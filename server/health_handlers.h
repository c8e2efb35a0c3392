// Handlers for machines that watch: alive, ready, metrics.
#pragma once

#include "service.h"

namespace sluice::server {

void addHealthRoutes(RouteList& list, Engine& engine, const Service& service);

}  // namespace sluice::server
