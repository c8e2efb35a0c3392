// What an EngineWorld checks: the laws after each step, the honesty of each answer, and the state at rest.
#include <algorithm>

#include "sluice/audit.h"

#include "unit/engine_world.h"

namespace sluice::test {

void EngineWorld::problem(const std::string& what) {
  problems_.push_back(what + " (after event " + std::to_string(history_.size()) + ")");
}

void EngineWorld::checkAlways() {
  const std::string broken = laws_.broken();
  if (!broken.empty() && problems_.size() < 20) problem(broken);
}

// An error has the code of the failure that was scripted, or one that says something about the request.
void EngineWorld::checkCode(const std::string& doing, ErrorCode code) {
  const bool own =
      code == ErrorCode::NotFound || code == ErrorCode::Conflict || code == ErrorCode::Unavailable;
  if (!own && !scripted_.contains(code))
    problem(doing + " answers " + std::string(errorName(code)) + ", which nobody scripted");
}

void EngineWorld::checkHonest(const OrderRequest& request, const OrderAnswer& answer,
                              const VoucherSnapshot& before, const std::vector<Hold>& holdsBefore) {
  const auto holds = fakes.qualifier.holds(request.voucher);
  const auto has = [&](const std::vector<Hold>& in, OrderId order) {
    return std::any_of(in.begin(), in.end(),
                       [&](const Hold& hold) { return hold.order == order && hold.user == request.user; });
  };
  const auto dishonest = [&](const std::string& why) {
    problem("HONEST_REFUSAL: " + std::string(verdictName(answer.verdict)) + ", but " + why);
  };
  switch (answer.verdict) {
    case Verdict::Admitted:
      if (!has(holds, answer.order) && !told_.contains(answer.order)) dishonest("there is no hold");
      return;
    case Verdict::AlreadyOrdered:
      if (!has(holdsBefore, answer.order)) dishonest("the user does not have that order");
      return;
    case Verdict::OutcomeUnknown:
      if (!answer.order.valid()) dishonest("it names no order");
      return;
    case Verdict::SoldOut:
      if (before.stock != 0) dishonest("there was stock");
      break;
    case Verdict::Insufficient:
      if (before.stock == 0 || before.stock >= request.quantity) dishonest("there was stock");
      break;
    case Verdict::NotFound:
      if (engine_->knownVoucher(request.voucher)) dishonest("the voucher is known");
      break;
    case Verdict::Frozen:
    case Verdict::NotStarted:
    case Verdict::NotEligible:
      dishonest("nothing of the kind is so");
      break;
    case Verdict::Ended:
      if (fakes.store.knows(request.voucher) && before.state != VoucherState::Closed) dishonest("it has not");
      break;
    default:
      break;
  }
  // Without a journal a hold may be owed for a while, see Asking::takeBack.
  if (hasJournal(carrying_) && holds.size() != holdsBefore.size()) dishonest("a hold was taken");
}

bool EngineWorld::isPerhaps(OrderId order) const {
  const auto told = told_.find(order);
  return told != told_.end() && told->second.perhaps;
}

// --- at rest ---

void EngineWorld::comeToRest() {
  heal();
  if (!running()) startEngine();
  if (!running()) return problem("the engine cannot be started any more");
  constexpr int kRoundsMax = 60;
  for (int round = 0; round < kRoundsMax; ++round) {
    run(milliseconds(5000), milliseconds(500));
    for (const VoucherId voucher : vouchers_) {
      if (!fakes.qualifier.peek(voucher).loaded && fakes.store.knows(voucher)) load(voucher);
      if (fakes.store.knows(voucher)) sync(voucher);
    }
    if (atRest()) break;
    fakes.queue.abandon();  // leases of what nobody settled have run out
    replayLetters();
  }
  checkAtRest();
}

bool EngineWorld::atRest() {
  const auto stats = fakes.queue.stats(soon());
  const auto journal = fakes.qualifier.readJournal({}, 1, soon());
  const auto owed = fakes.store.unreleased(1, soon());
  const Readiness readiness = engine_->readiness();
  // That there is no journal; that somebody wrote into it.
  const std::size_t warnings =
      (hasJournal(carrying_) ? 0U : 1U) + (fakes.qualifier.aside().empty() ? 0U : 1U);
  return stats && journal && owed && journal.value().empty() && owed.value().empty() &&
         stats.value().ready + stats.value().inFlight + stats.value().deadLetters == 0 && readiness.ready &&
         readiness.warnings.size() == warnings;
}

void EngineWorld::checkAtRest() {
  if (!atRest()) {
    std::string why;
    for (const std::string& reason : engine_->readiness().reasons) {
      why += "; " + reason;
    }
    problem("DRAINS: it does not come to rest" + why);
  }
  if (fakes.queue.reserved() != 0) problem("DRAINS: places of the queue stay reserved");
  checkRowsAtRest();
  checkAnswersAtRest();
  checkAuditAtRest();
}

void EngineWorld::checkRowsAtRest() {
  const auto rows = fakes.store.rows();
  const auto admitted = fakes.qualifier.admittedEver();
  std::map<OrderId, Hold> holds;
  for (const VoucherId voucher : vouchers_) {
    for (const Hold& hold : fakes.qualifier.holds(voucher)) {
      holds[hold.order] = hold;
    }
  }
  for (const auto& [id, row] : rows) {
    const auto hold = holds.find(id);
    const bool held =
        hold != holds.end() && hold->second.user == row.user && hold->second.quantity == row.quantity;
    if (!admitted.contains(id)) problem("NO_PHANTOM: row " + id.text() + " was never admitted");
    if (isLive(row.status) && !held) problem("NO_PHANTOM: live row " + id.text() + " has no hold");
    if (!isLive(row.status) && hold != holds.end())
      problem("RELEASE_ONCE: dead row " + id.text() + " has a hold");
    if (!isLive(row.status) && !row.releasedAt)
      problem("RELEASE_ONCE: dead row " + id.text() + " has no mark");
  }
  for (const auto& [id, hold] : holds) {
    const bool mayBeLost = !hasJournal(carrying_) && (holdsMayBeLost_ || isPerhaps(id));
    if (!rows.contains(id) && !mayBeLost) problem("NO_LOST_ADMISSION: hold " + id.text() + " has no row");
  }
}

void EngineWorld::checkAnswersAtRest() {
  const auto rows = fakes.store.rows();
  for (const auto& [id, told] : told_) {
    const auto row = rows.find(id);
    if (row == rows.end()) {
      if (!told.perhaps) problem("NO_LOST_ADMISSION: order " + id.text() + " has no row");
      continue;
    }
    if (row->second.user != told.user || row->second.voucher != told.voucher)
      problem("NO_LOST_ADMISSION: row " + id.text() + " has other facts");
  }
  const auto expect = [&](const std::set<OrderId>& orders, OrderStatus status, OrderStatus or_) {
    for (const OrderId order : orders) {
      const auto row = rows.find(order);
      if (row == rows.end() || (row->second.status != status && row->second.status != or_))
        problem("ONE_WINNER: order " + order.text() + " is not what its user was told");
    }
  };
  expect(paid_, OrderStatus::Paid, OrderStatus::Refunded);
  expect(cancelled_, OrderStatus::Cancelled, OrderStatus::Cancelled);
  expect(refunded_, OrderStatus::Refunded, OrderStatus::Refunded);
}

void EngineWorld::checkAuditAtRest() {
  const auto report = audit(parts(), soon());
  if (!report) return problem("the audit fails at rest: " + report.error().text);
  for (const Violation& violation : report.value().violations) {
    // What may have been published and was not is lost with journal off, and the audit has to list it.
    const auto& lost = report.value().lost;
    const bool mayBe = !hasJournal(carrying_) && violation.invariant == "NO_LOST_ADMISSION";
    const bool known = mayBe && std::all_of(lost.begin(), lost.end(), [this](const LostOrder& order) {
                         return holdsMayBeLost_ || isPerhaps(order.order);
                       });
    if (!known) problem("the audit at rest finds " + violation.invariant + ": " + violation.text);
  }
  for (const VoucherAudit& voucher : report.value().vouchers) {
    if (voucher.syncDue) problem("Redis has other settings than the store");
  }
}

}  // namespace sluice::test
