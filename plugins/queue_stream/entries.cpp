// See entries.h. Everything here was written by somebody else, so nothing is taken for granted.
#include "entries.h"

#include <charconv>

namespace sluice::stream {

namespace {

std::optional<std::uint64_t> parseCount(std::string_view digits) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  const bool canonical = digits.size() == 1 || digits.substr(0, 1) != "0";
  return whole && canonical ? std::optional(number) : std::nullopt;
}

std::uint32_t toCount(RedisValue value) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value.integer(), 0, UINT32_MAX));
}

Result<Admission> decodeFields(RedisValue fields) {
  if (fields.size() != 2 || fields[0].text() != "o") {
    return {ErrorCode::Corrupt, "an entry has exactly one field, o; this one is kept as netstrings"};
  }
  return decodeAdmission(fields[1].text());
}

}  // namespace

std::optional<std::pair<std::uint64_t, std::uint64_t>> parseEntryId(std::string_view text) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto ms = parseCount(text.substr(0, dash));
  const auto n = parseCount(text.substr(dash + 1));
  return ms && n ? std::optional(std::pair(*ms, *n)) : std::nullopt;
}

std::string entryId(const DeliveryToken& token) {
  std::string id = std::to_string(token.a);
  id += '-';
  id += std::to_string(token.b);
  return id;
}

void Batch::add(RedisValue id, RedisValue fields, std::uint32_t deliveryCount, std::uint32_t failures) {
  const auto parsed = parseEntryId(id.text());
  if (!parsed) return;  // not an answer of Redis
  const DeliveryToken token{.epoch = deliveryCount, .a = parsed->first, .b = parsed->second};
  const auto admission = decodeFields(fields);
  if (admission) {
    deliveries.push_back({token, admission.value(), {}, deliveryCount, failures});
  } else {
    garbage.push_back({token, "undecodable: " + admission.error().text});
  }
}

void Batch::addNew(RedisValue reply) {
  const RedisValue entries = reply[0][1];
  deliveries.reserve(entries.size());
  for (std::size_t k = 0; k < entries.size(); ++k) {
    add(entries[k][0], entries[k][1], 1, 0);
  }
}

void Batch::addClaimed(RedisValue entries) {
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const RedisValue entry = entries[k];
    add(entry[0], entry[3], toCount(entry[1]), toCount(entry[2]));
  }
}

DeadLetter readDeadLetter(RedisValue entry) {
  DeadLetter letter;
  letter.id = entry[0].text();
  const RedisValue fields = entry[1];
  for (std::size_t k = 0; k + 1 < fields.size(); k += 2) {
    const std::string_view name = fields[k].text();
    const RedisValue value = fields[k + 1];
    if (name == "bytes") letter.bytes = value.text();
    if (name == "reason") letter.reason = value.text();
    if (name == "deliveries") letter.deliveries = toCount(value);
    if (name == "failures") letter.failures = toCount(value);
    if (name == "at") letter.deadAt = fromMillis(value.integer());
  }
  if (auto admission = decodeAdmission(letter.bytes)) letter.admission = admission.value();
  return letter;
}

}  // namespace sluice::stream
