// The invariants of a voucher, by name, each with a text that says what is wrong and what it means.
#include "lifecycle/audit_judge.h"

#include <algorithm>

namespace sluice::lifecycle {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

class Verdicts {
 public:
  Verdicts(VoucherId voucher, std::vector<Violation>& violations)
      : voucher_(voucher), violations_(violations) {}

  void check(bool holds, const char* invariant, const std::string& text) {
    if (!holds) violations_.push_back({invariant, voucher_, "voucher " + voucher_.text() + ": " + text});
  }
  void none(const Found& found, const char* invariant, const std::string& text) {
    check(found.count == 0, invariant,
          number(found.count) + " " + text + " (one is order " + found.first.text() + ")");
  }
  void none(const std::vector<Hold>& orders, const char* invariant, const std::string& text) {
    Found found;
    std::for_each(orders.begin(), orders.end(), [&found](const Hold& hold) { found.add(hold.order); });
    none(found, invariant, text);
  }

 private:
  VoucherId voucher_;
  std::vector<Violation>& violations_;
};

void judgeStore(const VoucherTotals& totals, Verdicts& verdicts) {
  const std::int64_t allocated = totals.voucher.settings.allocated;
  const std::int64_t remaining = totals.voucher.remaining;
  verdicts.check(totals.livePieces <= allocated, "NO_OVERSELL",
                 number(totals.livePieces) + " pieces are sold of a stock of " + number(allocated));
  verdicts.check(remaining + totals.livePieces == allocated, "CONSERVE_STORE",
                 "remaining " + number(remaining) + " + sold " + number(totals.livePieces) +
                     " is not the stock of " + number(allocated));
  verdicts.check(remaining >= 0, "NEVER_NEGATIVE", "remaining is " + number(remaining));
  verdicts.check(totals.usersOverLimit <= 0, "ONE_PER_USER",
                 number(totals.usersOverLimit) + " users have more than " +
                     number(totals.voucher.settings.limitPerUser) +
                     " pieces; that is in order only where the limit was lowered after they ordered");
}

void judgeCounters(const VoucherCase& of, Verdicts& verdicts) {
  const VoucherSnapshot& redis = of.redis;
  verdicts.check(redis.stock >= 0 && redis.held >= 0 && redis.allocated >= 0, "NEVER_NEGATIVE",
                 "Redis counts stock " + number(redis.stock) + ", held " + number(redis.held) +
                     ", allocated " + number(redis.allocated));
  verdicts.check(redis.stock + redis.held == redis.allocated, "CONSERVE_REDIS",
                 "stock " + number(redis.stock) + " + held " + number(redis.held) + " is not allocated " +
                     number(redis.allocated) + ": a counter was overwritten, and the sale is frozen");
  verdicts.check(
      !of.sumDiffers, "CONSERVE_REDIS",
      "held is " + number(redis.held) + ", but the holds have " + number(of.sums.pieces) + " pieces");
  verdicts.check(!of.stockDiffers, "CONSERVE_REDIS",
                 "Redis was given " + number(redis.allocated) + " pieces, the store " +
                     number(of.now.voucher.settings.allocated) + ", in the same version " +
                     number(redis.version));
}

void judgeOrders(const Comparison& seen, Verdicts& verdicts) {
  verdicts.none(seen.heldTwice, "CONSERVE_REDIS", "orders are held by more than one user");
  verdicts.none(seen.noHold, "NO_PHANTOM",
                "live orders have no hold: Redis never admitted them, or lost their holds; repair brings "
                "back lost ones");
  verdicts.none(seen.otherFacts, "NO_PHANTOM",
                "orders have another user or other pieces in the store than in Redis");
  verdicts.none(seen.notGone, "RELEASE_ONCE",
                "dead orders are marked as released, but their holds are there");
  verdicts.none(seen.liveReleased, "RELEASE_ONCE", "live orders are marked as released");
  verdicts.none(
      seen.noRow, "NO_LOST_ADMISSION",
      "admitted orders have a hold, but no row, and neither journal, queue nor dead letters carry them");
}

}  // namespace

// Different versions only mean that a sync is due.
bool stockDiffers(const VoucherCase& of) noexcept {
  return of.loaded && of.redis.version == of.now.voucher.version &&
         of.redis.allocated != of.now.voucher.settings.allocated;
}

// Orders counted twice here (a row by now, and still seen waiting) only hide as many for a moment. While a
// queue hides what it carries, nothing can be said.
std::int64_t unaccounted(const VoucherCase& of, const Waiting& waiting) {
  if (waiting.queueHides) return 0;
  const auto on = waiting.count.find(of.counted.voucher.id);
  const std::int64_t known = of.now.rows + (on == waiting.count.end() ? 0 : on->second) + of.elsewhere +
                             static_cast<std::int64_t>(of.seen.noRow.size());
  return std::max<std::int64_t>(0, of.counted.countedAdmissions - known);
}

void judge(const VoucherCase& of, std::vector<Violation>& violations) {
  Verdicts verdicts(of.now.voucher.id, violations);
  judgeStore(of.now, verdicts);
  verdicts.check(of.damage.empty(), "CONSERVE_REDIS", "its keys in Redis cannot be read: " + of.damage);
  if (of.loaded) judgeCounters(of, verdicts);
  judgeOrders(of.seen, verdicts);
  verdicts.check(of.unaccounted == 0, "NO_LOST_ADMISSION",
                 number(of.unaccounted) +
                     " admissions the servers counted have no row; once Redis alone held them their ids are "
                     "known to nobody");
}

VoucherAudit summaryOf(const VoucherCase& of, const Waiting& waiting) {
  const auto count = [&of](const std::map<VoucherId, std::int64_t>& byVoucher) {
    const auto at = byVoucher.find(of.now.voucher.id);
    return at == byVoucher.end() ? 0 : at->second;
  };
  VoucherAudit summary;
  summary.voucher = of.now.voucher.id;
  summary.title = of.now.voucher.settings.title;
  summary.loaded = of.loaded;
  summary.syncDue = of.loaded && of.redis.version != of.now.voucher.version;
  summary.allocated = of.now.voucher.settings.allocated;
  summary.stock = of.redis.stock;
  summary.held = of.redis.held;
  summary.remaining = of.now.voucher.remaining;
  summary.livePieces = of.now.livePieces;
  summary.rows = of.now.rows;
  summary.waiting = count(waiting.count) + of.elsewhere;
  summary.deadLettered = count(waiting.deadLettered);
  summary.unreleased = of.now.unreleasedRows;
  summary.lost = static_cast<std::int64_t>(of.seen.noRow.size());
  summary.countedAdmissions = of.now.countedAdmissions;
  summary.unaccounted = of.unaccounted;
  return summary;
}

}  // namespace sluice::lifecycle
