// One voucher before the judge: what the audit saw of it, and the invariants that this breaks.
#pragma once

#include <vector>

#include "sluice/audit.h"

#include "lifecycle/audit_look.h"

namespace sluice::lifecycle {

// Counters and set of holds of one reading, without the holds themselves.
struct HoldSums {
  VoucherSnapshot before;
  VoucherSnapshot after;
  std::int64_t pieces = 0;
  std::uint64_t fingerprint = 0;
  // Holds come and go while they are counted, so a sum that is neither of both is a suspicion only.
  [[nodiscard]] bool suspicious() const noexcept { return pieces != before.held && pieces != after.held; }
};

struct VoucherCase {
  VoucherTotals
      counted;  // read before everything else: what is counted here is a row, or waits, when those are read
  VoucherTotals now;  // read after everything else
  bool loaded = false;
  VoucherSnapshot redis;
  std::string damage;  // why Redis could not read its keys
  HoldSums sums;
  Comparison seen;
  std::int64_t elsewhere = 0;  // waiting, but neither in the journal nor in a dead letter
  // Suspicions that the second look confirmed, or the first one while there was none yet.
  bool sumDiffers = false;
  bool stockDiffers = false;
  std::int64_t unaccounted = 0;
};

[[nodiscard]] bool stockDiffers(const VoucherCase& of) noexcept;
[[nodiscard]] std::int64_t unaccounted(const VoucherCase& of, const Waiting& waiting);

void judge(const VoucherCase& of, std::vector<Violation>& violations);
[[nodiscard]] VoucherAudit summaryOf(const VoucherCase& of, const Waiting& waiting);

}  // namespace sluice::lifecycle
