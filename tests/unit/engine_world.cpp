// See engine_world.h: processes, time and faults. What people do and what is checked stand beside it.
#include "unit/engine_world.h"

#include <algorithm>

namespace sluice::test {
namespace {

FakeQueueOptions queueFor(Carrying carrying, FakeQualifier& qualifier) {
  FakeQueueOptions options;
  if (carrying == Carrying::Journal) return journalQueue(qualifier);
  if (carrying == Carrying::Broker || carrying == Carrying::ForwardedBroker) return options;
  options.traits = {.reserves = true, .delayedRetry = true};
  options.capacity = 50;
  return options;
}

}  // namespace

std::string_view partName(Part part) noexcept {
  switch (part) {
    case Part::Qualifier:
      return "qualifier";
    case Part::Queue:
      return "queue";
    case Part::Store:
      break;
  }
  return "store";
}

EngineWorld::EngineWorld(Carrying carrying, milliseconds orderPace, std::uint64_t seed)
    : fakes(queueFor(carrying, fakes.qualifier), false), carrying_(carrying), orderPace_(orderPace) {
  fakes.qualifier.setJournal(hasJournal(carrying));
  fakes.qualifier.setPatient(false);
  fakes.queue.setPatient(false);
  fakes.random.reseed(seed);
}

EngineWorld::~EngineWorld() { killEngine(); }

// --- processes ---

void EngineWorld::startEngine() {
  EngineOptions options;
  options.journal = hasJournal(carrying_);
  options.forwarderStale = milliseconds(5000);
  options.payWithin = milliseconds(20000);
  options.failuresMax = 2;
  options.orderPace = orderPace_;
  constexpr int kTries = 5;
  for (int attempt = 0; attempt < kTries && engine_ == nullptr; ++attempt) {
    auto engine = std::make_unique<lifecycle::EngineImpl>(parts(), options);
    const Status opened = engine->open(soon());
    note(opened ? "engine starts" : "engine's start is refused: " + opened.error().text);
    if (opened) {
      engine_ = std::move(engine);
      continue;
    }
    if (errorTraits(opened.error().code).mayRetry) problem("a start was refused that may be tried again");
    if (opened.error().code != ErrorCode::Misconfigured) checkCode("start", opened.error().code);
    engine.reset();
    fakes.reopen();
  }
}

void EngineWorld::stopEngine() {
  if (!running()) return;
  note("engine stops");
  engine_->stop(soon());
  engine_->stop(soon());
  engine_.reset();
  forgetMemory(false);
  fakes.reopen();
  checkAlways();
}

void EngineWorld::killEngine() {
  if (!running()) return;
  note("engine is killed");
  for (const Part part : {Part::Qualifier, Part::Queue, Part::Store}) {
    faults(part).always("*", ErrorCode::Unavailable);
  }
  engine_.reset();
  for (const Part part : {Part::Qualifier, Part::Queue, Part::Store}) {
    faults(part).heal();
  }
  forgetMemory(true);
  fakes.reopen();
  checkAlways();
}

// Without a journal what the process held dies with it: orders without a row are promised no more.
void EngineWorld::forgetMemory(bool killed) {
  if (hasJournal(carrying_)) return;
  holdsMayBeLost_ = holdsMayBeLost_ || killed || !scripted_.empty();
  const auto rows = fakes.store.rows();
  for (auto& [order, told] : told_) {
    told.perhaps = told.perhaps || (carrying_ == Carrying::Memory && !rows.contains(order));
  }
}

// --- time ---

void EngineWorld::step(milliseconds by) {
  fakes.clock.advance(by);
  if (running()) engine_->runDue(fakes.clock.steady());
  checkAlways();
}

void EngineWorld::run(milliseconds time, milliseconds by) {
  note("time passes: " + std::to_string(time.count()) + " ms");
  for (milliseconds passed{0}; passed < time; passed += by) {
    step(by);
  }
}

// --- faults ---

Faults& EngineWorld::faults(Part part) noexcept {
  if (part == Part::Qualifier) return fakes.qualifier.faults;
  return part == Part::Queue ? fakes.queue.faults : fakes.store.faults;
}

void EngineWorld::fail(Part part, const std::string& call, ErrorCode code, FaultMoment moment,
                       std::size_t times, std::size_t good) {
  faults(part).next(call, code, moment, times, good);
  scripted_.insert(code);
  note(std::string(partName(part)) + "." + call + " will fail " + std::to_string(times) + " times after " +
       std::to_string(good) + " with " + std::string(errorName(code)) +
       (moment == FaultMoment::After ? ", having happened" : ""));
}

void EngineWorld::failAlways(Part part, const std::string& call, ErrorCode code, FaultMoment moment) {
  faults(part).always(call, code, moment);
  scripted_.insert(code);
  note(std::string(partName(part)) + "." + call + " fails from now on with " + std::string(errorName(code)) +
       (moment == FaultMoment::After ? ", having happened" : ""));
}

void EngineWorld::heal() {
  for (const Part part : {Part::Qualifier, Part::Queue, Part::Store}) {
    faults(part).heal();
  }
  note("everything heals");
}

void EngineWorld::stealLeases() {
  note("another holder takes the process numbers");
  for (const ProcessLease& lease : fakes.store.leases()) {
    fakes.store.stealLease(lease.number, fakes.clock.now());
  }
}

void EngineWorld::poison(OrderId order, bool poisoned) {
  note("order " + order.text() + (poisoned ? " is poisoned" : " is poisoned no more"));
  fakes.store.poison(order, poisoned);
}

void EngineWorld::consumerDies() {
  note("what was delivered comes again");
  fakes.queue.abandon();
}

void EngineWorld::restartRedis(bool losing) {
  if (losing) loseLastWrites();
  note("Redis restarts");
  fakes.qualifier.restart(true);
  checkAlways();
}

void EngineWorld::queueLoses(bool said) {
  if (!isForwarded(carrying_)) return;
  note(said ? "the queue is deleted" : "the queue loses what it has without a word");
  std::set<OrderId> kept;
  for (const auto& [entry, admission] : fakes.qualifier.journalAfter(0)) {
    kept.insert(admission.order);
  }
  fakes.queue.loseMessages(said, kept);
}

void EngineWorld::writeGarbage() {
  if (!isForwarded(carrying_)) return;
  note("somebody writes garbage into the journal");
  fakes.qualifier.appendUndecodable("garbage");
}

void EngineWorld::loseLastWrites() {
  const auto rows = fakes.store.rows();
  UtcTime newest{};
  for (const auto& [id, row] : rows) {
    newest = std::max(newest, row.updatedAt);
  }
  // What Redis may lose is what it wrote a moment ago.
  const auto isRecent = [newest](const Order& row) {
    return row.updatedAt + std::chrono::seconds(5) >= newest;
  };
  const auto hasHold = [this](const Order& row) {
    const auto holds = fakes.qualifier.holds(row.voucher);
    return std::any_of(holds.begin(), holds.end(), [&](const Hold& hold) { return hold.order == row.id; });
  };
  for (const auto& [id, row] : rows) {
    if (!isRecent(row) || !isLive(row.status) || !hasHold(row)) continue;
    note("Redis loses the hold of order " + id.text());
    fakes.qualifier.forgetHold(row.voucher, id);
    break;
  }
  for (const auto& entry : rows) {
    const Order& row = entry.second;
    const VoucherSnapshot seen = fakes.qualifier.peek(row.voucher);
    if (!isRecent(row) || isLive(row.status) || !row.releasedAt || hasHold(row)) continue;
    const auto holds = fakes.qualifier.holds(row.voucher);
    const bool again =
        std::any_of(holds.begin(), holds.end(), [&](const Hold& h) { return h.user == row.user; });
    if (seen.stock < row.quantity || again) continue;  // sold on by now: then its release was not lost
    note("Redis loses the release of order " + row.id.text());
    fakes.qualifier.rememberHold(row.voucher, {row.user, row.id, row.quantity});
    break;
  }
}

std::vector<OrderId> EngineWorld::toldOrders() const {
  std::vector<OrderId> orders;
  for (const auto& [order, told] : told_) {
    orders.push_back(order);
  }
  return orders;
}

std::string EngineWorld::problems() const {
  if (problems_.empty()) return {};
  std::string text = "problems:\n";
  for (const std::string& problem : problems_) {
    text += "  " + problem + "\n";
  }
  text += "history:\n";
  for (const std::string& event : history_) {
    text += "  " + event + "\n";
  }
  return text;
}

}  // namespace sluice::test
