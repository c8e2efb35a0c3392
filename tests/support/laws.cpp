// See laws.h.
#include "support/laws.h"

#include <algorithm>

namespace sluice::test {
namespace {

bool mayFollow(OrderStatus from, OrderStatus to) {
  if (from == OrderStatus::PendingPayment) return to == OrderStatus::Paid || to == OrderStatus::Cancelled;
  return from == OrderStatus::Paid && to == OrderStatus::Refunded;
}

bool sameFacts(const Order& a, const Order& b) {
  return a.user == b.user && a.voucher == b.voucher && a.quantity == b.quantity &&
         a.admittedAt == b.admittedAt && a.storedAt == b.storedAt;
}

}  // namespace

std::string Laws::brokenByLife(OrderId order, const std::vector<OrderStatus>& life) const {
  std::string broken;
  for (std::size_t k = 1; k < life.size(); ++k) {
    if (life[k - 1] == OrderStatus::Paid && life[k] == OrderStatus::Cancelled) broken += "PAID_FINAL ";
    if (!mayFollow(life[k - 1], life[k])) broken += "MONOTONIC_STATE ";
  }
  const auto winners = std::count(life.begin(), life.end(), OrderStatus::Paid) +
                       std::count(life.begin(), life.end(), OrderStatus::Cancelled);
  if (winners > 1) broken += "ONE_WINNER ";
  return broken.empty() ? broken : broken + ": order " + order.text() + "\n";
}

// Facts never change, and a release once marked stays marked.
std::string Laws::brokenByRow(const Order& before, const Order& now) const {
  const bool kept = sameFacts(before, now) && (!before.releasedAt || before.releasedAt == now.releasedAt) &&
                    before.updatedAt <= now.updatedAt;
  return kept ? std::string() : "MONOTONIC_STATE: facts of order " + now.id.text() + "\n";
}

std::string Laws::broken() {
  std::string broken = fakes_.brokenLaws();
  for (const auto& [order, life] : fakes_.store.lives()) {
    broken += brokenByLife(order, life);
  }
  std::map<OrderId, Order> rows = fakes_.store.rows();
  for (const auto& [id, before] : rows_) {
    const auto now = rows.find(id);
    broken += now == rows.end() ? "R1: the row of order " + id.text() + " is gone\n"
                                : brokenByRow(before, now->second);
  }
  rows_ = std::move(rows);
  return broken;
}

}  // namespace sluice::test
