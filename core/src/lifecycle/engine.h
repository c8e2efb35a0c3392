// The one implementation of Engine; see sluice/engine.h for its promises.
//
// Threads inside: health (Redis, queue, recovery), store (catalog, lease), lifecycle (expiry, releases), gate
// (holds that are owed, where the gate publishes) or forwarder (where the queue does not read the journal), and
// one for each queue slot. None waits for another, so
// that a frozen database cannot keep Redis' return from being noticed. What a thread does is a list of steps;
// a simulation runs them without threads (open, runDue).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sluice/engine.h"

#include "admission/catalog.h"
#include "admission/gate.h"
#include "admission/order_id_generator.h"
#include "forward/forwarder.h"
#include "fulfilment/fulfilment.h"
#include "lifecycle/health.h"
#include "lifecycle/opening.h"
#include "lifecycle/process_lease.h"
#include "lifecycle/step_scheduler.h"

namespace sluice::lifecycle {

class EngineImpl final : public Engine {
 public:
  EngineImpl(Parts parts, EngineOptions options);
  ~EngineImpl() override;

  [[nodiscard]] Status start(Deadline deadline) override;
  void stop(Deadline deadline) noexcept override;
  [[nodiscard]] OrderAnswer order(const OrderRequest& request, Deadline deadline) noexcept override;
  [[nodiscard]] std::optional<Voucher> knownVoucher(VoucherId id) const override;
  [[nodiscard]] bool deadLettered(OrderId order) const override;
  [[nodiscard]] Readiness readiness() const override;
  [[nodiscard]] EngineStats stats() const override;

  // Instead of start(), for simulations: the same without threads. The caller runs the steps himself.
  [[nodiscard]] Status open(Deadline deadline);
  // Runs every step that is due by `now`, in the order in which start() makes their threads.
  void runDue(SteadyTime now);

 private:
  enum class Life : std::uint8_t { Made, Started, Stopped };

  [[nodiscard]] bool admits() const noexcept { return options_.role != Role::Worker; }
  [[nodiscard]] bool works() const noexcept { return options_.role != Role::Front; }
  [[nodiscard]] bool forwards() const noexcept {
    return options_.journal && !parts_.queue.traits().readsJournal;
  }
  [[nodiscard]] Status checkTraits() const;
  Status openParts(Deadline deadline);
  void addSteps();
  void startThreads();
  void closeParts() noexcept;
  milliseconds healthStep();
  milliseconds storeStep();
  Status talkToStore();
  milliseconds workStep();
  milliseconds oweStep();
  void finishQueue(Deadline deadline) noexcept;
  void handBack(Deadline deadline) noexcept;
  void sayGoodbye(Deadline deadline) noexcept;
  [[nodiscard]] fulfilment::Pause pause() const;
  void explainStore(Readiness& readiness) const;
  void explainPause(Readiness& readiness) const;
  void explainQueue(Readiness& readiness, const HealthReport& health) const;
  void explainForwarder(Readiness& readiness, const HealthReport& health) const;

  Parts parts_;
  const EngineOptions options_;
  admission::Catalog catalog_;
  admission::OrderIdGenerator ids_;
  admission::Gate gate_;
  ProcessLeaseKeeper lease_;
  Health health_;
  Opening store_;
  std::unique_ptr<forward::Forwarder> forwarder_;
  fulfilment::FulfilmentCounts counts_;
  std::vector<std::unique_ptr<fulfilment::Fulfilment>> workers_;
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<bool> healthLooked_{false};
  std::atomic<bool> storeLooked_{false};
  mutable std::mutex whyMutex_;
  std::string storeWhy_ =
      "store: not looked at yet";  // guarded by whyMutex_: why the store does not answer; empty where it does
  std::vector<StepScheduler> steps_;  // one for each thread; complete before the first of them runs
  StopSignal stopping_;
  std::mutex lifeMutex_;  // one start or stop at a time
  std::atomic<Life> life_{Life::Made};
  Crew crew_;
};

}  // namespace sluice::lifecycle
