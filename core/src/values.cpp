// The plain values of the contract: names, ids, the packed admission, the check of a voucher's settings.
#include <array>
#include <charconv>
#include <limits>

#include "sluice/ids.h"
#include "sluice/limits.h"
#include "sluice/order.h"
#include "sluice/qualifier.h"
#include "sluice/result.h"
#include "sluice/verdict.h"
#include "sluice/voucher.h"

namespace sluice {

std::string_view errorName(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "invalid_argument";
    case ErrorCode::NotFound:
      return "not_found";
    case ErrorCode::Conflict:
      return "conflict";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::Overloaded:
      return "overloaded";
    case ErrorCode::Unavailable:
      return "unavailable";
    case ErrorCode::OutcomeUnknown:
      return "outcome_unknown";
    case ErrorCode::Corrupt:
      return "corrupt";
    case ErrorCode::Misconfigured:
      return "misconfigured";
    case ErrorCode::Stopped:
      return "stopped";
    case ErrorCode::Internal:
      break;
  }
  return "internal";
}

std::string_view verdictName(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::Admitted:
      return "admitted";
    case Verdict::NotFound:
      return "not_found";
    case Verdict::Frozen:
      return "frozen";
    case Verdict::AlreadyOrdered:
      return "already_ordered";
    case Verdict::Paused:
      return "paused";
    case Verdict::NotStarted:
      return "not_started";
    case Verdict::Ended:
      return "ended";
    case Verdict::NotEligible:
      return "not_eligible";
    case Verdict::SoldOut:
      return "sold_out";
    case Verdict::Insufficient:
      return "insufficient";
    case Verdict::Busy:
      return "busy";
    case Verdict::KeyReused:
      return "key_reused";
    case Verdict::OverLimit:
      return "over_limit";
    case Verdict::Unavailable:
      return "unavailable";
    case Verdict::OutcomeUnknown:
      break;
  }
  return "outcome_unknown";
}

std::string_view durabilityName(Durability level) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"L0", "L1", "L2"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string_view voucherStateName(VoucherState state) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"on_sale", "paused", "closed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::optional<VoucherState> parseVoucherState(std::string_view name) noexcept {
  for (const auto state : {VoucherState::OnSale, VoucherState::Paused, VoucherState::Closed}) {
    if (voucherStateName(state) == name) return state;
  }
  return std::nullopt;
}

std::string_view orderStatusName(OrderStatus status) noexcept {
  switch (status) {
    case OrderStatus::PendingPayment:
      return "pending_payment";
    case OrderStatus::Paid:
      return "paid";
    case OrderStatus::Rejected:
      return "rejected";
    case OrderStatus::Cancelled:
      return "cancelled";
    case OrderStatus::Refunded:
      break;
  }
  return "refunded";
}

std::optional<OrderStatus> parseOrderStatus(std::string_view name) noexcept {
  for (const auto status : {OrderStatus::PendingPayment, OrderStatus::Paid, OrderStatus::Rejected,
                            OrderStatus::Cancelled, OrderStatus::Refunded}) {
    if (orderStatusName(status) == name) return status;
  }
  return std::nullopt;
}

