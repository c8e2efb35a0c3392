// What vouchers.cpp and voucher_load.cpp share: the store's voucher, and bringing it to Redis.
#pragma once

#include "sluice/operations.h"

namespace sluice::lifecycle {

// NotFound with a text for people.
[[nodiscard]] Result<Voucher> findVoucher(Parts parts, VoucherId id, Deadline deadline);

struct Synced {
  SyncOutcome outcome =
      SyncOutcome::NotNewer;  // NotNewer: Redis has it already, or somebody brings a newer one
  Voucher voucher;            // its version may have been raised above that of Redis
};

// `justCreated`: this very call created the voucher's version, so Redis cannot have it from anybody else.
[[nodiscard]] Result<Synced> bringToRedis(Parts parts, const Voucher& voucher, bool justCreated,
                                          Deadline deadline);

}  // namespace sluice::lifecycle
