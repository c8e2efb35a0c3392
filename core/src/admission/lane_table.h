// All lanes: those of the vouchers on record, found without meeting others, and a few for vouchers that
// are not.
//
// Threads:  any.
// Limits:   at most kStrangersMax lanes of unknown vouchers at one time, so that made-up ids cannot crowd
//           out real sales. A voucher made a moment ago is unknown until the next refresh of the catalog,
//           and is served meanwhile.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "sluice/order_store.h"

#include "admission/lane.h"
#include "admission/published.h"

namespace sluice::admission {

class LaneTable {
 public:
  static constexpr std::size_t kStrangersMax = 64;

  // Use of one lane; it stays as long as this lives. Empty where there is no room.
  class Use {
   public:
    Use() = default;
    explicit Use(Lane& known) noexcept : lane_(&known) {}
    Use(LaneTable& table, std::shared_ptr<Lane> stranger) noexcept
        : table_(&table), lane_(stranger.get()), stranger_(std::move(stranger)) {}
    ~Use();
    Use(Use&& other) noexcept = default;
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Use& operator=(Use&&) = delete;
    explicit operator bool() const noexcept { return lane_ != nullptr; }
    Lane& operator*() const noexcept { return *lane_; }
    Lane* operator->() const noexcept { return lane_; }

   private:
    LaneTable* table_ = nullptr;
    Lane* lane_ = nullptr;
    std::shared_ptr<Lane> stranger_;  // also tells whether there is something to give back
  };

  [[nodiscard]] Use use(VoucherId voucher);
  // The vouchers on record; lanes once known stay.
  void know(std::span<const VoucherId> vouchers);
  // Admissions of each voucher since the process started; those with none are left out.
  [[nodiscard]] std::vector<AdmissionCount> admitted() const;

 private:
  using Lanes = std::unordered_map<VoucherId, std::shared_ptr<Lane>>;
  struct Stranger {
    std::shared_ptr<Lane> lane;
    std::size_t users = 0;
  };
  void giveBack(const Lane& stranger) noexcept;

  Published<Lanes> known_;
  mutable std::mutex mutex_;  // guards strangers_, and is held while known_ changes
  std::unordered_map<VoucherId, Stranger> strangers_;
};

}  // namespace sluice::admission
