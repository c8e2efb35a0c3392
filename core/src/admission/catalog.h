// The catalog: the vouchers of the store as of the last second, and the orders known to lie in dead
// letters.
//
// Threads:  reads from any thread, without meeting each other; refresh from one thread at a time.
#pragma once

#include <atomic>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sluice/order_queue.h"
#include "sluice/order_store.h"

#include "admission/published.h"

namespace sluice::admission {

class Catalog {
 public:
  // Orders kept as dead-lettered; an operator with more of them has other worries than the word "delayed".
  static constexpr std::size_t kDeadLettersMax = 10000;

  // Reads all vouchers; answers their ids. On error the catalog stays as it is.
  [[nodiscard]] Result<std::vector<VoucherId>> refresh(OrderStore& store, Deadline deadline);
  // Reads the dead letters where `expected` says that there are any.
  [[nodiscard]] Status refreshDeadLetters(OrderQueue& queue, bool expected, Deadline deadline);

  [[nodiscard]] std::optional<Voucher> find(VoucherId id) const;
  [[nodiscard]] bool deadLettered(OrderId order) const;
  // Whether the vouchers were read at least once.
  [[nodiscard]] bool loaded() const noexcept { return loaded_.load(); }

 private:
  Published<std::unordered_map<VoucherId, Voucher>> vouchers_;
  Published<std::unordered_set<OrderId>> dead_;
  std::atomic<bool> anyDead_{false};
  std::atomic<bool> loaded_{false};
};

}  // namespace sluice::admission
