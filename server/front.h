// Front: accepts connections, reads requests strictly, writes answers. Two implementations, chosen by
// `http.front`.
//
// Role:     owns sockets and threads; knows nothing of routes. Gives each sound request to the HttpService
//           and refuses the others itself, with the service's form of refusal.
// Threads:  open, start, stop by the owner; stats from any thread. The service is called from many threads
//           at once. Lifetime: construction is inert. open() binds and listens (connections wait), start()
//           begins to answer, stop() lets no new connection in, finishes what is being answered, closes
//           idle connections and returns at the deadline at the latest; idempotent. The destructor stops.
// Errors:   Misconfigured where address or port cannot be had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/result.h"

#include "http_message.h"

namespace sluice::server {

struct FrontOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;          // 0: any free one
  std::size_t threads = 256;          // answers at one time
  std::size_t queueMax = 20000;       // connections that wait for a thread; more wait in the kernel
  std::size_t backlog = 4096;         // connections that wait in the kernel
  milliseconds keepAlive{5000};       // an idle connection is closed after this
  milliseconds requestTimeout{5000};  // for a whole head, and again for a whole body
};

struct FrontStats {
  std::int64_t connections = 0;  // open, with those that wait
  std::int64_t waiting = 0;      // for a thread
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;  // given to the service
  std::uint64_t refused = 0;   // not understood, too large, of a wrong form
  std::uint64_t timedOut = 0;  // sent half
};

// What the front serves. Must answer whatever happens.
class HttpService {
 public:
  virtual ~HttpService();
  // The largest body this request may bring; asked before it is read.
  [[nodiscard]] virtual std::size_t bodyMax(Method method, std::string_view path) const noexcept = 0;
  virtual void answer(const HttpRequest& request, HttpResponse& response) noexcept = 0;
  // Fills the refusal of a request that never became one.
  virtual void refuse(const HttpFault& fault, HttpResponse& response) noexcept = 0;
};

class Front {
 public:
  virtual ~Front();
  [[nodiscard]] virtual Status open() = 0;
  [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;  // after open()
  virtual void start() = 0;
  virtual void stop(Deadline deadline) noexcept = 0;
  [[nodiscard]] virtual FrontStats stats() const noexcept = 0;
};

// Poco::Net::HTTPServer: a thread for each connection that is being answered. The service, log and clock
// outlive it.
[[nodiscard]] std::unique_ptr<Front> makeThreadedFront(FrontOptions options, HttpService& service,
                                                       const Clock& clock, Log& log);

}  // namespace sluice::server
