// What all connections of a threaded front share: options, the service, counters, the signal to stop.
#pragma once

#include <atomic>
#include <cstdint>

#include "connection_gauge.h"
#include "front.h"

namespace sluice::server {

struct FrontShared {
  FrontShared(FrontOptions frontOptions, HttpService& httpService, const Clock& itsClock, Log& itsLog)
      : options(std::move(frontOptions)),
        service(httpService),
        clock(itsClock),
        log(itsLog),
        gauge(static_cast<std::int64_t>(options.threads)) {}

  FrontOptions options;
  std::size_t connectionsMax = 0;  // of all kinds: what threads, queue and this process' descriptors allow
  HttpService& service;
  const Clock& clock;
  Log& log;
  ConnectionGauge gauge;                // connections that have said something
  std::atomic<std::int64_t> silent{0};  // connections that have not
  std::atomic<bool> stopping{false};
  std::atomic<bool> listening{false};  // new connections are let in
  // Counters of their own, relaxed.
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> timedOut{0};
};

}  // namespace sluice::server
