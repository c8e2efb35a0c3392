// The lease of this process' number: taken, renewed every second, and given back; with it go the counts
// of admissions.
//
// Threads:  step and end from one thread at a time; held() from any.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/log.h"
#include "sluice/order_store.h"

#include "admission/order_id_generator.h"

namespace sluice::lifecycle {

class ProcessLeaseKeeper {
 public:
  ProcessLeaseKeeper(OrderStore& store, const Clock& clock, Log& log, admission::OrderIdGenerator& ids,
                     std::string name, milliseconds duration);

  // Takes or renews the lease. `admitted`: totals since the process started.
  [[nodiscard]] Status step(const std::vector<AdmissionCount>& admitted, Deadline deadline);
  // Gives the number back, with the last counts. No ids afterwards.
  [[nodiscard]] Status end(const std::vector<AdmissionCount>& admitted, Deadline deadline);
  // Whether ids can be issued now: also between two steps, which a store that is away makes long.
  [[nodiscard]] bool held() const noexcept { return ids_.mayIssue(clock_.now()); }

 private:
  Status take(Deadline deadline);
  Status renew(const std::vector<AdmissionCount>& admitted, Deadline deadline);
  void lose() noexcept;
  [[nodiscard]] UtcTime now() const;
  [[nodiscard]] std::vector<AdmissionCount> sinceLease(const std::vector<AdmissionCount>& admitted) const;

  OrderStore& store_;
  const Clock& clock_;
  Log& log_;
  admission::OrderIdGenerator& ids_;
  const std::string name_;
  const milliseconds duration_;
  std::optional<ProcessLease> lease_;
  SteadyTime goodUntil_{};
  std::map<VoucherId, std::int64_t>
      reported_;  // totals as of the last renewal: what the store has, under this lease or an earlier one
  std::map<VoucherId, std::int64_t> base_;  // totals when this lease began to count
};

}  // namespace sluice::lifecycle
