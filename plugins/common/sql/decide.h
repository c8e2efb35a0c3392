// The decision of a batch, in memory: which orders become rows, live or dead.
//
// Role:     called by persist between reading (vouchers locked, rows of the ids, what the users hold live)
//           and writing. Pure.
// Law:      rules R1 and R5; each admission sees the earlier ones, so partial fits, limits above one, mixed
//           vouchers and duplicates inside the batch come out exactly as if they had come one by one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sluice/order_store.h"

namespace sluice::sql {

struct VoucherFacts {
  std::int32_t limitPerUser = 1;
  std::int64_t remaining = 0;
};

// A user's live rows of one voucher: their pieces, and the places (1..) they take under the unique key.
struct Holding {
  std::int64_t pieces = 0;
  std::vector<std::int32_t> slots;
};

// What the database knows about a batch.
struct BatchFacts {
  std::map<VoucherId, VoucherFacts> vouchers;  // those that exist
  std::unordered_map<OrderId, Order> rows;     // of the batch's ids, those that exist
  std::map<std::pair<VoucherId, UserId>, Holding> holdings;
};

struct NewRow {
  const Admission* admission = nullptr;
  OrderStatus status = OrderStatus::PendingPayment;
  DeadReason reason = DeadReason::None;
  std::int32_t slot = 0;  // none where dead
};

struct BatchDecision {
  std::vector<PersistOutcome> outcomes;     // one for each admission, same order
  std::vector<NewRow> rows;                 // point into the admissions
  std::map<VoucherId, std::int64_t> taken;  // pieces of the new live rows
};

[[nodiscard]] BatchDecision decideBatch(std::span<const Admission> admissions, BatchFacts facts);

// Whether a row and an admission of the same id are about the same thing.
[[nodiscard]] bool sameOrder(const Order& row, const Admission& admission) noexcept;

}  // namespace sluice::sql
