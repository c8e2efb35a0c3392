// Opens log, Redis, qualifier, queue and store in this order, and closes them in reverse.
#include "sluice/system.h"

#include <filesystem>

#include "sluice/embedded_redis.h"
#include "sluice/lua_qualifier.h"
#include "sluice/plugin.h"
#include "sluice/program_log.h"

namespace sluice {

namespace {

Error misconfigured(const std::string& text) { return {ErrorCode::Misconfigured, text}; }

std::size_t sizeOf(const OptionMap& options, std::string_view key) {
  return static_cast<std::size_t>(options.integer(key));
}

// A command speaks by what it prints; only trouble goes to its log, unless somebody asked for more.
LogLevel logLevelFor(const Config& config, SystemUse use) {
  const LogLevel level = logLevelOf(config.core().text("log.level"));
  return use == SystemUse::Command && level == LogLevel::Info ? LogLevel::Warning : level;
}

class OpenSystem final : public System {
 public:
  OpenSystem(const Config& config, SystemUse use) : config_(config), use_(use) {}
  ~OpenSystem() override { close(); }
  OpenSystem(const OpenSystem&) = delete;
  OpenSystem& operator=(const OpenSystem&) = delete;

  Status open(Deadline deadline) {
    for (const auto step :
         {&OpenSystem::openLog, &OpenSystem::openRedis, &OpenSystem::openQueue, &OpenSystem::openStore}) {
      if (Status done = (this->*step)(deadline); !done) return done;
    }
    return use_ == SystemUse::Command ? startParts(deadline) : Status();
  }

  [[nodiscard]] Parts parts() noexcept override {
    return {*qualifier_, *queue_, *store_, systemClock(), systemRandom(), *log_};
  }

  [[nodiscard]] EngineOptions engineOptions() const override {
    const OptionMap& core = config_.core();
    EngineOptions options;
    options.role = config_.role();
    options.journal = core.boolean("journal");
    options.instance = config_.instance();
    options.inFlightMax = sizeOf(core, "gate.inflight.max");
    options.batchesInFlight = sizeOf(core, "gate.batches");
    options.workers = sizeOf(core, "fulfilment.workers");
    options.batchMax = sizeOf(core, "fulfilment.batch");
    options.payWithin = core.duration("orders.pay.within");
    options.failuresMax = static_cast<std::uint32_t>(core.integer("fulfilment.failures.max"));
    options.deliveriesMax = static_cast<std::uint32_t>(core.integer("fulfilment.deliveries.max"));
    options.retryBase = core.duration("fulfilment.retry.base");
    options.retryMax = core.duration("fulfilment.retry.max");
    options.leaseDuration = core.duration("process.lease");
    options.forwarderLease = core.duration("forwarder.lease");
    options.forwarderStale = core.duration("forwarder.stale");
    options.orderPace = core.duration("fulfilment.pace");
    return options;
  }

 private:
  Status openLog(Deadline) {
    auto log = makeProgramLog(logLevelFor(config_, use_), config_.core().text("log.file"));
    if (!log) return log.error();
    log_ = std::move(log).take();
    return {};
  }

  Status openRedis(Deadline deadline) {
    const OptionMap& core = config_.core();
    // Whoever needs the folder says so where it cannot be made; a front with servers elsewhere runs without
    // one.
    std::error_code ignored;
    std::filesystem::create_directories(config_.dataDir(), ignored);
    if (core.boolean("redis.embedded")) {
      auto embedded = EmbeddedRedis::start(
          {config_.dataDir(), core.text("redis.append.fsync"), use_ == SystemUse::Serve}, *log_, deadline);
      if (!embedded) return embedded.error();
      embedded_ = std::move(embedded).take();
    }
    LuaQualifierOptions options;
    options.target = config_.redisTarget();
    options.keyPrefix = core.text("redis.prefix");
    options.journal = core.boolean("journal");
    options.journalMax = core.integer("journal.max");
    // One for each script call and fulfilment thread; three for health, the steps of the engine (the forwarder
    // waits on one of its own), and look-ups of people.
    options.connections = sizeOf(core, "gate.batches") + sizeOf(core, "fulfilment.workers") + 3;
    qualifier_ = makeLuaQualifier(std::move(options), systemClock(), systemRandom(), *log_);
    return {};
  }

  Status openQueue(Deadline) {
    const OptionMap& core = config_.core();
    const bool journal = core.boolean("journal");
    // A command must not be taken for the server that runs beside it: what was delivered to that one is not
    // its own.
    const std::string instance = config_.instance() + (use_ == SystemUse::Command ? ":command" : "");
    auto queue = config_.queuePlugin().makeQueue(
        {config_.queueOptions(), *log_, systemClock(), systemRandom(), config_.redisTarget(),
         core.text("redis.prefix"), instance, sizeOf(core, "fulfilment.workers"), journal,
         core.integer("journal.max")});
    const std::string name = "queue " + core.text("queue");
    if (!queue) return queue.error().during(name);
    queue_ = std::move(queue).take();
    const QueueTraits& traits = queue_->traits();
    if (traits.readsJournal && !journal)
      return misconfigured(name + " reads the journal; journal = off does not go with it");
    if (config_.role() != Role::All && !traits.multiProcess) {
      return misconfigured(name + " lives in one process; role = " + core.text("role") +
                           " does not go with it, use role = all");
    }
    return {};
  }

  Status openStore(Deadline) {
    auto store = config_.storePlugin().makeStore(
        {config_.storeOptions(), *log_, systemClock(), systemRandom(), config_.dataDir()});
    if (!store) return store.error().during("store " + config_.core().text("store"));
    store_ = std::move(store).take();
    return {};
  }

  Status startParts(Deadline deadline) {
    const std::string store = "store " + config_.core().text("store");
    if (const Status done = store_->migrate(deadline); !done) return done.error().during(store);
    if (const Status done = store_->start(deadline); !done) return done.error().during(store);
    if (const Status done = qualifier_->start(deadline); !done) return done.error().during("qualifier");
    if (const Status done = queue_->start(deadline); !done)
      return done.error().during("queue " + config_.core().text("queue"));
    return {};
  }

  void close() noexcept {
    if (queue_) queue_->close();
    if (qualifier_) qualifier_->stop();
    if (store_) store_->close();
  }

  const Config config_;  // a copy: plugins hold references into it
  const SystemUse use_;
  std::unique_ptr<ProgramLog> log_;
  std::unique_ptr<EmbeddedRedis> embedded_;
  std::unique_ptr<Qualifier> qualifier_;
  std::unique_ptr<OrderStore> store_;
  std::unique_ptr<OrderQueue> queue_;
};

}  // namespace

Result<std::unique_ptr<System>> System::open(const Config& config, SystemUse use, Deadline deadline) {
  auto system = std::make_unique<OpenSystem>(config, use);
  if (const Status done = system->open(deadline); !done) return done.error();
  return std::unique_ptr<System>(std::move(system));
}

}  // namespace sluice
