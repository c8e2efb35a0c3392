// The audit: two looks at what moves, then the judgement.
//
// Orders move while they are read: journal -> row, hold -> released, dead letter -> journal. Each look
// therefore reads against the direction of that movement, so that what is missing at the end was missing for
// good:
// - Holds, then rows: a live row had its hold before it had its row.
// - Holds, then journal and letters, then rows again: an admission without a row is in the journal or a
// letter all the time.
// - The servers' counts, then journal and letters, then the totals: what was counted is a row by then, or
// waits. What one look finds may still have moved the other way meanwhile (a release, a replay). The second
// look, a moment later, starts from the suspects of the first: it reads all holds anew and then asks for
// exactly these rows, which existed before it began.
#include "sluice/audit.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "lifecycle/audit_judge.h"
#include "lifecycle/release.h"

namespace sluice {
namespace {

using lifecycle::HoldSums;
using lifecycle::HoldTable;
using lifecycle::VoucherCase;
using lifecycle::Waiting;

constexpr milliseconds kBetweenLooks{
    200};  // longer than a batch takes from hold to row and from row to release

class Auditor {
 public:
  Auditor(Parts parts, Deadline deadline) : parts_(parts), deadline_(deadline) {}
  Result<AuditReport> run();

 private:
  Status openCases();
  Status firstLook();
  Status secondLook();
  Status closeLook(bool second);
  AuditReport report() const;

  Status lookAt(VoucherCase& of);
  Status lookAgainAt(VoucherCase& of);
  Result<HoldTable> holdsOf(VoucherCase& of);
  Status settleNoRow(VoucherCase& of);
  Status settleNoHold(VoucherCase& of);
  Status readTotals();

