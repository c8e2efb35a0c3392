// See gate.h.
#include "admission/gate.h"

#include <algorithm>
#include <string>
#include <thread>

#include "admission/park.h"

namespace sluice::admission {
namespace {

// A follower that becomes leader with less time than this passes the turn on: its whole batch would share its
// haste.
constexpr milliseconds kLeadFloor{20};
constexpr std::chrono::seconds kMissingShown{10};

std::size_t positionOf(Verdict verdict) noexcept {
  return static_cast<std::size_t>(std::find(std::begin(kVerdicts), std::end(kVerdicts), verdict) -
                                  std::begin(kVerdicts));
}

// One request in the gate, from its first step to its last.
class Presence {
 public:
  explicit Presence(std::atomic<std::uint64_t>& inFlight) noexcept
      : inFlight_(inFlight), number_(inFlight.fetch_add(1)) {}
  ~Presence() { inFlight_.fetch_sub(1); }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  [[nodiscard]] std::uint64_t others() const noexcept { return number_; }

 private:
  std::atomic<std::uint64_t>& inFlight_;
  const std::uint64_t number_;
};

}  // namespace

Gate::Gate(Parts parts, GateOptions options, const Catalog& catalog, OrderIdGenerator& ids)
    : parts_(parts),
      options_(options),
      catalog_(catalog),
      ids_(ids),
      turns_(std::max<std::size_t>(1, options.batchesInFlight)),
      asking_(parts, options.publishes) {}

OrderAnswer Gate::order(const OrderRequest& request, Deadline deadline) noexcept {
  const Presence presence(inFlight_);
  // After the presence is counted: whoever closes the gate and then sees nobody in it can rely on that.
  if (!open_ || held_) return refuse(Verdict::Unavailable);
  if (presence.others() >= options_.inFlightMax) return refuse(Verdict::Busy);
  try {
    return pass(request, deadline);
  } catch (const std::exception& thrown) {
    parts_.log.repeated(LogLevel::Error, "gate", "exception", thrown.what());
  }
  return refuse(Verdict::Unavailable);
}

OrderAnswer Gate::refuse(Verdict verdict, std::size_t requests) noexcept {
  // Relaxed, here and below: figures for people, with no order among them.
  verdicts_[positionOf(verdict)].fetch_add(requests, std::memory_order_relaxed);
  return {verdict, OrderId(), false};
}

OrderAnswer Gate::pass(const OrderRequest& request, Deadline deadline) {
  const bool sound = request.idempotencyKey.size() <= limits::kIdempotencyKeyBytesMax;
  const std::optional<OrderId> id = sound ? ids_.next(parts_.clock.now()) : std::nullopt;
  if (!id) return refuse(Verdict::Unavailable);
  const LaneTable::Use lane = lanes_.use(request.voucher);
  if (!lane) return refuse(Verdict::Busy);
  Slot slot({*id, request.user, request.quantity, request.idempotencyKey}, deadline);
  return lane->enter(slot, turns_) ? lead(*lane, slot) : follow(*lane, slot);
}

OrderAnswer Gate::follow(Lane& lane, Slot& slot) {
  for (;;) {
    Stage stage = slot.stage();
    if (stage != Stage::Done && stage != Stage::Leading && slot.deadline.passed()) {
      stage = lane.leave(slot);
      if (stage == Stage::Waiting) return refuse(Verdict::Unavailable);
      if (stage == Stage::Taken) return {Verdict::OutcomeUnknown, slot.request.order, false};
    }
    if (stage == Stage::Done) return slot.answer;
    if (stage == Stage::Leading) break;
    parkWhile(slot.word, static_cast<std::uint32_t>(stage), slot.deadline);
  }
  if (slot.deadline.remaining() >= kLeadFloor) return lead(lane, slot);
  lane.decline(slot);
  handOn(lane);
  return refuse(Verdict::Unavailable);
}

OrderAnswer Gate::lead(Lane& lane, Slot& leader) {
  Batch batch;
  lane.gather(batch, leader);
  const std::size_t admitted = asking_.ask(lane.voucher(), batch, leader.deadline);
  if (admitted > 0) lane.admitted.fetch_add(static_cast<std::int64_t>(admitted));
  // The next leader first: it can ask while this one still hands out answers.
  handOn(lane);
  explainMissing(lane, batch);
  count(batch);
  lane.deliver(batch, leader);
  return batch.answers[leader.place];
}

void Gate::handOn(Lane& lane) noexcept {
  std::shared_ptr<Lane> next = turns_.passOn(lane.claimTurn() ? &lane : nullptr);
  while (next != nullptr && !next->promote()) {
    next = turns_.passOn(nullptr);
  }
}

// The script knows only what Redis has. A voucher on record that Redis lacks was lost, or not loaded yet.
void Gate::explainMissing(Lane& lane, Batch& batch) noexcept {
  const auto answers = std::span(batch.answers).first(batch.size);
  const auto isMissing = [](const OrderAnswer& answer) { return answer.verdict == Verdict::NotFound; };
  if (std::none_of(answers.begin(), answers.end(), isMissing)) return;
  const std::optional<Voucher> voucher = catalog_.find(lane.voucher());
  // Not on record yet, but sold a moment ago: it is real.
  const bool sold = lane.admitted.load() > 0;
  if (!voucher && !sold && catalog_.loaded()) return;
  Verdict verdict = Verdict::Unavailable;
  if (voucher &&
      (voucher->settings.state == VoucherState::Closed || parts_.clock.now() >= voucher->settings.end)) {
    verdict = Verdict::Ended;
  }
  for (OrderAnswer& answer : answers) {
    if (isMissing(answer)) answer.verdict = verdict;
  }
  if (!voucher || verdict == Verdict::Ended) return;
  missing_ = lane.voucher().value();
  missingSince_ = parts_.clock.steady().time_since_epoch().count();
  parts_.log.repeated(LogLevel::Error, "gate", "a voucher on sale is missing in Redis",
                      "voucher " + lane.voucher().text() +
                          " is on sale and not in Redis; load it: sluice voucher load " +
                          lane.voucher().text());
}

std::optional<VoucherId> Gate::missingVoucher() const {
  const VoucherId missing(missing_.load());
  const SteadyTime since{SteadyTime::duration(missingSince_.load())};
  return missing.valid() && parts_.clock.steady() - since < kMissingShown ? std::optional(missing)
                                                                          : std::nullopt;
}

void Gate::count(const Batch& batch) noexcept {
  std::array<std::uint32_t, std::size(kVerdicts)> sums{};
  for (std::size_t k = 0; k < batch.size; ++k) {
    ++sums[positionOf(batch.answers[k].verdict)];
  }
  for (std::size_t position = 0; position < sums.size(); ++position) {
    if (sums[position] > 0) verdicts_[position].fetch_add(sums[position], std::memory_order_relaxed);
  }
}

std::vector<std::uint64_t> Gate::verdicts() const {
  std::vector<std::uint64_t> counts;
  for (const auto& count : verdicts_) {
    counts.push_back(count.load(std::memory_order_relaxed));
  }
  return counts;
}

bool Gate::idleBy(Deadline deadline) const {
  // Polled: it happens once in a process' life, and the way of a request stays free of a notice.
  while (inFlight_.load() > 0) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

}  // namespace sluice::admission
