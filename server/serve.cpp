// The server's life: open in order, announce, wait for the signal, stop in reverse order.
#include "serve.h"

#include <csignal>
#include <cstdio>

#include <Poco/Util/ServerApplication.h>

#include "sluice/system.h"

#include "service.h"

namespace sluice::server {

namespace {

constexpr milliseconds kOpenDeadline{30000};
constexpr milliseconds kStoreQuestion{2000};
// Together below ten seconds, after which service managers kill.
constexpr milliseconds kFrontStopDeadline{4000};
constexpr milliseconds kEngineStopDeadline{5000};

int exitCode(const Error& error) noexcept {
  switch (errorTraits(error.code).fault) {
    case Fault::Caller:
    case Fault::Operator:
      return 2;
    case Fault::Dependency:
      return 3;
    case Fault::Ours:
      break;
  }
  return 1;
}

int refuse(const Error& error) {
  std::fprintf(stderr, "sluice: cannot serve: %s\n", error.text.c_str());
  return exitCode(error);
}

FrontOptions frontOptions(const OptionMap& core) {
  FrontOptions options;
  options.address = core.text("http.address");
  options.port = static_cast<std::uint16_t>(core.integer("http.port"));
  options.threads = static_cast<std::size_t>(core.integer("http.threads"));
  options.queueMax = static_cast<std::size_t>(core.integer("http.queue"));
  options.backlog = static_cast<std::size_t>(core.integer("http.backlog"));
  options.keepAlive = core.duration("http.keepalive");
  options.requestTimeout = core.duration("http.request.timeout");
  return options;
}

std::string_view roleName(Role role) noexcept {
  return role == Role::All ? "all" : role == Role::Front ? "front" : "worker";
}

// "http://127.0.0.1:8080"; IPv6 addresses in brackets.
std::string urlOf(const FrontOptions& options, std::uint16_t port) {
  const bool v6 = options.address.find(':') != std::string::npos;
  return "http://" + (v6 ? "[" + options.address + "]" : options.address) + ":" + std::to_string(port);
}

// The token of the configuration, or of the generated file; empty where neither is wanted.
Result<std::string> adminToken(const Config& config, Log& log) {
  const OptionMap& core = config.core();
  if (!core.text("admin.token").empty() || !core.boolean("admin.token.generate"))
    return core.text("admin.token");
  auto token = generatedAdminToken(config.dataDir());
  if (token.ok()) log.info("http", "the operator's token is in " + adminTokenPath(config.dataDir()));
  return token;
}

void writeRoutes(const Router& router, Log& log) {
  for (const Route& route : router.routes()) {
    log.write(LogLevel::Debug, "http",
              std::string(methodName(route.method))
                  .append(" ")
                  .append(route.pattern)
                  .append(" for ")
                  .append(accessName(route.access)));
  }
}

class ServerProgram final : public Poco::Util::ServerApplication {
 public:
  explicit ServerProgram(const Config& config) : config_(config) {}

 protected:
  int main(const std::vector<std::string>&) override {
    auto system = System::open(config_, SystemUse::Serve, Deadline::in(kOpenDeadline));
    if (!system.ok()) return refuse(system.error());
    Parts parts = system.value()->parts();
    const auto engine = Engine::make(parts, system.value()->engineOptions());
    const auto token = adminToken(config_, parts.log);
    if (!token.ok()) return refuse(token.error());
    const ServiceOptions options{config_.role(), config_.core().boolean("payment.demo"), token.value()};
    Service service(*engine, parts, options, makeHeaderAuth());
    return serveWith(*engine, service, parts);
  }

 private:
  int serveWith(Engine& engine, Service& service, Parts& parts) {
    const FrontOptions options = frontOptions(config_.core());
    if (config_.core().text("http.front") != "threaded") {
      return refuse({ErrorCode::Misconfigured,
                     "http.front = reactor is not built into this program; use http.front = threaded"});
    }
    const auto front = makeThreadedFront(options, service, parts.clock, parts.log);
    // First the address, because it may be taken, and then nothing else should have been touched.
    if (const Status opened = front->open(); !opened.ok()) return refuse(opened.error());
    if (const Status started = engine.start(Deadline::in(kOpenDeadline)); !started.ok())
      return refuse(started.error());
    service.watch(*front);
    if (parts.log.enabled(LogLevel::Debug)) writeRoutes(service.router(), parts.log);
    front->start();
    announce(engine, parts, urlOf(options, front->port()));
    waitForTerminationRequest();
    parts.log.info("http", "stopping: no new connections; finishing what is under way");
    front->stop(Deadline::in(kFrontStopDeadline));
    engine.stop(Deadline::in(kEngineStopDeadline));
    parts.log.info("http", "stopped");
    return 0;
  }

  void announce(const Engine& engine, const Parts& parts, const std::string& url) const {
    const Readiness readiness = engine.readiness();
    std::string promises = "role " + std::string(roleName(config_.role())) + ", durability ";
    promises.append(durabilityName(readiness.durability))
        .append(", queue ")
        .append(config_.queuePlugin().name);
    promises.append(", store ").append(config_.storePlugin().name);
    // What a commit means at the database's settings; a store that is away just now says nothing.
    if (const auto meant = parts.store.durability(Deadline::in(kStoreQuestion)); meant) {
      promises.append(" (").append(meant.value()).append(")");
    }
    std::printf("sluice: ready on %s\nsluice: %s\n", url.c_str(), promises.c_str());
    if (!config_.core().boolean("journal")) {
      constexpr std::string_view kWarning =
          "journal = off: orders that this process holds in memory are lost when it dies; audit shows them";
      std::printf("sluice: %s\n", kWarning.data());
      parts.log.warning("http", kWarning);
    }
    std::fflush(stdout);
    parts.log.info("http", "ready on " + url + ", " + promises);
    for (const std::string& reason : readiness.reasons)
      parts.log.warning("http", "not taking orders yet: " + reason);
  }

  const Config& config_;
};

// Every thread started from here on leaves these signals to the main thread, which waits for them.
void keepSignalsForMain() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGQUIT})
    sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

int serve(const Config& config) {
  keepSignalsForMain();
  ServerProgram program(config);
  char name[] = "sluice";
  char* arguments[] = {name, nullptr};
  return program.run(1, arguments);
}

}  // namespace sluice::server
