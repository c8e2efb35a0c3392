// What the files of this folder share: rows by voucher, from a row to its hold, and giving holds back.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/limits.h"
#include "sluice/operations.h"

namespace sluice::lifecycle {

[[nodiscard]] Admission admissionOf(const Order& row);
[[nodiscard]] std::map<VoucherId, std::vector<Order>> byVoucher(std::span<const Order> rows);

// The error that a loop over pages answers when its time is over.
[[nodiscard]] Error outOfTime(std::string_view doing);

struct Release {
  std::vector<OrderId>
      done;  // their holds are gone for certain: released now, before, or the voucher is not in Redis
  std::size_t released = 0;  // holds that were there
  Status failure;            // why the others are not done, where there are others
};

// Gives back the holds of dead rows, at most limits::kPageMax, voucher by voucher: one with damaged keys does
// not keep the others from it. Requires (rule R2): the store has each of these rows, dead.
[[nodiscard]] Release releaseHolds(Parts parts, std::span<const Order> dead, Deadline deadline);

// Looks at rows again whose holds were just created from an earlier look, and gives back those of rows that
// died in between: their release was perhaps made and marked before the hold was there, and nobody would come
// back to it. Whoever cancels from now on finds the hold. Answers how many were there.
[[nodiscard]] Result<std::size_t> releaseDead(Parts parts, std::span<const OrderId> orders,
                                              Deadline deadline);

// Spares a user the wait for the next step of the outbox: releases and marks one dead row at once. What fails
// here is left to that step, so there is nothing to answer.
void releaseNow(Parts parts, const Order& dead, Deadline deadline);

}  // namespace sluice::lifecycle
