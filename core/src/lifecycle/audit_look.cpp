// How the audit reads Redis, journal, queue and store, page by page.
#include "lifecycle/audit_look.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

#include "sluice/order_id.h"

#include "lifecycle/release.h"

namespace sluice::lifecycle {
namespace {

constexpr std::string_view kDoing = "audit";

auto byOrder(const Hold& hold) { return std::tuple(hold.order, hold.user, hold.quantity); }

// SplitMix64 of the three numbers; summed over a set it does not depend on the order in which the set was
// read.
std::uint64_t fingerprintOf(const Hold& hold) {
  std::uint64_t z = static_cast<std::uint64_t>(hold.order.value()) ^
                    std::rotl(static_cast<std::uint64_t>(hold.user.value()), 32) ^
                    std::rotl(static_cast<std::uint64_t>(hold.quantity), 16);
  z = (z + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27u)) * 0x94D049BB133111EB;
  return z ^ (z >> 31u);
}

Result<std::vector<Hold>> scanAll(Parts parts, VoucherId voucher, Deadline deadline) {
  std::vector<Hold> holds;
  std::string cursor = "0";
  do {
    if (deadline.passed()) return outOfTime(kDoing);
    const auto page = parts.qualifier.scanHolds(voucher, cursor, deadline);
    if (!page) return page.error();
    holds.insert(holds.end(), page.value().begin(), page.value().end());
  } while (cursor != "0");
  return holds;
}

// A scan may bring a hold twice.
void sortOut(HoldTable& table) {
  std::sort(table.holds.begin(), table.holds.end(),
            [](const Hold& a, const Hold& b) { return byOrder(a) < byOrder(b); });
  table.holds.erase(std::unique(table.holds.begin(), table.holds.end()), table.holds.end());
  for (const Hold& hold : table.holds) {
    table.pieces += hold.quantity;
    table.fingerprint += fingerprintOf(hold);
  }
}

}  // namespace

bool HoldTable::has(OrderId order) const {
  const auto at = std::lower_bound(holds.begin(), holds.end(), order,
                                   [](const Hold& hold, OrderId wanted) { return hold.order < wanted; });
  return at != holds.end() && at->order == order;
}

Result<HoldTable> readHolds(Parts parts, VoucherId voucher, Deadline deadline) {
  HoldTable table;
  const auto before = parts.qualifier.snapshot(voucher, deadline);
  if (!before) return before.error();
  table.before = before.value();
  if (!table.before.loaded) return table;
  auto holds = scanAll(parts, voucher, deadline);
  if (!holds) return holds.error();
  const auto after = parts.qualifier.snapshot(voucher, deadline);
  if (!after) return after.error();
  table.after = after.value();
  table.holds = std::move(holds).take();
  sortOut(table);
  return table;
}

namespace {

// Walks rows and holds together, both in the order of their ids.
class Comparer {
 public:
  explicit Comparer(const HoldTable& table) : next_(table.holds.begin()), end_(table.holds.end()) {}

  void row(const Order& row) {
    skipTo(row.id);
    std::int64_t holds = 0;
    for (; next_ != end_ && next_->order == row.id; ++next_) {
      if (next_->user != row.user || next_->quantity != row.quantity) seen_.otherFacts.add(row.id);
      if (++holds == 2) seen_.heldTwice.add(row.id);
    }
    const Hold facts{row.user, row.id, row.quantity};
    if (isLive(row.status) && holds == 0) seen_.noHold.push_back(facts);
    if (isLive(row.status) && row.releasedAt) seen_.liveReleased.add(row.id);
    if (!isLive(row.status) && row.releasedAt && holds > 0) seen_.notGone.push_back(facts);
  }

  Comparison finish() {
    skipTo(std::nullopt);
    return std::move(seen_);
  }

 private:
  // Holds before `order` (none: all) have no row.
  void skipTo(std::optional<OrderId> order) {
    for (; next_ != end_ && (!order || next_->order < *order); ++next_) {
      if (!seen_.noRow.empty() && seen_.noRow.back().order == next_->order) {
        seen_.heldTwice.add(next_->order);
      } else {
        seen_.noRow.push_back(*next_);
      }
    }
  }

  std::vector<Hold>::const_iterator next_;
  std::vector<Hold>::const_iterator end_;
  Comparison seen_;
};

}  // namespace

Result<Comparison> compareWithRows(Parts parts, VoucherId voucher, const HoldTable& table,
                                   Deadline deadline) {
  Comparer comparer(table);
  OrderId after;
  while (true) {
    if (deadline.passed()) return outOfTime(kDoing);
    const auto page =
        parts.store.listOrders(voucher, UserId(), std::nullopt, after, limits::kPageMax, deadline);
    if (!page) return page.error();
    if (page.value().empty()) return comparer.finish();
    for (const Order& row : page.value()) {
      comparer.row(row);
    }
    after = page.value().back().id;
  }
}

