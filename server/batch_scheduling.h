// BatchScheduling: threads started while it lives, and threads that those start, are scheduled as SCHED_BATCH.
//
// Role:     around the start of threads that are woken in crowds. A leader of a batch wakes up to 63 threads, one after the
//           other; as SCHED_OTHER each of them may take the processor from it at once, and the others wait longer. As
//           SCHED_BATCH a woken thread waits for its turn. With 64 connections on two processors that is a quarter more
//           orders a second (bench/http_orders, in turn with `chrt -b 0`).
// Threads:  changes the calling thread only, and back in the destructor.
// Errors:   none: where the system refuses, or the operator has chosen another policy, nothing changes.
#pragma once

#include <sched.h>

namespace sluice::server {

class BatchScheduling {
 public:
  BatchScheduling() noexcept : changed_(sched_getscheduler(0) == SCHED_OTHER && set(SCHED_BATCH)) {}
  ~BatchScheduling() {
    if (changed_) set(SCHED_OTHER);
  }
  BatchScheduling(const BatchScheduling&) = delete;
  BatchScheduling& operator=(const BatchScheduling&) = delete;

 private:
  static bool set(int policy) noexcept {
    const sched_param none{};
    return sched_setscheduler(0, policy, &none) == 0;
  }
  const bool changed_;
};

}  // namespace sluice::server
