// Health: watches Redis and the queue, and repairs what a restarted Redis may have lost before it may
// admit again.
//
// Threads:  step() from one thread at a time; report() from any.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "sluice/engine.h"

#include "lifecycle/opening.h"
#include "lifecycle/recovery.h"

namespace sluice::lifecycle {

struct HealthReport {
  bool admitting = false;                             // Redis is there, trusted, and its clock near enough
  bool clockRefused = false;                          // clocks are so far apart that nothing may be admitted
  std::string redisWhy = "redis: not looked at yet";  // why not admitting; empty otherwise
  std::vector<std::string> warnings;
  std::string queueWhy = "queue: not looked at yet";  // why the queue does not answer; empty where it does
  bool queueWrong = false;                            // and it is for an operator to mend
  QualifierHealth redis;
  QueueStats queue;
};

class Health {
 public:
  explicit Health(Parts parts);

  // One look. Answers when to look again: soon while something is amiss.
  milliseconds step();
  // Redis' start alone, for the first look, which has to tell what an operator must mend.
  [[nodiscard]] Status openRedis(Deadline deadline) { return redis_.attempt(deadline); }
  [[nodiscard]] Status openQueue(Deadline deadline) { return queue_.attempt(deadline); }
  [[nodiscard]] bool queueOpen() const noexcept { return queue_.done(); }
  [[nodiscard]] HealthReport report() const;

 private:
  void lookAtRedis(HealthReport& report);
  void recover(HealthReport& report);
  void lookAtLeftOut(HealthReport& report);
  void lookAtQueue(HealthReport& report);

  Parts parts_;
  Opening redis_;
  Opening queue_;
  Recovery recovery_;
  SteadyTime soundAt_;  // when a trusted Redis was seen last, or this began
  SteadyTime leftOutAt_{};
  mutable std::mutex mutex_;
  HealthReport report_;  // guarded by mutex_
};

}  // namespace sluice::lifecycle