Result<std::unordered_set<OrderId>> withRow(Parts parts, std::span<const Hold> orders, bool liveOnly,
                                            Deadline deadline) {
  std::unordered_set<OrderId> found;
  while (!orders.empty()) {
    if (deadline.passed()) return outOfTime(kDoing);
    const auto page = orders.first(std::min(orders.size(), limits::kPageMax));
    std::vector<OrderId> ids;
    std::transform(page.begin(), page.end(), std::back_inserter(ids),
                   [](const Hold& hold) { return hold.order; });
    const auto rows = parts.store.findOrders(ids, deadline);
    if (!rows) return rows.error();
    for (const Order& row : rows.value()) {
      if (!liveOnly || isLive(row.status)) found.insert(row.id);
    }
    orders = orders.subspan(page.size());
  }
  return found;
}

namespace {

// Adds those of a page that have no row. Read after the page: what has a row by now is on its way no more.
Status addWithoutRow(Waiting& waiting, Parts parts, std::span<const Admission> page, Deadline deadline) {
  std::vector<Hold> orders;
  for (const Admission& admission : page) {
    orders.push_back({admission.user, admission.order, admission.quantity});
  }
  const auto stored = withRow(parts, orders, false, deadline);
  if (!stored) return stored.error();
  for (const Admission& admission : page) {
    if (stored.value().contains(admission.order)) continue;
    if (waiting.orders.insert(admission.order).second) ++waiting.count[admission.voucher];
  }
  return {};
}

Status readJournal(Waiting& waiting, Parts parts, Deadline deadline) {
  JournalId after;
  while (true) {
    if (deadline.passed()) return outOfTime(kDoing);
    const auto page = parts.qualifier.readJournal(after, limits::kPageMax, deadline);
    if (!page) return page.error();
    if (page.value().empty()) return {};
    waiting.journalEmpty = false;
    after = page.value().back().id;
    std::vector<Admission> admissions;
    for (const JournalEntry& entry : page.value()) {
      // An entry that does not decode is about to become a dead letter without an admission; its hold will be
      // found lost.
      if (entry.admission) admissions.push_back(entry.admission.value());
    }
    Status added = addWithoutRow(waiting, parts, admissions, deadline);
    if (!added) return added;
  }
}

Status readLetters(Waiting& waiting, Parts parts, Deadline deadline) {
  std::string after;
  while (true) {
    if (deadline.passed()) return outOfTime(kDoing);
    const auto page = parts.queue.deadLetters(after, limits::kPageMax, deadline);
    if (!page) return page.error().code == ErrorCode::Unsupported ? Status() : page.error();
    if (page.value().empty()) return {};
    after = page.value().back().id;
    std::vector<Admission> admissions;
    for (const DeadLetter& letter : page.value()) {
      if (!letter.admission) continue;
      admissions.push_back(*letter.admission);
      ++waiting.deadLettered[letter.admission->voucher];
    }
    Status added = addWithoutRow(waiting, parts, admissions, deadline);
    if (!added) return added;
  }
}

// Whether the queue may carry what the journal does not have: without a journal all of it, and beside one the replayed
// letters of a queue that outlives its processes.
bool mayHide(const Parts& parts) {
  const QueueTraits& traits = parts.queue.traits();
  return !traits.readsJournal && (traits.durable || !parts.qualifier.keepsJournal());
}

Status readQueue(Waiting& waiting, Parts parts, Deadline deadline) {
  const auto stats = parts.queue.stats(deadline);
  if (!stats) return stats.error();
  waiting.queueDepth = stats.value().ready + stats.value().inFlight;
  waiting.queueHides = mayHide(parts) && waiting.queueDepth > 0;
  return {};
}

// With a journal an admission is in it until it has a row or is a dead letter, and no process can hold it alone.
Status readLeases(Waiting& waiting, Parts parts, Deadline deadline) {
  if (parts.qualifier.keepsJournal()) return {};
  auto leases = parts.store.listProcesses(deadline);
  if (!leases) return leases.error();
  waiting.leases = std::move(leases).take();
  std::erase_if(waiting.leases,
                [now = parts.clock.now()](const ProcessLease& lease) { return lease.expiresAt <= now; });
  return {};
}

}  // namespace

bool Waiting::mayBeOnItsWay(OrderId order) const {
  const OrderIdParts issued = splitOrderId(order);
  return queueHides || std::any_of(leases.begin(), leases.end(), [&issued](const ProcessLease& lease) {
           return lease.number == issued.process && issued.issuedAt >= lease.since;
         });
}

Result<Waiting> readWaiting(Parts parts, Deadline deadline) {
  Waiting waiting;
  for (const auto& read : {readJournal, readLetters, readQueue, readLeases}) {
    const Status done = read(waiting, parts, deadline);
    if (!done) return done.error();
  }
  return waiting;
}

}  // namespace sluice::lifecycle
