// The audit: compares Redis, journal, queue and store, and names every invariant that does not hold
// (docs/guarantees.md).
//
// Role:      run by `sluice audit`, the admin endpoint and the demo; reads only.
// Blocking:  bounded by the Deadline; pages through holds, so it may run beside a sale.
// Note:      a hold without a row is waiting while its admission is in the journal, in a dead letter, or was
// issued by a process whose
//            lease still runs (it may be in that process' memory); else it is lost. Suspects are read twice,
//            so that an order which moves during the audit is not called lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/operations.h"

namespace sluice {

struct Violation {
  std::string invariant;  // DESIGN's name: "NO_OVERSELL"
  VoucherId voucher;
  std::string text;  // for people
};

struct LostOrder {
  OrderId order;
  UserId user;
  VoucherId voucher;
  std::int32_t quantity = 1;
};

struct VoucherAudit {
  VoucherId voucher;
  std::string title;
  bool loaded = false;
  std::int64_t allocated = 0;
  std::int64_t stock = 0;       // Redis
  std::int64_t held = 0;        // Redis
  std::int64_t remaining = 0;   // store
  std::int64_t livePieces = 0;  // store
  std::int64_t rows = 0;        // store
  std::int64_t waiting = 0;     // admissions without a row that are known to be on their way
  std::int64_t deadLettered = 0;
  std::int64_t lost = 0;  // admissions that have a hold, and nothing carries them any more
  std::int64_t countedAdmissions = 0;
  std::int64_t unaccounted =
      0;  // counted by the servers, but neither row, hold, journal nor dead letter knows them
};

struct AuditReport {
  std::vector<VoucherAudit> vouchers;
  std::vector<Violation> violations;
  std::vector<LostOrder> lost;  // at most limits::kPageMax; VoucherAudit::lost has the number
  bool atRest = false;          // nothing was waiting
  [[nodiscard]] bool clean() const noexcept { return violations.empty(); }
};

[[nodiscard]] Result<AuditReport> audit(Parts parts, Deadline deadline);

}  // namespace sluice
