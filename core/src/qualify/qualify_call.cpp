// See qualify_call.h; the forms of arguments and reply are those of scripts/qualify.lua.
#include "qualify/qualify_call.h"

#include <charconv>
#include <optional>

namespace sluice {

VoucherKeys::VoucherKeys(const RedisKeys& keys, VoucherId voucher)
    : names{keys.voucher(voucher.value()), keys.holds(voucher.value()), keys.eligible(voucher.value()),
            keys.idempotency(voucher.value()), keys.journal()} {}

QualifyCall& QualifyCall::forThisThread() {
  thread_local QualifyCall call;
  return call;
}

std::string_view QualifyCall::write(std::int64_t number) noexcept {
  char* const begin = text_.data() + used_;
  const auto end = std::to_chars(begin, text_.data() + text_.size(), number).ptr;
  const auto length = static_cast<std::size_t>(end - begin);
  used_ += length;
  return {begin, length};
}

void QualifyCall::prepare(std::uint64_t owner, const RedisKeys& keys, VoucherId voucher,
                          std::span<const QualifyRequest> requests, UtcTime now, std::int64_t journalMax) {
  if (owner != owner_ || voucher != voucher_) {
    keyNames_ = VoucherKeys(keys, voucher);
    for (std::size_t k = 0; k < keyViews_.size(); ++k) {
      keyViews_[k] = keyNames_.names[k];
    }
    owner_ = owner;
    voucher_ = voucher;
  }
  used_ = 0;
  args_.clear();
  args_.insert(args_.end(), {write(voucher.value()), write(toMillis(now)), write(journalMax)});
  for (const QualifyRequest& request : requests) {
    args_.insert(args_.end(), {write(request.order.value()), write(request.user.value()),
                               write(request.quantity), request.idempotencyKey});
  }
}

namespace {

std::optional<Decision> readDecision(std::string_view word, const QualifyRequest& request) {
  const std::size_t colon = word.find(':');
  const auto number =
      word.substr(0, colon) == "0" ? std::optional<std::int64_t>(0) : parsePositive(word.substr(0, colon));
  if (!number || *number > static_cast<std::int64_t>(Verdict::OverLimit)) return std::nullopt;
  const auto verdict = static_cast<Verdict>(*number);
  if (colon == std::string_view::npos) {
    const bool fresh = verdict == Verdict::Admitted;
    return Decision{verdict, fresh ? request.order : OrderId(), fresh};
  }
  const auto order = parseId<OrderId>(word.substr(colon + 1));
  if (!order) return std::nullopt;
  return Decision{verdict, *order, false};
}

}  // namespace

Result<std::string_view> readDecisions(RedisValue reply, std::span<const QualifyRequest> requests,
                                       std::span<Decision> decisions) {
  std::array<Decision, limits::kQualifyBatchMax> read;
  std::string_view words = reply[0].text();
  for (std::size_t k = 0; k < requests.size(); ++k) {
    const bool last = k + 1 == requests.size();
    const std::size_t end = words.find(' ');
    const auto decision = readDecision(words.substr(0, end), requests[k]);
    if (!decision || last != (end == std::string_view::npos)) {
      return {ErrorCode::Corrupt,
              "the qualify script answered something else than one verdict for each request"};
    }
    read[k] = *decision;
    words.remove_prefix(last ? words.size() : end + 1);
  }
  std::copy_n(read.begin(), requests.size(), decisions.begin());
  return reply[1].text();
}

}  // namespace sluice
