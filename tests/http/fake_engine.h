// An engine for tests of the HTTP side: decides at once with the fake qualifier, and answers what a test
// tells it to.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "sluice/engine.h"

#include "support/fakes.h"

namespace sluice::test {

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(Fakes& fakes) : fakes_(fakes) {
    state_.ready = true;
    state_.durability = Durability::L1;
  }

  // The next answers; empty again: decide with the fakes.
  void answerWith(std::function<OrderAnswer(const OrderRequest&)> answer) {
    const std::lock_guard lock(mutex_);
    scripted_ = std::move(answer);
  }
  void setReadiness(Readiness readiness) {
    const std::lock_guard lock(mutex_);
    state_ = std::move(readiness);
  }
  void setDeadLettered(bool dead) { dead_ = dead; }
  void know(const Voucher& voucher) {
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(voucher.id, voucher);
  }
  [[nodiscard]] std::uint64_t asked() const noexcept { return asked_; }

  [[nodiscard]] Status start(Deadline) override { return {}; }
  void stop(Deadline) noexcept override {}

  [[nodiscard]] OrderAnswer order(const OrderRequest& request, Deadline) noexcept override {
    const std::uint64_t number = ++asked_;
    std::function<OrderAnswer(const OrderRequest&)> scripted;
    {
      const std::lock_guard lock(mutex_);
      scripted = scripted_;
    }
    if (scripted) return scripted(request);
    const QualifyRequest question{OrderId(static_cast<std::int64_t>(1000000 + number)), request.user,
                                  request.quantity, request.idempotencyKey};
    Decision decision;
    const Status decided =
        fakes_.qualifier.decide(request.voucher, {&question, 1}, fakes_.clock.now(), {&decision, 1}, soon());
    if (!decided.ok()) return {Verdict::Unavailable, {}, false};
    return {decision.verdict, decision.order, decision.fresh};
  }

  [[nodiscard]] std::optional<Voucher> knownVoucher(VoucherId id) const override {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(id);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] bool deadLettered(OrderId) const override { return dead_; }
  [[nodiscard]] Readiness readiness() const override {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  [[nodiscard]] EngineStats stats() const override {
    EngineStats stats;
    stats.verdicts.assign(std::size(kVerdicts), 0);
    stats.verdicts[0] = asked_;
    stats.batchSizes = Histogram(1).snapshot();
    stats.scriptNanoseconds = Histogram(1000).snapshot();
    stats.storeNanoseconds = Histogram(1000).snapshot();
    stats.storeBatchSizes = Histogram(1).snapshot();
    return stats;
  }

 private:
  Fakes& fakes_;
  mutable std::mutex mutex_;
  std::function<OrderAnswer(const OrderRequest&)> scripted_;
  Readiness state_;
  std::map<VoucherId, Voucher> known_;
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<bool> dead_{false};
};

}  // namespace sluice::test
