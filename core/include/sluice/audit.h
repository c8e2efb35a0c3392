// The audit: compares Redis, journal, queue and store, and names every invariant that does not hold
// (docs/guarantees.md).
//
// Role:     run by `sluice audit`, the admin endpoint and the demo; reads only. Blocking: bounded by the
//           Deadline; pages through holds and rows, so it may run beside a sale. Errors of the three parts
//           end it, but damaged keys of a voucher (Corrupt) are a finding.
// Memory:   24 bytes for each hold of one voucher at a time, about 50 for each admission that waits.
// Note:     a hold without a row is waiting while its admission is in the journal or in a dead letter.
//           Without a journal it is also waiting while the queue is not empty, and while the process that
//           issued it holds its lease (it may be in that process' memory); beside a journal, while a queue
//           that outlives its processes is not empty (it may carry a replayed letter). Else it is lost. Suspects are read twice, so that an order which moves during the audit is not
//           called lost.
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
  bool syncDue = false;         // Redis has another version of the settings than the store
  std::int64_t allocated = 0;   // store
  std::int64_t stock = 0;       // Redis
  std::int64_t held = 0;        // Redis
  std::int64_t remaining = 0;   // store
  std::int64_t livePieces = 0;  // store
  std::int64_t rows = 0;        // store
  std::int64_t waiting = 0;     // admissions without a row that are known to be on their way
  std::int64_t deadLettered = 0;
  std::int64_t unreleased = 0;  // dead rows whose stock Redis has not got back yet
  std::int64_t lost = 0;        // admissions that have a hold, and nothing carries them any more
  std::int64_t countedAdmissions = 0;
  // Counted by the servers, but neither row, hold, journal nor dead letter knows them.
  std::int64_t unaccounted = 0;
};

struct AuditReport {
  std::vector<VoucherAudit> vouchers;
  std::vector<Violation> violations;
  std::vector<LostOrder> lost;  // at most limits::kPageMax; VoucherAudit::lost has the number
  // DRAINS: journal and queue are empty, no dead letter waits for a decision, no hold for its release.
  bool atRest = false;
  [[nodiscard]] bool clean() const noexcept { return violations.empty(); }
};

[[nodiscard]] Result<AuditReport> audit(Parts parts, Deadline deadline);

}  // namespace sluice
