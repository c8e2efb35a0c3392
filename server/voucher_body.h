// The JSON of a voucher's settings, as operators write it.
//
// Members:  title, begin and end (RFC 3339 in UTC), stock (pieces put on sale in all), limitPerUser, state
// ("on_sale", "paused", "closed"),
//           eligibleOnly; with create also id (a decimal string), with change also version (the one the
//           change is based on).
#pragma once

#include "sluice/voucher.h"

#include "service.h"

namespace sluice::server {

struct NewVoucher {
  VoucherId id;  // none: the store picks one
  VoucherSettings settings;
};

// title, begin, end and stock are needed. False: the answer is the refusal.
[[nodiscard]] bool readNewVoucher(Call& call, NewVoucher& voucher);

// `version` is needed; of the settings only what is to change. First reads what came, then applies it to the
// settings in force.
class VoucherChange {
 public:
  VoucherChange();
  [[nodiscard]] bool read(Call& call);
  [[nodiscard]] std::int64_t version() const noexcept;
  [[nodiscard]] bool apply(Call& call, VoucherSettings& settings) const;

 private:
  std::vector<JsonField> fields_;
};

}  // namespace sluice::server
