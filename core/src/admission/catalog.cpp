// See catalog.h.
#include "admission/catalog.h"

#include "sluice/limits.h"

namespace sluice::admission {

Result<std::vector<VoucherId>> Catalog::refresh(OrderStore& store, Deadline deadline) {
  auto next = std::make_shared<std::unordered_map<VoucherId, Voucher>>();
  std::vector<VoucherId> ids;
  for (VoucherId after;;) {
    auto page = store.listVouchers(after, limits::kPageMax, deadline);
    if (!page) return page.error();
    if (page.value().empty()) break;
    for (Voucher& voucher : page.value()) {
      after = voucher.id;
      ids.push_back(voucher.id);
      next->emplace(voucher.id, std::move(voucher));
    }
  }
  vouchers_.publish(next);
  loaded_ = true;
  return ids;
}

Status Catalog::refreshDeadLetters(OrderQueue& queue, bool expected, Deadline deadline) {
  if (!expected && !anyDead_.load()) return {};
  auto next = std::make_shared<std::unordered_set<OrderId>>();
  std::string after;
  while (expected && next->size() < kDeadLettersMax) {
    const auto page = queue.deadLetters(after, limits::kPageMax, deadline);
    if (!page) return page.error();
    if (page.value().empty()) break;
    after = page.value().back().id;
    for (const DeadLetter& letter : page.value()) {
      if (letter.admission) next->insert(letter.admission->order);
    }
  }
  anyDead_ = !next->empty();
  dead_.publish(next);
  return {};
}

std::optional<Voucher> Catalog::find(VoucherId id) const {
  return vouchers_.read(
      [id](const std::unordered_map<VoucherId, Voucher>& vouchers) -> std::optional<Voucher> {
        const auto found = vouchers.find(id);
        return found == vouchers.end() ? std::nullopt : std::optional(found->second);
      });
}

bool Catalog::deadLettered(OrderId order) const {
  return anyDead_.load() &&
         dead_.read([order](const std::unordered_set<OrderId>& dead) { return dead.contains(order); });
}

}  // namespace sluice::admission
