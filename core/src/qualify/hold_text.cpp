// Strict: digits, colons and commas where they belong, nothing else.
#include "qualify/hold_text.h"

#include "sluice/limits.h"

namespace sluice {

namespace {

std::optional<Hold> readHold(UserId user, std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto order = parseId<OrderId>(text.substr(0, colon));
  const auto pieces = parsePositive(text.substr(colon + 1));
  if (!order || !pieces || *pieces > limits::kQuantityMax) return std::nullopt;
  return Hold{user, *order, static_cast<std::int32_t>(*pieces)};
}

}  // namespace

Status readHolds(std::string_view user, std::string_view text, std::vector<Hold>& into) {
  const std::size_t before = into.size();
  const auto id = parseId<UserId>(user);
  std::optional<Hold> hold;
  for (std::size_t at = 0; id && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    hold = readHold(*id, text.substr(at, end - at));
    if (!hold) break;
    into.push_back(*hold);
    at = end + 1;
  }
  if (hold) return {};
  into.resize(before);
  return {ErrorCode::Corrupt, "a hold in Redis is not of the form order:pieces; somebody else wrote to it"};
}

}  // namespace sluice
