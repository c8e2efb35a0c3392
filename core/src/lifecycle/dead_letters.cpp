// What operators do with dead letters: list, show, replay, drop.
#include "lifecycle/release.h"

namespace sluice {
namespace {

Error noLetter(const std::string& id) {
  return {ErrorCode::NotFound, "there is no dead letter " + id + "; it may have been replayed or dropped"};
}

bool sameOrder(const Order& row, const Admission& admission) {
  return row.user == admission.user && row.voucher == admission.voucher && row.quantity == admission.quantity;
}

// Rule R3: the dead row first. Then the stock, as far as Redis answers; the outbox does the rest.
Status bury(Parts parts, const Admission& admission, Deadline deadline) {
  const auto change = parts.store.cancel({admission, DeadReason::DeadLetter}, parts.clock.now(), deadline);
  if (!change && change.error().code == ErrorCode::NotFound) {
    return {ErrorCode::Conflict,
            "the store does not know voucher " + admission.voucher.text() +
                ", so it cannot write the row that gives the stock back: create the voucher, then drop"};
  }
  if (!change) return change.error().during("write the dead row of order " + admission.order.text());
  if (!isLive(change.value().order.status)) lifecycle::releaseNow(parts, change.value().order, deadline);
  return {};
}

// A letter whose order has a row was decided already: a live order stays (cancel it where that is wanted), a
// dead one is released. A row of other facts belongs to another order; the letter's own can never be stored,
// and nothing but the letter names it.
Status settleStored(Parts parts, const Order& row, const Admission& admission, Deadline deadline) {
  if (!sameOrder(row, admission)) {
    parts.log.warning("dead_letters",
                      "order " + row.id.text() + " has a row of other facts than the dropped letter");
  } else if (!isLive(row.status)) {
    lifecycle::releaseNow(parts, row, deadline);
  }
  return {};
}

Status settle(Parts parts, const Admission& admission, Deadline deadline) {
  const auto row = parts.store.findOrder(admission.order, deadline);
  if (!row) return row.error();
  return row.value() ? settleStored(parts, *row.value(), admission, deadline)
                     : bury(parts, admission, deadline);
}

}  // namespace

Result<std::vector<DeadLetter>> DeadLetters::list(const std::string& afterId, std::size_t max,
                                                  Deadline deadline) {
  return parts_.queue.deadLetters(afterId, std::clamp<std::size_t>(max, 1, limits::kPageMax), deadline);
}

Result<DeadLetter> DeadLetters::show(const std::string& id, Deadline deadline) {
  auto letter = parts_.queue.findDeadLetter(id, deadline);
  if (!letter) return letter.error();
  if (!letter.value()) return noLetter(id);
  return *std::move(letter).take();
}

Status DeadLetters::replay(const std::string& id, Deadline deadline) {
  Status replayed = parts_.queue.replayDeadLetter(id, deadline);
  if (replayed) return {};
  switch (replayed.error().code) {
    case ErrorCode::NotFound:
      return noLetter(id);
    case ErrorCode::Corrupt:
      return replayed.error().during("dead letter " + id + " cannot be replayed, only dropped");
    default:
      return replayed;
  }
}

Status DeadLetters::drop(const std::string& id, Deadline deadline) {
  const auto letter = show(id, deadline);
  if (!letter) return letter.error();
  if (letter.value().admission) {
    Status settled = settle(parts_, *letter.value().admission, deadline);
    if (!settled) return settled;
  }
  // Before the letter goes, which alone names the entry: should it stay, the order is forwarded again and found to
  // have a row.
  if (const JournalId entry = letter.value().journal; entry.valid()) {
    const auto erased = parts_.qualifier.settleJournal({&entry, 1}, deadline);
    if (!erased) return erased.error();
  }
  Status removed = parts_.queue.removeDeadLetter(id, deadline);
  // Somebody dropped it at the same time, to the same end.
  if (!removed && removed.error().code == ErrorCode::NotFound) return {};
  return removed;
}

}  // namespace sluice
