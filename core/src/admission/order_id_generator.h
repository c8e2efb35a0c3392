// Issues order ids under a leased process number: never twice, never backwards, never without a lease.
//
// Threads:  next() from any thread, lock-free. grant, extend and revoke from one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "sluice/order_id.h"
#include "sluice/order_store.h"

namespace sluice::admission {

class OrderIdGenerator {
 public:
  // From now on ids are of this lease: from its `since` on, and before its end.
  void grant(const ProcessLease& lease) noexcept;
  // The lease was renewed. Never shortens it.
  void extend(UtcTime until) noexcept;
  void revoke() noexcept;

  // An id of the millisecond `now`, or of the last one issued where the clock ran back or the sequence ran
  // over. Nothing where the lease has ended by `now`, or where the id would lie at or behind its end: the
  // number's next holder begins there.
  [[nodiscard]] std::optional<OrderId> next(UtcTime now) noexcept;

  // Whether the lease reaches beyond `now`.
  [[nodiscard]] bool mayIssue(UtcTime now) const noexcept { return now < fromMillis(untilMs_.load()); }

  // No id was issued in this millisecond or a later one. A lease is renewed and ended with a time at or after
  // this one.
  [[nodiscard]] UtcTime floor() const noexcept;

 private:
  std::atomic<std::int64_t> last_{
      0};  // the id issued last, or one that nobody gets: the last possible before the lease
  std::atomic<std::int64_t> untilMs_{0};  // 0: no lease
};

}  // namespace sluice::admission
