// The engine: builds gate, fulfilment and the steps of its role, starts them in order and ends them in the
// opposite one.
#include "lifecycle/engine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>
#include <utility>

namespace sluice {

std::unique_ptr<Engine> Engine::make(Parts parts, EngineOptions options) {
  return std::make_unique<lifecycle::EngineImpl>(parts, std::move(options));
}

namespace lifecycle {
namespace {

constexpr milliseconds kEverySecond{1000};
constexpr milliseconds kAgainSoon{100};
constexpr milliseconds kStoreWithin{2000};
constexpr milliseconds kOpenWithin{5000};
constexpr milliseconds kReceiveWait{200};
// How long the forwarder waits for an entry: an entry ends the wait, so it costs no time but that of a stop.
constexpr milliseconds kJournalWait{200};
// Rows of one expiry or release step; a backlog is worked off step by step, so that neither keeps the other
// waiting.
constexpr std::size_t kRowsInStep = 1000;
// What a stop keeps of its time for draining and giving the process number back.
constexpr milliseconds kFarewell{500};
// What a stop beyond its deadline still gives to say good-bye.
constexpr milliseconds kLastWord{200};

bool retryable(const Status& status) { return status.ok() || errorTraits(status.error().code).mayRetry; }

// Opens the store; brings its schema up to date where that is what it lacks.
Status openStore(OrderStore& store, Deadline deadline) {
  Status opened = store.start(deadline);
  if (opened || opened.error().code != ErrorCode::Misconfigured) return opened;
  Status migrated = store.migrate(deadline);
  if (!migrated && retryable(migrated)) return migrated;
  if (!migrated) {
    return {ErrorCode::Misconfigured,
            opened.error().text + "; bringing it up to date failed: " + migrated.error().text};
  }
  return store.start(deadline);
}

fulfilment::FulfilmentOptions fulfilmentOptions(const EngineOptions& options) {
  return {options.batchMax,  options.payWithin, options.failuresMax, options.deliveriesMax,
          options.retryBase, options.retryMax,  options.orderPace};
}

// No other process has it, nor has an earlier life of this one.
forward::ForwarderOptions forwarderOptions(const EngineOptions& options, Random& random) {
  constexpr int kHex = 16;
  std::array<char, kHex> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), random.next(), kHex).ptr;
  return {options.instance + "/" + std::string(digits.begin(), end), options.forwarderLease,
          options.forwarderStale};
}

}  // namespace

EngineImpl::EngineImpl(Parts parts, EngineOptions options)
    : parts_(parts),
      options_(std::move(options)),
      gate_(parts, {options_.inFlightMax, options_.batchesInFlight, !options_.journal}, catalog_, ids_),
      lease_(parts.store, parts.clock, parts.log, ids_, options_.instance, options_.leaseDuration),
      health_(parts),
      store_("store", [this](Deadline deadline) { return openStore(parts_.store, deadline); }) {
  if (forwards()) {
    forwarder_ = std::make_unique<forward::Forwarder>(parts, forwarderOptions(options_, parts.random),
                                                      [this] { return health_.report().queueWhy.empty(); });
  }
  for (std::size_t slot = 0; works() && slot < std::max<std::size_t>(1, options_.workers); ++slot) {
    workers_.push_back(
        std::make_unique<fulfilment::Fulfilment>(parts, fulfilmentOptions(options_), slot, counts_));
  }
}

EngineImpl::~EngineImpl() { stop(Deadline::in(kStoreWithin)); }

Status EngineImpl::start(Deadline deadline) {
  const std::lock_guard lock(lifeMutex_);
  Status opened = open(deadline);
  if (!opened) return opened;
  startThreads();
  // Until each has looked once, so that an engine whose servers are all there is ready when start() returns.
  while ((!healthLooked_ || !storeLooked_) && !deadline.passed()) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return opened;
}

// What was opened before a part that refuses is closed again: an engine is up, or holds nothing.
Status EngineImpl::open(Deadline deadline) {
  if (life_ != Life::Made) return {ErrorCode::Stopped, "an engine is started once"};
  Status opened = checkTraits();
  if (opened) opened = openParts(deadline);
  if (!opened) {
    closeParts();
    life_ = Life::Stopped;
    return opened;
  }
  addSteps();
  if (admits()) gate_.open();
  life_ = Life::Started;
  return opened;
}

