// See order_id_generator.h. The id issued last is the whole state: its millisecond, process number and
// sequence stand in it.
#include "admission/order_id_generator.h"

#include <algorithm>

namespace sluice::admission {
namespace {

constexpr std::int32_t kSequenceMax = (1 << kOrderIdSequenceBits) - 1;

// The next id after `last` at `now`: the first of a new millisecond, or the next of the old one, or the first
// of the one after it.
OrderId following(OrderId last, UtcTime now) noexcept {
  OrderIdParts parts = splitOrderId(last);
  if (now > parts.issuedAt) {
    parts.issuedAt = now;
    parts.sequence = 0;
  } else if (parts.sequence < kSequenceMax) {
    ++parts.sequence;
  } else {
    parts.issuedAt += milliseconds(1);
    parts.sequence = 0;
  }
  return joinOrderId(parts);
}

}  // namespace

void OrderIdGenerator::grant(const ProcessLease& lease) noexcept {
  revoke();
  last_.store(joinOrderId({lease.since - milliseconds(1), lease.number, kSequenceMax}).value());
  untilMs_.store(toMillis(lease.expiresAt));
}

void OrderIdGenerator::extend(UtcTime until) noexcept {
  untilMs_.store(std::max(untilMs_.load(), toMillis(until)));
}

void OrderIdGenerator::revoke() noexcept { untilMs_.store(0); }

std::optional<OrderId> OrderIdGenerator::next(UtcTime now) noexcept {
  // The end is read before the last id: should another lease be granted in between, the id is of the new
  // lease and before the older, earlier end. The other way round an id of the old lease could lie behind its
  // end.
  const UtcTime until = fromMillis(untilMs_.load());
  if (now >= until) return std::nullopt;
  std::int64_t last = last_.load();
  for (;;) {
    const OrderId id = following(OrderId(last), now);
    if (splitOrderId(id).issuedAt >= until) return std::nullopt;
    if (last_.compare_exchange_weak(last, id.value())) return id;
  }
}

UtcTime OrderIdGenerator::floor() const noexcept {
  return splitOrderId(OrderId(last_.load())).issuedAt + milliseconds(1);
}

}  // namespace sluice::admission
