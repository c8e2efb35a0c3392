// What the engine says about itself: readiness and figures; see engine.h.
#include "lifecycle/engine.h"

namespace sluice::lifecycle {

fulfilment::Pause EngineImpl::pause() const {
  fulfilment::Pause worst;
  for (const auto& worker : workers_) {
    fulfilment::Pause pause = worker->pause();
    if (pause.kind > worst.kind) worst = std::move(pause);
  }
  return worst;
}

// Admissions go on while the store is away, as long as the process number is leased; they wait in the
// journal.
void EngineImpl::explainStore(Readiness& readiness) const {
  std::string why;
  {
    const std::lock_guard lock(whyMutex_);
    why = storeWhy_;
  }
  const bool leaseMissing = admits() && !lease_.held();
  if (!why.empty()) (leaseMissing || !admits() ? readiness.reasons : readiness.warnings).push_back(why);
  if (leaseMissing)
    readiness.reasons.emplace_back("no process number is leased, so no order ids can be issued");
}

void EngineImpl::explainPause(Readiness& readiness) const {
  const fulfilment::Pause paused = pause();
  if (paused.kind == fulfilment::PauseKind::None) return;
  const bool serious = paused.kind == fulfilment::PauseKind::Alarm || !admits();
  (serious ? readiness.reasons : readiness.warnings).push_back("fulfilment is paused: " + paused.why);
}

// Admissions go on while a queue beside the journal is away: they wait in the journal, up to its cap. What an operator
// must mend is told all the same.
void EngineImpl::explainQueue(Readiness& readiness, const HealthReport& health) const {
  if (health.queueWhy.empty()) return;
  const bool vital = !forwards() || !admits() || health.queueWrong;
  (vital ? readiness.reasons : readiness.warnings).push_back(health.queueWhy);
}

void EngineImpl::explainForwarder(Readiness& readiness, const HealthReport& health) const {
  if (!forwarder_) return;
  const ForwarderStats stats = forwarder_->stats();
  readiness.forwarder = stats.leads ? "this process leads" : "no leader is known";
  if (!stats.leads && !stats.leader.empty()) readiness.forwarder = "led by " + stats.leader;
  if (!stats.pausedWhy.empty()) readiness.warnings.push_back("the forwarder waits: " + stats.pausedWhy);
  if (health.redis.asideDepth > 0) {
    readiness.warnings.push_back(
        std::to_string(health.redis.asideDepth) +
        " entries of the journal did not decode and were put aside, in Redis' stream `dead`");
  }
}

Readiness EngineImpl::readiness() const {
  Readiness readiness;
  if (life_ != Life::Started) {
    readiness.reasons.emplace_back(life_ == Life::Made ? "starting" : "stopping");
    return readiness;
  }
  const HealthReport health = health_.report();
  readiness.durability = options_.journal ? health.redis.durability : Durability::L0;
  readiness.warnings = health.warnings;
  if (!health.redisWhy.empty()) readiness.reasons.push_back(health.redisWhy);
  explainQueue(readiness, health);
  explainForwarder(readiness, health);
  explainStore(readiness);
  explainPause(readiness);
  if (health.queue.deadMax > 0 && health.queue.deadLetters >= health.queue.deadMax) {
    readiness.warnings.push_back("the dead letters are full: " + std::to_string(health.queue.deadLetters) +
                                 " of " + std::to_string(health.queue.deadMax) +
                                 " (dead.max of the queue); the next one stops fulfilment, so replay or drop "
                                 "some");
  }
  if (!options_.journal)
    readiness.warnings.emplace_back("journal = off: what this process holds dies with it");
  if (const auto missing = gate_.missingVoucher()) {
    readiness.warnings.push_back("voucher " + missing->text() + " is on sale and not in Redis; load it");
  }
  readiness.ready = readiness.reasons.empty();
  return readiness;
}

EngineStats EngineImpl::stats() const {
  EngineStats stats;
  stats.verdicts = gate_.verdicts();
  stats.inFlight = gate_.inFlight();
  stats.batchSizes = gate_.batchSizes().snapshot();
  stats.scriptNanoseconds = gate_.nanoseconds().snapshot();
  stats.storeNanoseconds = counts_.storeNanoseconds.snapshot();
  stats.storeBatchSizes = counts_.storeBatchSizes.snapshot();
  stats.stored = counts_.stored;
  stats.rejected = counts_.rejected;
  stats.already = counts_.already;
  stats.released = counts_.released;
  stats.expired = expired_;
  stats.deadLettered = counts_.deadLettered;
  stats.retried = counts_.retried;
  const fulfilment::Pause paused = pause();
  stats.paused = paused.kind != fulfilment::PauseKind::None;
  stats.alarmed = paused.kind == fulfilment::PauseKind::Alarm;
  stats.pausedWhy = paused.why;
  if (forwarder_) stats.forwarder = forwarder_->stats();
  const HealthReport health = health_.report();
  stats.queue = health.queue;
  stats.health = health.redis;
  stats.qualifier = parts_.qualifier.stats();
  return stats;
}

}  // namespace sluice::lifecycle