void EngineImpl::runDue(SteadyTime now) {
  for (StepScheduler& steps : steps_) {
    (void)steps.runDue(now);
  }
}

// What is away is tried again later; what an operator must mend ends the start.
Status EngineImpl::openParts(Deadline deadline) {
  const auto goesOn = [this](const Status& opened) {
    if (!retryable(opened)) return false;
    if (!opened) parts_.log.warning("engine", "starting without " + opened.error().text);
    return true;
  };
  Status store = store_.attempt(deadline.orSooner(kOpenWithin));
  if (!goesOn(store)) return store;
  Status redis = health_.openRedis(deadline.orSooner(kOpenWithin));
  if (!goesOn(redis)) return redis;
  Status queue = health_.openQueue(deadline.orSooner(kOpenWithin));
  return goesOn(queue) ? Status() : queue;
}

Status EngineImpl::checkTraits() const {
  if (!options_.journal && parts_.queue.traits().readsJournal) {
    return {ErrorCode::Misconfigured, "this queue is the journal: set journal = on, or another queue"};
  }
  if (!options_.journal) {
    parts_.log.warning("engine", "journal = off: what this process holds dies with it");
  }
  return {};
}

void EngineImpl::addSteps() {
  const auto line = [this](std::string name, StepScheduler::Step step) {
    steps_.emplace_back(parts_.log).add(std::move(name), std::move(step));
  };
  line("health", [this] { return healthStep(); });
  line("store", [this] { return storeStep(); });
  if (works()) line("lifecycle", [this] { return workStep(); });
  if (admits() && !options_.journal) line("gate", [this] { return oweStep(); });
  if (forwarder_) line("forwarder", [this] { return forwarder_->step(kJournalWait); });
  for (const auto& worker : workers_) {
    line("fulfilment", [&worker] { return worker->step(kReceiveWait); });
  }
}

milliseconds EngineImpl::healthStep() {
  const milliseconds rest = health_.step();
  const HealthReport report = health_.report();
  gate_.hold(report.clockRefused);
  healthLooked_ = true;
  if (!report.queueWhy.empty()) return rest;
  const Status dead =
      catalog_.refreshDeadLetters(parts_.queue, report.queue.deadLetters > 0, Deadline::in(kStoreWithin));
  if (!dead) parts_.log.repeated(LogLevel::Warning, "engine", "dead letters not read", dead.error().text);
  return rest;
}

// The catalog before the lease: an id can only be issued once it is known which vouchers there are.
milliseconds EngineImpl::storeStep() {
  const Status done = talkToStore();
  const std::lock_guard lock(whyMutex_);
  storeWhy_ = done ? std::string() : done.error().text;
  storeLooked_ = true;
  return done ? std::min(kEverySecond, options_.leaseDuration / 4) : kAgainSoon;
}

Status EngineImpl::talkToStore() {
  if (Status opened = store_.attempt(Deadline::in(kStoreWithin)); !opened) return opened;
  auto vouchers = catalog_.refresh(parts_.store, Deadline::in(kStoreWithin));
  if (vouchers) gate_.know(vouchers.value());
  if (admits()) {
    if (Status leased = lease_.step(gate_.admitted(), Deadline::in(kStoreWithin)); !leased) return leased;
  }
  return vouchers ? Status() : vouchers.error().during("read the vouchers");
}

milliseconds EngineImpl::workStep() {
  if (!store_.done()) return kAgainSoon;
  const auto expired = parts_.store.expire(parts_.clock.now(), kRowsInStep, Deadline::in(kStoreWithin));
  if (expired) expired_ += expired.value();
  if (!expired) parts_.log.repeated(LogLevel::Warning, "engine", "expiry", expired.error().text);
  const auto released = releaseStep(parts_, kRowsInStep, Deadline::in(kStoreWithin));
  if (released) counts_.released += released.value();
  if (!released) parts_.log.repeated(LogLevel::Warning, "engine", "release", released.error().text);
  const bool more =
      (expired && expired.value() == kRowsInStep) || (released && released.value() == kRowsInStep);
  return more ? milliseconds(1) : kEverySecond;
}