  Parts parts_;
  Deadline deadline_;
  std::vector<VoucherCase> cases_;
  Waiting waiting_;
};

bool inDoubt(const VoucherCase& of) {
  return !of.seen.noRow.empty() || !of.seen.noHold.empty() || !of.seen.notGone.empty() || of.sumDiffers ||
         of.stockDiffers || of.unaccounted > 0;
}

HoldSums sumsOf(const HoldTable& table) {
  return {table.before, table.after, table.pieces, table.fingerprint};
}

bool sameCounters(const VoucherSnapshot& a, const VoucherSnapshot& b) {
  return a.version == b.version && a.allocated == b.allocated && a.stock == b.stock && a.held == b.held;
}

// A sum is wrong for certain where it was wrong twice and nothing moved from before the first reading to
// after the second.
bool wrongTwice(const HoldSums& first, const HoldSums& second) {
  return first.suspicious() && second.suspicious() && first.fingerprint == second.fingerprint &&
         sameCounters(first.before, first.after) && sameCounters(first.after, second.before) &&
         sameCounters(second.before, second.after);
}

// Keys that cannot be read are a finding, not a failure: the table is empty then, and not loaded.
Result<HoldTable> Auditor::holdsOf(VoucherCase& of) {
  auto table = lifecycle::readHolds(parts_, of.counted.voucher.id, deadline_);
  of.damage.clear();
  if (!table && table.error().code == ErrorCode::Corrupt) {
    of.damage = table.error().text;
    table = HoldTable();
  }
  if (!table) return table;
  of.loaded = table.value().loaded();
  of.redis = of.loaded ? table.value().after : VoucherSnapshot();
  return table;
}

Status Auditor::lookAt(VoucherCase& of) {
  const auto table = holdsOf(of);
  if (!table) return table.error();
  if (!of.loaded) return {};
  of.sums = sumsOf(table.value());
  of.sumDiffers = of.sums.suspicious();
  auto seen = lifecycle::compareWithRows(parts_, of.counted.voucher.id, table.value(), deadline_);
  if (!seen) return seen.error();
  of.seen = std::move(seen).take();
  return {};
}

// Keeps of each suspicion what the holds of now still support. A voucher that left Redis meanwhile has no
// holds to compare with.
Status Auditor::lookAgainAt(VoucherCase& of) {
  const auto table = holdsOf(of);
  if (!table) return table.error();
  const HoldSums sums = sumsOf(table.value());
  of.sumDiffers = of.loaded && wrongTwice(of.sums, sums);
  of.sums = sums;
  const auto isHeld = [&table](const Hold& hold) { return table.value().has(hold.order); };
  std::erase_if(of.seen.noRow, std::not_fn(isHeld));
  std::erase_if(of.seen.notGone, std::not_fn(isHeld));
  std::erase_if(of.seen.noHold, [&](const Hold& hold) { return !of.loaded || isHeld(hold); });
  return {};
}

Status Auditor::settleNoRow(VoucherCase& of) {
  std::erase_if(of.seen.noRow, [this](const Hold& hold) { return waiting_.orders.contains(hold.order); });
  const auto stored = lifecycle::withRow(parts_, of.seen.noRow, false, deadline_);
  if (!stored) return stored.error();
  std::erase_if(of.seen.noRow, [&stored](const Hold& hold) { return stored.value().contains(hold.order); });
  of.elsewhere += static_cast<std::int64_t>(
      std::erase_if(of.seen.noRow, [this](const Hold& hold) { return waiting_.mayBeOnItsWay(hold.order); }));
  return {};
}

Status Auditor::settleNoHold(VoucherCase& of) {
  const auto live = lifecycle::withRow(parts_, of.seen.noHold, true, deadline_);
  if (!live) return live.error();
  std::erase_if(of.seen.noHold, [&live](const Hold& hold) { return !live.value().contains(hold.order); });
  return {};
}

Status Auditor::openCases() {
  VoucherId after;
  while (true) {
    if (deadline_.passed()) return lifecycle::outOfTime("audit");
    const auto page = parts_.store.totals(after, limits::kPageMax, deadline_);
    if (!page) return page.error();
    if (page.value().empty()) return {};
    for (const VoucherTotals& totals : page.value()) {
      cases_.emplace_back().counted = totals;
    }
    after = page.value().back().voucher.id;
  }
}

Status Auditor::readTotals() {
  VoucherId after;
  auto of = cases_.begin();
  while (of != cases_.end()) {
    if (deadline_.passed()) return lifecycle::outOfTime("audit");
    const auto page = parts_.store.totals(after, limits::kPageMax, deadline_);
    if (!page) return page.error();
    if (page.value().empty()) return {};
    for (const VoucherTotals& totals : page.value()) {
      // Vouchers are never deleted; one created meanwhile is left to the next audit.
      if (of != cases_.end() && totals.voucher.id == of->counted.voucher.id) (of++)->now = totals;
    }
    after = page.value().back().voucher.id;
  }
  return {};
}

// The common end of both looks: who waits, whose row came, and the totals. The second only confirms.
Status Auditor::closeLook(bool second) {
  auto waiting = lifecycle::readWaiting(parts_, deadline_);
  if (!waiting) return waiting.error();
  waiting_ = std::move(waiting).take();
  for (VoucherCase& of : cases_) {
    Status settled = settleNoRow(of);
    if (!settled) return settled;
  }
  Status read = readTotals();
  if (!read) return read;
  for (VoucherCase& of : cases_) {
    const std::int64_t missing = lifecycle::unaccounted(of, waiting_);
    of.stockDiffers = lifecycle::stockDiffers(of) && (!second || of.stockDiffers);
    of.unaccounted = second ? std::min(of.unaccounted, missing) : missing;
  }
  return {};
}

Status Auditor::firstLook() {
  for (VoucherCase& of : cases_) {
    Status seen = lookAt(of);
    if (!seen) return seen;
  }
  return closeLook(false);
}

Status Auditor::secondLook() {
  if (std::none_of(cases_.begin(), cases_.end(), inDoubt)) return {};
  std::this_thread::sleep_for(std::min(kBetweenLooks, deadline_.remaining()));
  for (VoucherCase& of : cases_) {
    if (!inDoubt(of)) continue;
    Status seen = lookAgainAt(of);
    if (!seen) return seen;
    Status settled = settleNoHold(of);
    if (!settled) return settled;
  }
  return closeLook(true);
}

AuditReport Auditor::report() const {
  AuditReport report;
  report.atRest = waiting_.journalEmpty && waiting_.queueDepth == 0;
  for (const VoucherCase& of : cases_) {
    lifecycle::judge(of, report.violations);
    report.vouchers.push_back(lifecycle::summaryOf(of, waiting_));
    const VoucherAudit& summary = report.vouchers.back();
    report.atRest =
        report.atRest && summary.waiting == 0 && summary.deadLettered == 0 && summary.unreleased == 0;
    for (const Hold& hold : of.seen.noRow) {
      if (report.lost.size() == limits::kPageMax) break;
      report.lost.push_back({hold.order, hold.user, summary.voucher, hold.quantity});
    }
  }
  return report;
}

Result<AuditReport> Auditor::run() {
  for (const auto step : {&Auditor::openCases, &Auditor::firstLook, &Auditor::secondLook}) {
    const Status done = (this->*step)();
    if (!done) return done.error().during("audit");
  }
  return report();
}

}  // namespace

Result<AuditReport> audit(Parts parts, Deadline deadline) { return Auditor(parts, deadline).run(); }

}  // namespace sluice