std::string_view deadReasonName(DeadReason reason) noexcept {
  constexpr std::array<std::string_view, 7> kNames = {"",       "no_stock",    "over_limit", "by_user",
                                                      "unpaid", "by_operator", "dead_letter"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::optional<JournalId> parseJournalId(std::string_view text) noexcept {
  JournalId id;
  const char* const last = text.data() + text.size();
  const auto first = std::from_chars(text.data(), last, id.ms);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, last, id.sequence);
  return second.ec == std::errc() && second.ptr == last ? std::optional(id) : std::nullopt;
}

std::optional<std::int64_t> parsePositive(std::string_view text) noexcept {
  if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string encodeAdmission(const Admission& admission) {
  std::string packed = "1 ";
  packed.reserve(limits::kEntryBytesMax);
  for (const std::int64_t number :
       {admission.order.value(), admission.user.value(), admission.voucher.value(),
        std::int64_t{admission.quantity}, toMillis(admission.admittedAt)}) {
    packed += std::to_string(number);
    packed += ' ';
  }
  packed.pop_back();
  return packed;
}

Result<Admission> decodeAdmission(std::string_view packed) {
  constexpr std::array<const char*, 5> kFields = {"order", "user", "voucher", "quantity", "admitted at"};
  if (packed.size() > limits::kEntryBytesMax) return {ErrorCode::Corrupt, "entry longer than 128 bytes"};
  if (packed.substr(0, 2) != "1 ")
    return {ErrorCode::Corrupt, "entry of an unknown version; this program reads version 1"};
  packed.remove_prefix(2);
  std::array<std::int64_t, kFields.size()> numbers{};
  for (std::size_t field = 0; field < kFields.size(); ++field) {
    const bool last = field + 1 == kFields.size();
    const std::size_t end = packed.find(' ');
    if (last != (end == std::string_view::npos)) {
      return {ErrorCode::Corrupt, last ? "entry has bytes behind its last field" : "entry ends too early"};
    }
    const auto number = parsePositive(packed.substr(0, end));
    if (!number)
      return {ErrorCode::Corrupt, std::string("entry: ") + kFields[field] + " is not a positive number"};
    numbers[field] = *number;
    packed.remove_prefix(last ? packed.size() : end + 1);
  }
  if (numbers[3] > limits::kQuantityMax) return {ErrorCode::Corrupt, "entry: quantity above 1000"};
  return Admission{OrderId(numbers[0]), UserId(numbers[1]), VoucherId(numbers[2]),
                   static_cast<std::int32_t>(numbers[3]), fromMillis(numbers[4])};
}

namespace {

// Strict UTF-8 (no overlong forms, no surrogates) without control characters.
bool isPlainText(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t extra = lead < 0x80 ? 0 : lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0x20 || lead == 0x7F || (lead >= 0x80 && lead < 0xC2) || lead > 0xF4 ||
        at + extra >= text.size())
      return false;
    std::uint32_t point = extra == 0 ? lead : lead & (0x3Fu >> extra);
    for (std::size_t k = 1; k <= extra; ++k) {
      const auto next = static_cast<unsigned char>(text[at + k]);
      if ((next & 0xC0u) != 0x80) return false;
      point = (point << 6u) | (next & 0x3Fu);
    }
    constexpr std::array<std::uint32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[extra] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF) ||
        (point >= 0x80 && point < 0xA0)) {
      return false;
    }
    at += extra + 1;
  }
  return true;
}

}  // namespace

std::optional<std::string> faultOf(const VoucherSettings& settings) {
  std::string faults;
  const auto add = [&faults](bool wrong, const std::string& text) {
    if (wrong) faults += (faults.empty() ? "" : "; ") + text;
  };
  add(settings.title.empty() || settings.title.size() > limits::kTitleBytesMax,
      "title must have 1 to " + std::to_string(limits::kTitleBytesMax) + " bytes");
  add(!isPlainText(settings.title), "title must be UTF-8 without control characters");
  add(toMillis(settings.begin) < 0 || toMillis(settings.end) > 253402300799999,
      "begin and end must lie between the years 1970 and 9999");
  add(settings.end <= settings.begin, "end must be after begin");
  add(settings.limitPerUser < 1 || settings.limitPerUser > limits::kLimitPerUserMax,
      "limit per user must be 1 to " + std::to_string(limits::kLimitPerUserMax));
  add(settings.allocated < 0 || settings.allocated > limits::kAllocatedMax,
      "stock must be 0 to " + std::to_string(limits::kAllocatedMax));
  return faults.empty() ? std::nullopt : std::optional(faults);
}

}  // namespace sluice
