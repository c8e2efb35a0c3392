// See recovery.h: gives recent dead rows' stock back again, re-creates recent live rows' holds.
#include "lifecycle/recovery.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lifecycle/release.h"

namespace sluice {
namespace lifecycle {
namespace {

constexpr std::string_view kDoing = "recover holds";
// Behind the first page the place in the order of changes says where to go on. A window that is counted back
// from the newest change would move on while rows change, and pass over those in between.
constexpr std::chrono::hours kFromThePlaceOn{24 * 365 * 50};

struct Sorted {
  std::vector<Order> live;
  std::vector<Order> dead;
};

Sorted sortByLife(std::span<const Order> rows) {
  Sorted sorted;
  for (const auto& row : rows) {
    (isLive(row.status) ? sorted.live : sorted.dead).push_back(row);
  }
  return sorted;
}

}  // namespace

Status Recovery::goOn(const std::string& identity, milliseconds window, Deadline deadline) {
  if (identity != state_.identity) state_ = {};
  state_.identity = identity;
  return walk(window, deadline);
}

Status Recovery::lookAgain(Deadline deadline) {
  if (state_.only.empty()) {
    state_.only = std::exchange(state_.leftOut, {});
    state_.at = state_.begin.value_or(ChangePoint());
  }
  Status walked = walk(kFromThePlaceOn, deadline);
  if (!walked) return walked;
  state_.only.clear();
  return state_.leftOut.empty() ? Status() : Status(ErrorCode::Corrupt, "keys of vouchers cannot be read");
}

Status Recovery::walk(milliseconds window, Deadline deadline) {
  while (true) {
    const auto rows = parts_.store.recentOrders(state_.begin ? kFromThePlaceOn : window, state_.at,
                                                limits::kPageMax, deadline);
    if (!rows) return rows.error().during(kDoing);
    if (rows.value().empty()) return {};
    if (deadline.passed()) return outOfTime(kDoing);
    if (!state_.begin)
      state_.begin = ChangePoint{rows.value().front().updatedAt - milliseconds(1), OrderId()};
    const Status done = recoverPage(rows.value(), deadline);
    if (!done) return done.error().during(kDoing);
    state_.report.rowsSeen += rows.value().size();
    state_.at = {rows.value().back().updatedAt, rows.value().back().id};
  }
}

Status Recovery::recoverPage(const std::vector<Order>& rows, Deadline deadline) {
  for (const auto& [voucher, ofVoucher] : byVoucher(rows)) {
    if (state_.leftOut.contains(voucher) || (!state_.only.empty() && !state_.only.contains(voucher)))
      continue;
    Status done = recoverVoucher(voucher, ofVoucher, deadline);
    if (done) continue;
    if (done.error().code != ErrorCode::Corrupt) return done;
    // Damaged keys freeze their own voucher (the script sees it).
    state_.leftOut.insert(voucher);
    parts_.log.repeated(LogLevel::Error, "recovery", "a voucher was left out",
                        "voucher " + voucher.text() + ": " + done.error().text);
  }
  return {};
}

// Dead rows first: what they give back is stock that the restored holds may need. A voucher that is not in
// Redis has nothing to repair: load brings it, and costs one question here however many rows it has.
Status Recovery::recoverVoucher(VoucherId voucher, std::span<const Order> rows, Deadline deadline) {
  const auto redis = parts_.qualifier.snapshot(voucher, deadline);
  if (!redis) return redis.error();
  if (!redis.value().loaded) return {};
  const Sorted sorted = sortByLife(rows);
  Status released = releaseAgain(sorted.dead, deadline);
  return released ? restoreLive(sorted.live, deadline) : released;
}

Status Recovery::releaseAgain(std::span<const Order> dead, Deadline deadline) {
  const auto release = releaseHolds(parts_, dead, deadline);
  state_.report.holdsReleased += release.released;
  return release.failure;
}

Status Recovery::restoreLive(std::span<const Order> live, Deadline deadline) {
  if (live.empty()) return {};
  const auto restored = parts_.qualifier.restore(live, deadline);
  // Outcome unknown: the holds may be there. The page is read again, which looks at its rows anew; but a row
  // that died meanwhile stands on a later page, and is released there.
  if (!restored) return restored.error();
  state_.report.holdsRestored += restored.value();
  if (restored.value() == 0) return {};
  std::vector<OrderId> ids;
  ids.reserve(live.size());
  std::transform(live.begin(), live.end(), std::back_inserter(ids), [](const Order& row) { return row.id; });
  const auto released = releaseDead(parts_, ids, deadline);
  if (!released) return released.error();
  state_.report.holdsReleased += released.value();
  return {};
}

}  // namespace lifecycle

Result<RecoveryReport> recoverHolds(Parts parts, milliseconds window, Deadline deadline) {
  lifecycle::Recovery recovery(parts);
  const Status done = recovery.goOn("once", window, deadline);
  return done ? Result(recovery.report()) : done.error();
}

}  // namespace sluice
