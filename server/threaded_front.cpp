// The threaded front: Poco::Net::HTTPServer over strict sockets.
#include <thread>

#include <Poco/Exception.h>
#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequestImpl.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/ThreadPool.h>
#include <sys/resource.h>

#include "batch_scheduling.h"
#include "front.h"
#include "server_limits.h"
#include "strict_socket.h"
#include "waiting_listener.h"

namespace sluice::server {

HttpService::~HttpService() = default;
Front::~Front() = default;

namespace {

Poco::Timespan toTimespan(milliseconds time) { return Poco::Timespan(time.count() * 1000); }

// Poco calls it once for each request; the request itself is in the socket.
class Handler final : public Poco::Net::HTTPRequestHandler {
 public:
  void handleRequest(Poco::Net::HTTPServerRequest& request,
                     Poco::Net::HTTPServerResponse& response) override {
    auto& own = static_cast<Poco::Net::HTTPServerRequestImpl&>(request);
    response.setKeepAlive(static_cast<StrictSocket*>(own.socket().impl())->answer());
  }
};

class HandlerFactory final : public Poco::Net::HTTPRequestHandlerFactory {
 public:
  Poco::Net::HTTPRequestHandler* createRequestHandler(const Poco::Net::HTTPServerRequest&) override {
    return new Handler;
  }
};

// A ServerSocket around our implementation; Poco's constructor for that is protected.
class Listener final : public Poco::Net::ServerSocket {
 public:
  explicit Listener(FrontShared& shared) : ServerSocket(new WaitingListener(shared), true) {}
  void prepare() { static_cast<WaitingListener*>(impl())->prepare(); }
};

// As many descriptors as the system lets us have; answers how many connections they are good for.
std::size_t connectionsPossible() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return limits::kDescriptorsReserved;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  constexpr rlim_t kLeast = 64;
  return limit.rlim_cur > limits::kDescriptorsReserved + kLeast
             ? limit.rlim_cur - limits::kDescriptorsReserved
             : kLeast;
}

class ThreadedFront final : public Front {
 public:
  ThreadedFront(FrontOptions options, HttpService& service, const Clock& clock, Log& log)
      : shared_(std::move(options), service, clock, log) {}

  ~ThreadedFront() override { stop(Deadline::in(milliseconds(0))); }

  Status open() override {
    try {
      limitConnections();
      Listener listener(shared_);
      const Poco::Net::SocketAddress address(shared_.options.address, shared_.options.port);
      listener.bind(address, true, false);  // a second server on the port is an error, so no SO_REUSEPORT
      listener.listen(static_cast<int>(shared_.options.backlog));
      listener.prepare();
      port_ = listener.address().port();
      makeServer(listener);
      return {};
    } catch (const Poco::Exception& error) {
      return {ErrorCode::Misconfigured,
              "cannot listen on " + shared_.options.address + ":" + std::to_string(shared_.options.port) +
                  ": " + error.displayText() + "; set http.address and http.port to one that is free"};
    }
  }

  std::uint16_t port() const noexcept override { return port_; }

  void start() override {
    const BatchScheduling batch;  // Poco's listener, and the threads that it starts for connections
    shared_.listening.store(true, std::memory_order_release);
    server_->start();
  }

  void stop(Deadline deadline) noexcept override {
    if (!server_ || stopped_) return;
    stopped_ = true;
    shared_.stopping.store(true, std::memory_order_release);
    try {
      waitForConnections(deadline);
      server_->stopAll(true);
      pool_->joinAll();
    } catch (const Poco::Exception& error) {
      shared_.log.error("http", "stop: " + error.displayText());
    }
  }

  FrontStats stats() const noexcept override {
    return {shared_.gauge.open() + shared_.silent.load(std::memory_order_relaxed),
            shared_.gauge.waiting(),
            shared_.accepted.load(std::memory_order_relaxed),
            shared_.requests.load(std::memory_order_relaxed),
            shared_.refused.load(std::memory_order_relaxed),
            shared_.timedOut.load(std::memory_order_relaxed)};
  }

 private:
  // Threads and queue together stay within the descriptors of this process.
  void limitConnections() {
    const std::size_t most = connectionsPossible();
    shared_.options.threads = std::min(shared_.options.threads, most / 2);
    shared_.connectionsMax = std::min(shared_.options.threads + shared_.options.queueMax, most);
    shared_.log.info("http",
                     "at most " + std::to_string(shared_.connectionsMax) + " connections at one time");
  }

  void makeServer(const Poco::Net::ServerSocket& listener) {
    const int threads = static_cast<int>(shared_.options.threads);
    // Two more than Poco's dispatcher uses, so that a thread on its way back to the pool never keeps a
    // connection waiting.
    const BatchScheduling batch;  // the pool's first threads
    pool_ = std::make_unique<Poco::ThreadPool>(1, threads + 2);
    Poco::Net::HTTPServerParams::Ptr params = new Poco::Net::HTTPServerParams;
    params->setMaxThreads(threads);
    // One more than the listener lets in, so that Poco never drops one.
    params->setMaxQueued(static_cast<int>(shared_.connectionsMax) + 1);
    // A thread of Poco's that looks for work at the very moment of the stop sleeps this long before it sees
    // it (10 s by default).
    params->setThreadIdleTime(toTimespan(limits::kReadSlice));
    params->setKeepAlive(true);
    params->setKeepAliveTimeout(toTimespan(shared_.options.keepAlive));
    params->setMaxKeepAliveRequests(
        0);  // the socket counts, so that the last answer says that it is the last
    params->setTimeout(toTimespan(shared_.options.requestTimeout));
    server_ = std::make_unique<Poco::Net::HTTPServer>(
        Poco::Net::HTTPRequestHandlerFactory::Ptr(new HandlerFactory), *pool_, listener, params);
  }

  void waitForConnections(Deadline deadline) const {
    constexpr milliseconds kLook{10};
    const auto busy = [this] {
      return shared_.listening.load(std::memory_order_acquire) || shared_.gauge.open() > 0;
    };
    while (busy() && !deadline.passed())
      std::this_thread::sleep_for(kLook);
  }

  FrontShared shared_;
  std::unique_ptr<Poco::ThreadPool> pool_;
  std::unique_ptr<Poco::Net::HTTPServer> server_;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Front> makeThreadedFront(FrontOptions options, HttpService& service, const Clock& clock,
                                         Log& log) {
  return std::make_unique<ThreadedFront>(std::move(options), service, clock, log);
}

}  // namespace sluice::server
