// Brings a voucher into Redis page by page: checks, prepares temporary keys, and commits them in one step.
#pragma once

#include <cstdint>
#include <string>

#include "sluice/qualifier.h"
#include "sluice/redis.h"

#include "qualify/qualify_call.h"
#include "qualify/scripts.h"

namespace sluice {

class VoucherLoader {
 public:
  // `scratch` is a prefix of keys in the vouchers' slot that nobody else uses.
  VoucherLoader(RedisConnection& connection, const Scripts& scripts, VoucherKeys keys,
                const std::string& scratch);

  // See Qualifier::load. Temporary keys are deleted whatever happens; those of a killed process expire.
  [[nodiscard]] Result<LoadOutcome> run(const VoucherLoad& load, Deadline deadline);

 private:
  Result<LoadOutcome> check(VoucherId voucher, Deadline deadline);
  Status prepareHolds(const VoucherLoad& load, Deadline deadline);
  Status addHolds(std::span<const Order> page, VoucherId voucher, Deadline deadline);
  Status prepareEligible(const VoucherLoad& load, Deadline deadline);
  Result<LoadOutcome> commit(const Voucher& voucher, Deadline deadline);

  RedisConnection& connection_;
  const Scripts& scripts_;
  const VoucherKeys keys_;
  const std::string preparedHolds_;
  const std::string preparedEligible_;
  std::int64_t held_ = 0;      // pieces prepared
  std::int64_t holders_ = 0;   // users prepared
  std::int64_t eligible_ = 0;  // users prepared
};

// The settings as load.lua and sync.lua take them: version, begin, end, limit, state, eligible only,
// allocated.
[[nodiscard]] std::vector<std::string> settingsArgs(const Voucher& voucher);

// InvalidArgument where id, version or settings are not sound. The title does not matter to Redis.
[[nodiscard]] Status checkVoucher(const Voucher& voucher);

}  // namespace sluice
