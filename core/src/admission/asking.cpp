// See asking.h.
#include "admission/asking.h"

#include <algorithm>

namespace sluice::admission {
namespace {

// Owed releases kept in memory; beyond it a hold waits for the audit, as one whose process died does.
constexpr std::size_t kOwedMax = 10000;

void answerAll(Batch& batch, std::size_t from, Verdict verdict) noexcept {
  for (std::size_t k = from; k < batch.size; ++k) {
    batch.answers[k] = {verdict, verdict == Verdict::OutcomeUnknown ? batch.requests[k].order : OrderId(),
                        false};
  }
}

Verdict verdictOf(ErrorCode code) noexcept {
  if (code == ErrorCode::Overloaded) return Verdict::Busy;
  return errorTraits(code).mayHaveHappened ? Verdict::OutcomeUnknown : Verdict::Unavailable;
}

// Admitted under the id of this very request: it took stock, now or when the same question was asked a moment
// ago.
bool isFresh(const Batch& batch, std::size_t place) noexcept {
  const OrderAnswer& answer = batch.answers[place];
  return answer.verdict == Verdict::Admitted && answer.order == batch.requests[place].order;
}

}  // namespace

std::size_t Asking::ask(VoucherId voucher, Batch& batch, Deadline deadline) noexcept {
  try {
    return askOrThrow(voucher, batch, deadline);
  } catch (const std::exception& thrown) {
    parts_.log.repeated(LogLevel::Error, "gate", "exception", thrown.what());
  } catch (...) {
    parts_.log.repeated(LogLevel::Error, "gate", "exception", "unknown exception");
  }
  answerAll(batch, 0, Verdict::OutcomeUnknown);
  return 0;
}

std::size_t Asking::askOrThrow(VoucherId voucher, Batch& batch, Deadline deadline) {
  const std::size_t asked = publishes_ && parts_.queue.traits().reserves ? reserve(batch) : batch.size;
  if (asked == 0) return 0;
  const UtcTime now = parts_.clock.now();
  std::array<Decision, limits::kQualifyBatchMax> decisions;
  const Status decided = decide(voucher, batch, asked, now, {decisions.data(), asked}, deadline);
  for (std::size_t k = 0; k < asked; ++k) {
    const Decision& decision = decisions[k];
    if (decided) {
      batch.answers[k] = {decision.verdict, decision.order, false};
      batch.answers[k].fresh = isFresh(batch, k);
    } else {
      const Verdict verdict = verdictOf(decided.error().code);
      batch.answers[k] = {verdict, verdict == Verdict::OutcomeUnknown ? batch.requests[k].order : OrderId(),
                          false};
    }
  }
  if (!decided) {
    parts_.log.repeated(LogLevel::Warning, "gate", "a batch was not decided", decided.error().text);
    if (publishes_ && parts_.queue.traits().reserves) parts_.queue.unreserve(asked);
    return 0;
  }
  if (publishes_) return publish(voucher, batch, asked, now, deadline);
  std::size_t fresh = 0;
  for (std::size_t k = 0; k < asked; ++k) {
    if (isFresh(batch, k)) ++fresh;
  }
  return fresh;
}

// Places before qualification: what finds none is refused without having taken stock. The first come have the
// places.
std::size_t Asking::reserve(Batch& batch) {
  const auto granted = parts_.queue.reserve(batch.size);
  const std::size_t places = granted ? std::min(granted.value(), batch.size) : 0;
  answerAll(batch, places, granted ? Verdict::Busy : verdictOf(granted.error().code));
  return places;
}

Status Asking::decide(VoucherId voucher, const Batch& batch, std::size_t asked, UtcTime now,
                      std::span<Decision> decisions, Deadline deadline) {
  const std::span<const QualifyRequest> requests(batch.requests.data(), asked);
  const SteadyTime began = std::chrono::steady_clock::now();
  Status decided = parts_.qualifier.decide(voucher, requests, now, decisions, deadline);
  // The same ids again: a lost answer is found again, and what was not decided is decided now. Once; then the
  // caller has to know.
  if (!decided && decided.error().code == ErrorCode::OutcomeUnknown && !deadline.passed()) {
    Status again = parts_.qualifier.decide(voucher, requests, now, decisions, deadline);
    if (again) decided = std::move(again);
  }
  const auto took = std::chrono::steady_clock::now() - began;
  batchSizes_.observe(asked);
  nanoseconds_.observe(static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count()));
  return decided;
}

std::size_t Asking::publish(VoucherId voucher, Batch& batch, std::size_t asked, UtcTime now,
                            Deadline deadline) {
  std::vector<Admission> admissions;
  for (std::size_t k = 0; k < asked; ++k) {
    const QualifyRequest& request = batch.requests[k];
    if (isFresh(batch, k))
      admissions.push_back({request.order, request.user, voucher, request.quantity, now});
  }
  const bool reserves = parts_.queue.traits().reserves;
  if (reserves) parts_.queue.unreserve(asked - admissions.size());
  if (admissions.empty()) return 0;
  Status published = parts_.queue.publish(admissions, deadline);
  if (published) return admissions.size();
  const bool unknown = errorTraits(published.error().code).mayHaveHappened;
  // A message that comes twice is harmless, so an unknown outcome is settled by publishing once more.
  if (unknown && parts_.queue.publish(admissions, deadline)) return admissions.size();
  parts_.log.repeated(LogLevel::Error, "gate", "admissions were not published", published.error().text);
  if (unknown) {
    for (std::size_t k = 0; k < asked; ++k) {
      if (isFresh(batch, k)) batch.answers[k] = {Verdict::OutcomeUnknown, batch.requests[k].order, false};
    }
    return 0;
  }
  if (reserves) parts_.queue.unreserve(admissions.size());
  takeBack(batch, admissions, verdictOf(published.error().code), deadline);
  return 0;
}

// The one exception of rule R2: without a journal, and with a publish that certainly did not happen, nobody
// else knows the holds.
void Asking::takeBack(Batch& batch, std::span<const Admission> admissions, Verdict verdict,
                      Deadline deadline) {
  for (std::size_t k = 0; k < batch.size; ++k) {
    if (isFresh(batch, k)) batch.answers[k] = {verdict, OrderId(), false};
  }
  if (parts_.qualifier.release(admissions, deadline)) return;
  const std::lock_guard lock(mutex_);
  const std::size_t room = kOwedMax - std::min(kOwedMax, owed_.size());
  owed_.insert(owed_.end(), admissions.begin(),
               admissions.begin() + static_cast<std::ptrdiff_t>(std::min(room, admissions.size())));
}

std::size_t Asking::releaseOwed(Deadline deadline) {
  std::vector<Admission> page;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t size = std::min(owed_.size(), limits::kPageMax);
    page.assign(owed_.end() - static_cast<std::ptrdiff_t>(size), owed_.end());
    owed_.resize(owed_.size() - size);
  }
  const bool released = page.empty() || parts_.qualifier.release(page, deadline).ok();
  const std::lock_guard lock(mutex_);
  if (!released) owed_.insert(owed_.end(), page.begin(), page.end());
  return owed_.size();
}

}  // namespace sluice::admission
