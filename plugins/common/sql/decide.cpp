// See decide.h.
#include "decide.h"

#include <algorithm>

namespace sluice::sql {

namespace {

std::int32_t smallestFree(const std::vector<std::int32_t>& slots) {
  std::int32_t slot = 1;
  while (std::find(slots.begin(), slots.end(), slot) != slots.end()) {
    ++slot;
  }
  return slot;
}

class Decider {
 public:
  explicit Decider(BatchFacts facts) : facts_(std::move(facts)) {}

  void decide(const Admission& admission) {
    if (const auto row = facts_.rows.find(admission.order); row != facts_.rows.end()) {
      decision_.outcomes.push_back(ofExisting(row->second, admission));
    } else if (const auto voucher = facts_.vouchers.find(admission.voucher);
               voucher == facts_.vouchers.end()) {
      decision_.outcomes.push_back(
          {PersistKind::UnknownVoucher, OrderStatus::Rejected, DeadReason::None, false});
    } else {
      decision_.outcomes.push_back(ofNew(admission, voucher->second));
    }
  }

  BatchDecision take() && { return std::move(decision_); }

 private:
  static PersistOutcome ofExisting(const Order& row, const Admission& admission) {
    const PersistKind kind = sameOrder(row, admission) ? PersistKind::Already : PersistKind::Conflict;
    return {kind, row.status, row.reason, row.releasedAt.has_value()};
  }

  PersistOutcome ofNew(const Admission& admission, VoucherFacts& voucher) {
    Holding& holding = facts_.holdings[{admission.voucher, admission.user}];
    NewRow row{&admission, OrderStatus::Rejected, DeadReason::None, 0};
    // The user's own limit comes first, as in the qualifier: who has one learns that, not that all is sold.
    if (holding.pieces + admission.quantity > voucher.limitPerUser) {
      row.reason = DeadReason::OverLimit;
    } else if (voucher.remaining < admission.quantity) {
      row.reason = DeadReason::NoStock;
    } else {
      row.status = OrderStatus::PendingPayment;
      row.slot = smallestFree(holding.slots);
      holding.slots.push_back(row.slot);
      holding.pieces += admission.quantity;
      voucher.remaining -= admission.quantity;
      decision_.taken[admission.voucher] += admission.quantity;
    }
    add(row);
    return {isLive(row.status) ? PersistKind::Stored : PersistKind::Rejected, row.status, row.reason, false};
  }

  // Later admissions of the same id find this row.
  void add(const NewRow& row) {
    Order& seen = facts_.rows[row.admission->order];
    seen.id = row.admission->order;
    seen.user = row.admission->user;
    seen.voucher = row.admission->voucher;
    seen.quantity = row.admission->quantity;
    seen.status = row.status;
    seen.reason = row.reason;
    decision_.rows.push_back(row);
  }

  BatchFacts facts_;
  BatchDecision decision_;
};

}  // namespace

BatchDecision decideBatch(std::span<const Admission> admissions, BatchFacts facts) {
  Decider decider(std::move(facts));
  for (const Admission& admission : admissions) {
    decider.decide(admission);
  }
  return std::move(decider).take();
}

bool sameOrder(const Order& row, const Admission& admission) noexcept {
  return row.user == admission.user && row.voucher == admission.voucher && row.quantity == admission.quantity;
}

}  // namespace sluice::sql
