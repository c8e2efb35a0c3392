// See asking.h.
#include "admission/asking.h"

#include <algorithm>

namespace sluice::admission {
namespace {

// Admissions to take back, kept in memory; beyond it a hold waits for the audit, as one whose process died does.
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
  std::vector<QueueMessage> admissions;
  std::size_t fresh = 0;
  for (std::size_t k = 0; k < asked; ++k) {
    // The repeated ones as well: the first publish may be what failed. A message that comes twice is harmless.
    if (batch.answers[k].verdict != Verdict::Admitted) continue;
    const QualifyRequest& request = batch.requests[k];
    admissions.push_back({{batch.answers[k].order, request.user, voucher, request.quantity, now}, {}});
    if (isFresh(batch, k)) ++fresh;
  }
  const bool reserves = parts_.queue.traits().reserves;
  if (reserves) parts_.queue.unreserve(asked - admissions.size());
  if (admissions.empty()) return 0;
  const Status published = publishSurely(admissions, deadline);
  if (published) return fresh;
  parts_.log.repeated(LogLevel::Error, "gate", "admissions were not published", published.error().text);
  if (reserves) parts_.queue.unreserve(admissions.size());
  if (!errorTraits(published.error().code).mayHaveHappened)
    takeBack(voucher, batch, asked, verdictOf(published.error().code), deadline);
  for (std::size_t k = 0; k < asked; ++k) {
    OrderAnswer& answer = batch.answers[k];
    if (answer.verdict == Verdict::Admitted) answer = {Verdict::OutcomeUnknown, answer.order, false};
  }
  return 0;
}

// An unknown outcome is settled by publishing once more; the error is the first one.
Status Asking::publishSurely(std::span<const QueueMessage> admissions, Deadline deadline) {
  Status published = parts_.queue.publish(admissions, deadline);
  const bool unknown = !published && errorTraits(published.error().code).mayHaveHappened;
  return unknown && parts_.queue.publish(admissions, deadline) ? Status() : published;
}

// The one exception of rule R2: without a journal, and with a publish that certainly did not happen, nobody
// else knows the holds.
void Asking::takeBack(VoucherId voucher, Batch& batch, std::size_t asked, Verdict verdict,
                      Deadline deadline) {
  std::vector<Owed> page;
  for (std::size_t k = 0; k < asked; ++k) {
    if (!isFresh(batch, k)) continue;
    page.push_back({voucher, batch.requests[k], std::string(batch.requests[k].idempotencyKey)});
    batch.answers[k] = {verdict, OrderId(), false};
  }
  if (page.empty() || takeBackPage(page, deadline)) return;
  const std::lock_guard lock(mutex_);
  page.resize(std::min(page.size(), kOwedMax - std::min(kOwedMax, owed_.size())));
  owed_.insert(owed_.end(), page.begin(), page.end());
}

// Requires: all of one voucher.
Status Asking::takeBackPage(std::span<const Owed> page, Deadline deadline) {
  std::vector<QualifyRequest> requests;
  for (const Owed& owed : page) {
    requests.push_back(owed.request);
    requests.back().idempotencyKey = owed.key;
  }
  return parts_.qualifier.takeBack(page.front().voucher, requests, deadline);
}

// The last of those owed, and its neighbours of the same voucher.
std::vector<Asking::Owed> Asking::takePage() {
  const std::lock_guard lock(mutex_);
  std::vector<Owed> page;
  while (!owed_.empty() && page.size() < limits::kQualifyBatchMax &&
         (page.empty() || page.front().voucher == owed_.back().voucher)) {
    page.push_back(std::move(owed_.back()));
    owed_.pop_back();
  }
  return page;
}

std::size_t Asking::takeBackOwed(Deadline deadline) {
  while (true) {
    const std::vector<Owed> page = takePage();
    if (page.empty()) return 0;
    if (takeBackPage(page, deadline)) continue;
    // To the front, so that one voucher with damaged keys does not keep the others waiting.
    const std::lock_guard lock(mutex_);
    owed_.insert(owed_.begin(), page.begin(), page.end());
    return owed_.size();
  }
}

}  // namespace sluice::admission
