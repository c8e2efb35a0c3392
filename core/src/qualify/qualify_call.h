// One call of the qualify script: turns requests into its arguments and its reply into decisions, without
// allocating again and again.
//
// Threads:  one thread at a time; each thread keeps one (forThisThread) and reuses its memory. Lifetime:
//           keys() and args() are views into the object, until the next prepare().
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/limits.h"
#include "sluice/qualifier.h"
#include "sluice/redis.h"

namespace sluice {

// The five keys of a voucher in the order in which the scripts declare them.
struct VoucherKeys {
  VoucherKeys() = default;
  VoucherKeys(const RedisKeys& keys, VoucherId voucher);
  std::array<std::string, 5> names;  // voucher, holds, eligible, idempotency keys, journal
};

class QualifyCall {
 public:
  [[nodiscard]] static QualifyCall& forThisThread();

  // Requires 1 .. kQualifyBatchMax requests. `owner` tells qualifiers with different keys apart;
  // `journalMax` 0: no journal.
  void prepare(std::uint64_t owner, const RedisKeys& keys, VoucherId voucher,
               std::span<const QualifyRequest> requests, UtcTime now, std::int64_t journalMax);
  [[nodiscard]] std::span<const std::string_view> keys() const noexcept { return keyViews_; }
  [[nodiscard]] std::span<const std::string_view> args() const noexcept { return args_; }

 private:
  std::string_view write(std::int64_t number) noexcept;

  // Three numbers for each request and three for all, at most 20 characters each.
  std::array<char, (limits::kQualifyBatchMax + 1) * 3 * 20> text_{};
  std::size_t used_ = 0;
  std::vector<std::string_view> args_;
  std::uint64_t owner_ = 0;
  VoucherId voucher_;
  VoucherKeys keyNames_;
  std::array<std::string_view, 5> keyViews_;
};

// Reads the script's reply. Answers why the voucher is frozen, empty where it is not. Corrupt where the
// reply is none of the script's; no decision is set then.
[[nodiscard]] Result<std::string_view> readDecisions(RedisValue reply,
                                                     std::span<const QualifyRequest> requests,
                                                     std::span<Decision> decisions);

}  // namespace sluice
