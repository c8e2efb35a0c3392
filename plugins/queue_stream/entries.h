// What stands in a stream entry: ids, tokens, admissions, and what cannot be decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/order_queue.h"
#include "sluice/redis.h"

namespace sluice::stream {

// "<ms>-<n>" as Redis writes it; nothing for any other text.
[[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> parseEntryId(
    std::string_view text) noexcept;
[[nodiscard]] std::string entryId(const DeliveryToken& token);

// An entry that no consumer can use, and why.
struct Garbage {
  DeliveryToken token;
  std::string reason;
};

struct Batch {
  std::vector<Delivery> deliveries;
  std::vector<Garbage> garbage;
  [[nodiscard]] bool empty() const noexcept { return deliveries.empty() && garbage.empty(); }
  // Adds an entry of this id and these fields; good entries have exactly one field, `o`.
  void add(RedisValue id, RedisValue fields, std::uint32_t deliveryCount, std::uint32_t failures);
  // The reply of XREADGROUP: first deliveries of one stream.
  void addNew(RedisValue reply);
  // The entries that the scripts recover and poll answer: {id, deliveries, failures, fields}.
  void addClaimed(RedisValue entries);
};

// A dead letter of the `dead` stream: {id, fields}.
[[nodiscard]] DeadLetter readDeadLetter(RedisValue entry);

}  // namespace sluice::stream
