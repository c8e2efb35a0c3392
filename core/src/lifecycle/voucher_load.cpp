// Load: brings a voucher into Redis with the holds of its live rows; preheat and rebuild alike.
//
// While it runs nobody can be admitted (Redis answers that it has no such voucher) and no admission of it may
// be on its way to the store, so new live rows do not appear. Rows may die, though, and settings and the list
// of eligible users may change; whoever does that finds nothing in Redis yet and believes it done. Therefore
// each of the three is looked at once more after the load.
#include "lifecycle/release.h"
#include "lifecycle/vouchers.h"

namespace sluice {
namespace {

using lifecycle::findVoucher;

// All rows in one pass by id, live or not: in two passes by status an order that is paid meanwhile would come
// twice or never.
class LiveRows {
 public:
  LiveRows(Parts parts, VoucherId voucher, Deadline deadline)
      : parts_(parts), voucher_(voucher), deadline_(deadline) {}

  // Empty at the end only, so a page of dead rows leads to the next.
  Result<std::vector<Order>> next() {
    while (true) {
      if (deadline_.passed()) return lifecycle::outOfTime("read live orders");
      auto page =
          parts_.store.listOrders(voucher_, UserId(), std::nullopt, after_, limits::kPageMax, deadline_);
      if (!page || page.value().empty()) return page;
      after_ = page.value().back().id;
      std::erase_if(page.value(), [](const Order& row) { return !isLive(row.status); });
      if (page.value().empty()) continue;
      for (const Order& row : page.value()) {
        handedOut_.push_back(row.id);
      }
      return page;
    }
  }
  // Eight bytes for each hold that was loaded.
  [[nodiscard]] const std::vector<OrderId>& handedOut() const noexcept { return handedOut_; }

 private:
  Parts parts_;
  VoucherId voucher_;
  Deadline deadline_;
  OrderId after_;
  std::vector<OrderId> handedOut_;
};

class EligibleUsers {
 public:
  EligibleUsers(Parts parts, VoucherId voucher, Deadline deadline)
      : parts_(parts), voucher_(voucher), deadline_(deadline) {}

  Result<std::vector<UserId>> next() {
    if (deadline_.passed()) return lifecycle::outOfTime("read eligible users");
    auto page = parts_.store.listEligible(voucher_, after_, limits::kPageMax, deadline_);
    if (page && !page.value().empty()) after_ = page.value().back();
    return page;
  }

 private:
  Parts parts_;
  VoucherId voucher_;
  Deadline deadline_;
  UserId after_;
};

// The journal is checked by the qualifier. A queue may carry what the journal does not have: without a journal all of
// it, and beside one the replayed letters of a queue that outlives its processes. Which voucher's, it cannot say.
Status requireEmptyQueue(Parts parts, Deadline deadline) {
  const QueueTraits& traits = parts.queue.traits();
  if (traits.readsJournal || (parts.qualifier.keepsJournal() && !traits.durable)) return {};
  const auto stats = parts.queue.stats(deadline);
  if (!stats) return stats.error();
  const std::int64_t waiting = stats.value().ready + stats.value().inFlight;
  if (waiting == 0) return {};
  return {ErrorCode::Conflict,
          "the queue is not drained, " + std::to_string(waiting) +
              " orders are on their way to the store: let a worker finish them, then load"};
}

// The hold of a dead letter stands for a row that may still come: without it, a replay would store an order
// that Redis does not know.
Status requireNoLetters(Parts parts, VoucherId voucher, Deadline deadline) {
  std::string after;
  while (true) {
    if (deadline.passed()) return lifecycle::outOfTime("read dead letters");
    const auto page = parts.queue.deadLetters(after, limits::kPageMax, deadline);
    if (!page && page.error().code == ErrorCode::Unsupported) return {};
    if (!page) return page.error();
    if (page.value().empty()) return {};
    for (const DeadLetter& letter : page.value()) {
      if (!letter.admission || letter.admission->voucher != voucher) continue;
      return {ErrorCode::Conflict, "dead letter " + letter.id + " is an order of voucher " + voucher.text() +
                                       ": replay or drop it and its like, then load"};
    }
    after = page.value().back().id;
  }
}

Status accepted(LoadOutcome outcome, VoucherId voucher) {
  switch (outcome) {
    case LoadOutcome::Loaded:
      break;
    case LoadOutcome::KeysExist:
      return {
          ErrorCode::Conflict,
          "voucher " + voucher.text() +
              " is in Redis already, and loading it would forget orders on their way: for new settings use "
              "sync; to rebuild it, remove its keys first, with nobody admitting"};
    case LoadOutcome::NotDrained:
      return {ErrorCode::Conflict, "the journal still has orders of voucher " + voucher.text() +
                                       ": let a worker bring them to the store, then load"};
  }
  return {};
}

// Users who were added after the load had read their place in the list.
Status repeatEligible(Parts parts, VoucherId voucher, Deadline deadline) {
  EligibleUsers users(parts, voucher, deadline);
  while (true) {
    const auto page = users.next();
    if (!page) return page.error();
    if (page.value().empty()) return {};
    Status added = parts.qualifier.addEligible(voucher, page.value(), deadline);
    if (!added) return added;
  }
}

// `holds` were loaded; rows of them may have died since they were read.
Status catchUp(Parts parts, VoucherId voucher, std::span<const OrderId> holds, Deadline deadline) {
  const auto released = lifecycle::releaseDead(parts, holds, deadline);
  if (!released) return released.error();
  const auto newest = findVoucher(parts, voucher, deadline);
  if (!newest) return newest.error();
  const auto synced = lifecycle::bringToRedis(parts, newest.value(), false, deadline);
  if (!synced) return synced.error();
  return repeatEligible(parts, voucher, deadline);
}

// The commit is the load's last step; where its answer was lost, the voucher being there tells that it was
// made.
Result<LoadOutcome> madeAfterAll(Parts parts, VoucherId voucher, const Error& error, Deadline deadline) {
  if (!errorTraits(error.code).mayHaveHappened) return error;
  const auto snapshot = parts.qualifier.snapshot(voucher, deadline);
  return snapshot && snapshot.value().loaded ? Result(LoadOutcome::Loaded) : error;
}

Status loadInto(Parts parts, const Voucher& voucher, Deadline deadline) {
  LiveRows rows(parts, voucher.id, deadline);
  EligibleUsers users(parts, voucher.id, deadline);
  auto outcome =
      parts.qualifier.load({voucher, [&] { return rows.next(); }, [&] { return users.next(); }}, deadline);
  if (!outcome) outcome = madeAfterAll(parts, voucher.id, outcome.error(), deadline);
  if (!outcome) return outcome.error();
  Status done = accepted(outcome.value(), voucher.id);
  if (!done) return done;
  done = catchUp(parts, voucher.id, rows.handedOut(), deadline);
  if (done) return done;
  return done.error().during("loaded, but changes made meanwhile are not in Redis yet; run repair, and sync");
}

}  // namespace

Result<VoucherView> Vouchers::load(VoucherId id, Deadline deadline) {
  const auto voucher = findVoucher(parts_, id, deadline);
  if (!voucher) return voucher.error();
  const Status drained = requireEmptyQueue(parts_, deadline);
  if (!drained) return drained.error();
  const Status decided = requireNoLetters(parts_, id, deadline);
  if (!decided) return decided.error();
  const Status loaded = loadInto(parts_, voucher.value(), deadline);
  if (!loaded) return loaded.error();
  return show(id, deadline);
}

}  // namespace sluice
