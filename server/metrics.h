// The metrics page in Prometheus' text format, built from the figures that engine and front keep anyway.
//
// Limits:   labels come from fixed lists (verdicts, status classes), so the number of series never depends
//           on what clients send.
#pragma once

#include <string>

#include "sluice/engine.h"

#include "front.h"
#include "service.h"

namespace sluice::server {

[[nodiscard]] std::string metricsText(const EngineStats& engine, const Readiness& readiness,
                                      const FrontStats& front, const AnswerCounts& answers);

}  // namespace sluice::server