milliseconds EngineImpl::oweStep() {
  return gate_.takeBackOwed(Deadline::in(kStoreWithin)) > 0 ? kAgainSoon : kEverySecond;
}

void EngineImpl::startThreads() {
  for (StepScheduler& steps : steps_) {
    crew_.add([this, &steps] {
      while (!stopping_.waitUntil(steps.runDue(std::chrono::steady_clock::now()))) {
      }
    });
  }
}

void EngineImpl::stop(Deadline deadline) noexcept {
  const std::lock_guard lock(lifeMutex_);
  if (life_ == Life::Stopped) return;
  life_ = Life::Stopped;
  gate_.close();
  const bool gateIdle = gate_.idleBy(deadline);
  finishQueue(Deadline(deadline.at() - kFarewell));
  stopping_.raise();
  const bool orderly = crew_.doneBy(deadline) && gateIdle;
  handBack(Deadline::in(std::max(kFarewell, deadline.remaining() / 2)));
  if (orderly) sayGoodbye(deadline);
  // What still blocks in a call of a part ends with that part.
  parts_.queue.close();
  parts_.qualifier.stop();
  if (!orderly) {
    parts_.log.warning("engine", "stopped at the deadline with work in hand; it comes again");
    if (crew_.doneBy(Deadline::in(kLastWord))) sayGoodbye(Deadline::in(kLastWord));
  }
  parts_.store.close();
  crew_.join();
  // Every request in the gate is bounded by its own deadline, and everything it could wait for is closed.
  (void)gate_.idleBy(Deadline(SteadyTime::max()));
}

void EngineImpl::closeParts() noexcept {
  parts_.queue.close();
  parts_.qualifier.stop();
  parts_.store.close();
}

// What waits only in a queue that dies with this process is stored before the process ends; what is in the journal
// or outlives it is left to others.
void EngineImpl::finishQueue(Deadline deadline) noexcept {
  if (!works() || !health_.queueOpen() || parts_.queue.traits().durable || options_.journal) return;
  while (!deadline.passed()) {
    const auto stats = parts_.queue.stats(deadline);
    if (!stats || stats.value().ready + stats.value().inFlight == 0) return;
    std::this_thread::sleep_for(milliseconds(5));
  }
}

// Also what a worker holds that still waits for the store: others need not wait for its lease, and where its
// transaction happens after all, they find the row.
void EngineImpl::handBack(Deadline deadline) noexcept {
  if (!health_.queueOpen()) return;
  const auto handedBack = parts_.queue.drain(deadline);
  if (!handedBack) parts_.log.warning("engine", "stopping: " + handedBack.error().text);
}

void EngineImpl::sayGoodbye(Deadline deadline) noexcept {
  const auto failed = [this](const Error& error) { parts_.log.warning("engine", "stopping: " + error.text); };
  // Nobody else knows these holds.
  if (const std::size_t owed = gate_.takeBackOwed(deadline); owed > 0)
    failed({ErrorCode::Unavailable, std::to_string(owed) + " holds could not be given back; run the audit"});
  for (const auto& worker : workers_) {
    if (const std::size_t stay = worker->eraseSettled(deadline); stay > 0) {
      failed({ErrorCode::Unavailable, std::to_string(stay) +
                                          " journal entries of settled orders stay; they are "
                                          "forwarded once more"});
    }
  }
  if (forwarder_) {
    const Status resigned = forwarder_->resign(deadline);
    if (!resigned) failed(resigned.error());
  }
  if (store_.done()) {
    const Status ended = lease_.end(gate_.admitted(), deadline);
    if (!ended) failed(ended.error());
  }
}

OrderAnswer EngineImpl::order(const OrderRequest& request, Deadline deadline) noexcept {
  return gate_.order(request, deadline);
}

std::optional<Voucher> EngineImpl::knownVoucher(VoucherId id) const { return catalog_.find(id); }

bool EngineImpl::deadLettered(OrderId order) const { return catalog_.deadLettered(order); }

}  // namespace lifecycle
}  // namespace sluice
