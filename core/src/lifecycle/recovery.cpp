// After Redis restarted or another server took over: gives recent dead rows' stock back again, re-creates
// recent live rows' holds.
#include "lifecycle/release.h"

namespace sluice {
namespace {

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

Status releaseAgain(Parts parts, std::span<const Order> dead, RecoveryReport& report, Deadline deadline) {
  const auto release = lifecycle::releaseHolds(parts, dead, deadline);
  report.holdsReleased += release.released;
  return release.failure;
}

Status releaseDiedMeanwhile(Parts parts, std::span<const Order> restored, RecoveryReport& report,
                            Deadline deadline) {
  std::vector<OrderId> ids;
  ids.reserve(restored.size());
  for (const auto& row : restored) {
    ids.push_back(row.id);
  }
  const auto released = lifecycle::releaseDead(parts, ids, deadline);
  if (!released) return released.error();
  report.holdsReleased += released.value();
  return {};
}

Status restoreLive(Parts parts, std::span<const Order> live, RecoveryReport& report, Deadline deadline) {
  if (live.empty()) return {};
  const auto restored = parts.qualifier.restore(live, deadline);
  // Outcome unknown: the holds may be there, and the caller repeats the whole recovery, which looks at the
  // rows anew.
  if (!restored) return restored.error();
  report.holdsRestored += restored.value();
  return restored.value() == 0 ? Status() : releaseDiedMeanwhile(parts, live, report, deadline);
}

// Dead rows first: what they give back is stock that the restored holds may need. A voucher that is not in
// Redis has nothing to repair: load brings it, and costs one question here however many rows it has.
Status recoverVoucher(Parts parts, VoucherId voucher, std::span<const Order> rows, RecoveryReport& report,
                      Deadline deadline) {
  const auto redis = parts.qualifier.snapshot(voucher, deadline);
  if (!redis) return redis.error();
  if (!redis.value().loaded) return {};
  const Sorted sorted = sortByLife(rows);
  Status released = releaseAgain(parts, sorted.dead, report, deadline);
  return released ? restoreLive(parts, sorted.live, report, deadline) : released;
}

Status recoverPage(Parts parts, std::span<const Order> rows, RecoveryReport& report, Deadline deadline) {
  report.rowsSeen += rows.size();
  for (const auto& [voucher, ofVoucher] : lifecycle::byVoucher(rows)) {
    Status done = recoverVoucher(parts, voucher, ofVoucher, report, deadline);
    if (done) continue;
    if (done.error().code != ErrorCode::Corrupt) return done;
    // Damaged keys freeze their own voucher (the script sees it); the other sales need not wait for its
    // repair.
    parts.log.error("recovery", "voucher " + voucher.text() + " was left out: " + done.error().text);
  }
  return {};
}

}  // namespace

Result<RecoveryReport> recoverHolds(Parts parts, milliseconds window, Deadline deadline) {
  RecoveryReport report;
  ChangePoint after;
  while (true) {
    const auto rows = parts.store.recentOrders(window, after, limits::kPageMax, deadline);
    if (!rows) return rows.error().during("recover holds");
    if (rows.value().empty()) return report;
    if (deadline.passed()) return lifecycle::outOfTime("recover holds");
    after = {rows.value().back().updatedAt, rows.value().back().id};
    const Status done = recoverPage(parts, rows.value(), report, deadline);
    if (!done) return done.error().during("recover holds");
  }
}

}  // namespace sluice
