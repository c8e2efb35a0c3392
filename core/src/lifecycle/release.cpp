// The outbox: gives the stock of dead rows back to Redis and marks the rows (rules R2 and R4).
#include "lifecycle/release.h"

namespace sluice {
namespace lifecycle {

Admission admissionOf(const Order& row) {
  return {row.id, row.user, row.voucher, row.quantity, row.admittedAt};
}

std::map<VoucherId, std::vector<Order>> byVoucher(std::span<const Order> rows) {
  std::map<VoucherId, std::vector<Order>> sorted;
  for (const auto& row : rows) {
    sorted[row.voucher].push_back(row);
  }
  return sorted;
}

Error outOfTime(std::string_view doing) {
  return {ErrorCode::Unavailable, std::string(doing) + ": the time given was too short; repeat it with more"};
}

namespace {

// Each outcome ends the matter. Absent: released before, or lost with Redis. NotLoaded: a later load brings
// holds of live rows only.
void releaseInto(Release& release, Parts parts, std::span<const Order> dead, Deadline deadline) {
  std::vector<Admission> holds;
  holds.reserve(dead.size());
  std::transform(dead.begin(), dead.end(), std::back_inserter(holds), admissionOf);
  const auto outcomes = parts.qualifier.release(holds, deadline);
  if (!outcomes) {
    release.failure = outcomes.error();
    return;
  }
  for (const auto& row : dead) {
    release.done.push_back(row.id);
  }
  release.released += static_cast<std::size_t>(
      std::count(outcomes.value().begin(), outcomes.value().end(), ReleaseOutcome::Released));
}

}  // namespace

Release releaseHolds(Parts parts, std::span<const Order> dead, Deadline deadline) {
  Release release;
  for (const auto& [voucher, rows] : byVoucher(dead)) {
    releaseInto(release, parts, rows, deadline);
    // Corrupt names a key of this voucher; every other error is the server's and would only be repeated.
    if (!release.failure && release.failure.error().code != ErrorCode::Corrupt) break;
  }
  return release;
}

Result<std::size_t> releaseDead(Parts parts, std::span<const OrderId> orders, Deadline deadline) {
  std::size_t released = 0;
  while (!orders.empty()) {
    if (deadline.passed()) return outOfTime("look at the rows again");
    const auto page = orders.first(std::min(orders.size(), limits::kPageMax));
    auto rows = parts.store.findOrders(page, deadline);
    if (!rows) return rows.error();
    std::erase_if(rows.value(), [](const Order& row) { return isLive(row.status); });
    const Release release = releaseHolds(parts, rows.value(), deadline);
    if (!release.failure) return release.failure.error();
    released += release.released;
    orders = orders.subspan(page.size());
  }
  return released;
}

void releaseNow(Parts parts, const Order& dead, Deadline deadline) {
  if (dead.releasedAt) return;
  // Redis away must not hold up the answer about a row that is written already.
  constexpr milliseconds kCourtesy{500};
  const Deadline soon = deadline.orSooner(kCourtesy);
  const Release release = releaseHolds(parts, {&dead, 1}, soon);
  if (!release.done.empty()) (void)parts.store.markReleased(release.done, parts.clock.now(), soon);
}

namespace {

struct PageDone {
  std::size_t marked = 0;
  bool more = false;  // the page was full and everything on it is done
};

Result<PageDone> releasePage(Parts parts, std::size_t max, Deadline deadline) {
  const auto dead = parts.store.unreleased(max, deadline);
  if (!dead) return dead.error();
  const Release release = releaseHolds(parts, dead.value(), deadline);
  if (!release.failure) {
    if (release.done.empty()) return release.failure.error().during("release the holds of dead orders");
    parts.log.repeated(LogLevel::Error, "release", "some holds were not released",
                       release.failure.error().text);
  }
  if (release.done.empty()) return PageDone{};
  // A mark that fails is no harm: the next step releases again (Absent) and marks then.
  const Status marked = parts.store.markReleased(release.done, parts.clock.now(), deadline);
  if (!marked) return marked.error();
  return PageDone{release.done.size(), release.done.size() == max};
}

}  // namespace
}  // namespace lifecycle

Result<std::size_t> releaseStep(Parts parts, std::size_t max, Deadline deadline) {
  std::size_t marked = 0;
  while (marked < max) {
    const auto page = lifecycle::releasePage(parts, std::min(max - marked, limits::kPageMax), deadline);
    // After progress the error waits for the next step, which meets it again.
    if (!page) return marked > 0 ? Result<std::size_t>(marked) : page.error();
    marked += page.value().marked;
    if (!page.value().more || deadline.passed()) break;
  }
  return marked;
}

}  // namespace sluice
