// What must hold always over the fakes, also the laws that need a memory: MONOTONIC_STATE, PAID_FINAL,
// ONE_WINNER.
//
// Role:     a test asks after each step; names and meaning of the laws are those of docs/guarantees.md.
#pragma once

#include <map>
#include <string>

#include "support/fakes.h"

namespace sluice::test {

class Laws {
 public:
  explicit Laws(const Fakes& fakes) : fakes_(fakes) {}

  // Every law that is broken now, or was on the way here since the last call; one a line, empty when all
  // hold.
  [[nodiscard]] std::string broken();

 private:
  [[nodiscard]] std::string brokenByLife(OrderId order, const std::vector<OrderStatus>& life) const;
  [[nodiscard]] std::string brokenByRow(const Order& before, const Order& now) const;

  const Fakes& fakes_;
  std::map<OrderId, Order> rows_;  // as of the last look
};

}  // namespace sluice::test
