// See health.h.
#include "lifecycle/health.h"

#include <utility>

#include "sluice/limits.h"

namespace sluice::lifecycle {
namespace {

constexpr milliseconds kLookEvery{1000};
constexpr milliseconds kLookAgainSoon{100};
constexpr milliseconds kOpenWithin{1000};
constexpr milliseconds kProbeWithin{500};
// Of one look; the next goes on where it stopped.
constexpr milliseconds kRecoverWithin{10000};
constexpr std::chrono::seconds kLeftOutEvery{10};
// What a restarted Redis may have missed, counted back from the moment when it was last seen sound. With an
// append-only file it lost a second or two, so a minute is ample; without one it may have come back with an
// old snapshot.
constexpr std::chrono::minutes kWindowWithLog{1};
constexpr std::chrono::minutes kWindowWithoutLog{60};

}  // namespace

Health::Health(Parts parts)
    : parts_(parts),
      redis_("redis", [this](Deadline deadline) { return parts_.qualifier.start(deadline); }),
      queue_("queue", [this](Deadline deadline) { return parts_.queue.start(deadline); }),
      recovery_(parts),
      soundAt_(parts.clock.steady()) {}

milliseconds Health::step() {
  HealthReport next;
  next.redisWhy.clear();
  next.queueWhy.clear();
  {
    const std::lock_guard lock(mutex_);
    next.redis = report_.redis;
    next.queue = report_.queue;
  }
  lookAtRedis(next);
  lookAtQueue(next);
  const bool well = next.admitting && next.queueWhy.empty();
  const std::lock_guard lock(mutex_);
  report_ = std::move(next);
  return well ? kLookEvery : kLookAgainSoon;
}

void Health::lookAtRedis(HealthReport& report) {
  report.redis.trusted = false;
  if (!redis_.attempt(Deadline::in(kOpenWithin))) {
    report.redisWhy = redis_.why();
    return;
  }
  auto probed = parts_.qualifier.probe(Deadline::in(kProbeWithin));
  if (!probed) {
    report.redisWhy = "redis: " + probed.error().text;
    return;
  }
  report.redis = std::move(probed).take();
  report.warnings = report.redis.warnings;
  if (!report.redis.trusted) recover(report);
  if (report.redis.trusted) lookAtLeftOut(report);
  const milliseconds skew = std::chrono::abs(report.redis.clockSkew);
  if (skew > limits::kClockSkewNotReady) {
    report.redisWhy =
        "the clock of Redis differs by " + std::to_string(skew.count()) + " ms; synchronize the clocks";
    report.clockRefused = skew > limits::kClockSkewRefuse;
  }
  report.admitting = report.redis.trusted && !report.clockRefused;
}

// A server of an identity that was not seen before may have lost its last moments: rows of the store make
// them good. Rows went on changing since Redis was last seen sound, so the window reaches back behind that.
void Health::recover(HealthReport& report) {
  const bool keepsLog = report.redis.durability != Durability::L0;
  const milliseconds unseen = std::chrono::ceil<milliseconds>(parts_.clock.steady() - soundAt_);
  const milliseconds window = (keepsLog ? kWindowWithLog : kWindowWithoutLog) + unseen;
  const Status recovered = recovery_.goOn(report.redis.identity, window, Deadline::in(kRecoverWithin));
  const std::string rows = std::to_string(recovery_.report().rowsSeen) + " recent rows";
  if (!recovered) {
    report.redisWhy = "redis is not trusted before its holds were compared with the store, " + rows +
                      " so far: " + recovered.error().text;
    parts_.log.repeated(LogLevel::Warning, "health", "not recovered", report.redisWhy);
    return;
  }
  parts_.qualifier.trust(report.redis.identity);
  report.redis.trusted = true;
  parts_.log.info("health", "redis is trusted; of " + rows + " " +
                                std::to_string(recovery_.report().holdsRestored) +
                                " holds were restored and " +
                                std::to_string(recovery_.report().holdsReleased) + " released");
}

void Health::lookAtLeftOut(HealthReport& report) {
  const SteadyTime now = soundAt_ = parts_.clock.steady();
  if (!recovery_.leftOut()) return;
  if (now - leftOutAt_ >= kLeftOutEvery) {
    leftOutAt_ = now;
    if (recovery_.lookAgain(Deadline::in(kRecoverWithin))) {
      parts_.log.info("health", "the vouchers that were left out are compared by now");
      return;
    }
  }
  report.warnings.emplace_back(
      "some vouchers have damaged keys, so their holds were not compared with the store when redis came "
      "back; "
      "run the audit");
}

void Health::lookAtQueue(HealthReport& report) {
  if (const Status opened = queue_.attempt(Deadline::in(kOpenWithin)); !opened) {
    report.queueWhy = queue_.why();
    report.queueWrong = opened.error().code == ErrorCode::Misconfigured;
    return;
  }
  auto stats = parts_.queue.stats(Deadline::in(kProbeWithin));
  if (stats) {
    report.queue = std::move(stats).take();
  } else {
    report.queueWhy = "queue: " + stats.error().text;
    report.queueWrong = stats.error().code == ErrorCode::Misconfigured;
  }
}

HealthReport Health::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace sluice::lifecycle
