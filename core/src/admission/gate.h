// The gate: every request's way in. Gives it an order id and a lane, and turns every failure into a
// verdict.
//
// Threads:  order() from any thread, many at a time. No lock on its way is shared by all requests.
//           Lifetime: closed until open(); after close() requests are answered Unavailable. The gate
//           outlives the requests in it. Blocking: order() until its deadline at the latest.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "sluice/engine.h"

#include "admission/asking.h"
#include "admission/catalog.h"
#include "admission/lane_table.h"
#include "admission/order_id_generator.h"
#include "admission/turns.h"

namespace sluice::admission {

struct GateOptions {
  std::size_t inFlightMax = 20000;
  std::size_t batchesInFlight = 2;
  bool publishes = false;  // journal off
};

class Gate {
 public:
  Gate(Parts parts, GateOptions options, const Catalog& catalog, OrderIdGenerator& ids);

  // Requires: ids valid, quantity 1 .. limits::kQuantityMax, key empty or valid.
  [[nodiscard]] OrderAnswer order(const OrderRequest& request, Deadline deadline) noexcept;

  void open() noexcept { open_ = true; }
  void close() noexcept { open_ = false; }
  // While held, every request is Unavailable: the clocks of this machine and of Redis are too far apart.
  void hold(bool held) noexcept { held_ = held; }
  // Waits until no request is in the gate. False where the deadline came first.
  [[nodiscard]] bool idleBy(Deadline deadline) const;

  // The vouchers on record, from the catalog.
  void know(std::span<const VoucherId> vouchers) { lanes_.know(vouchers); }
  [[nodiscard]] std::vector<AdmissionCount> admitted() const { return lanes_.admitted(); }
  std::size_t takeBackOwed(Deadline deadline) { return asking_.takeBackOwed(deadline); }

  // A voucher that was on record and missing in Redis within the last ten seconds.
  [[nodiscard]] std::optional<VoucherId> missingVoucher() const;
  // By position in kVerdicts.
  [[nodiscard]] std::vector<std::uint64_t> verdicts() const;
  [[nodiscard]] std::uint64_t inFlight() const noexcept { return inFlight_.load(); }
  [[nodiscard]] const Histogram& batchSizes() const noexcept { return asking_.batchSizes(); }
  [[nodiscard]] const Histogram& nanoseconds() const noexcept { return asking_.nanoseconds(); }

 private:
  OrderAnswer pass(const OrderRequest& request, Deadline deadline);
  OrderAnswer follow(Lane& lane, Slot& slot);
  OrderAnswer lead(Lane& lane, Slot& leader);
  void handOn(Lane& lane) noexcept;
  void explainMissing(Lane& lane, Batch& batch) noexcept;
  void count(const Batch& batch) noexcept;
  OrderAnswer refuse(Verdict verdict, std::size_t requests = 1) noexcept;

  Parts parts_;
  const GateOptions options_;
  const Catalog& catalog_;
  OrderIdGenerator& ids_;
  LaneTable lanes_;
  Turns turns_;
  Asking asking_;
  std::atomic<bool> open_{false};
  std::atomic<bool> held_{false};
  std::atomic<std::uint64_t> inFlight_{0};
  std::array<std::atomic<std::uint64_t>, std::size(kVerdicts)> verdicts_{};
  std::atomic<std::int64_t> missing_{0};
  std::atomic<SteadyTime::rep> missingSince_{0};
};

}  // namespace sluice::admission
