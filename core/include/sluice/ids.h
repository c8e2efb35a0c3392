// What names things. Distinct types, so that a user never stands where an order is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// A positive 63-bit number. Zero means "none" and is never issued or accepted from outside.
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::int64_t value) noexcept : value_(value) {}
  [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool valid() const noexcept { return value_ > 0; }
  [[nodiscard]] std::string text() const { return std::to_string(value_); }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::int64_t value_ = 0;
};

using OrderId = Id<struct OrderTag>;
using UserId = Id<struct UserTag>;
using VoucherId = Id<struct VoucherTag>;

// Where the journal has an admission: the id of an entry of its Redis stream, "<milliseconds>-<number>". 0-0 means
// "none"; Redis never issues it.
struct JournalId {
  std::uint64_t ms = 0;
  std::uint64_t sequence = 0;
  [[nodiscard]] constexpr bool valid() const noexcept { return ms > 0 || sequence > 0; }
  [[nodiscard]] std::string text() const { return std::to_string(ms) + "-" + std::to_string(sequence); }
  friend constexpr auto operator<=>(const JournalId&, const JournalId&) = default;
};

// Reads exactly the form of JournalId::text().
[[nodiscard]] std::optional<JournalId> parseJournalId(std::string_view text) noexcept;

// Reads exactly the decimal digits of 1 .. 2^63-1: no sign, no blank, no leading zero, nothing behind.
[[nodiscard]] std::optional<std::int64_t> parsePositive(std::string_view text) noexcept;

template <typename IdType>
[[nodiscard]] std::optional<IdType> parseId(std::string_view text) noexcept {
  const auto number = parsePositive(text);
  return number ? std::optional<IdType>(IdType(*number)) : std::nullopt;
}

}  // namespace sluice

template <typename Tag>
struct std::hash<sluice::Id<Tag>> {
  std::size_t operator()(sluice::Id<Tag> id) const noexcept { return std::hash<std::int64_t>()(id.value()); }
};
