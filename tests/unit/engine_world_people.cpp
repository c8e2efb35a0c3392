// What users and operators do in an EngineWorld, and how their answers are noted.
#include <algorithm>

#include "sluice/audit.h"

#include "unit/engine_world.h"

namespace sluice::test {

// --- users ---

OrderAnswer EngineWorld::order(VoucherId voucher, UserId user, std::int32_t quantity, std::string_view key) {
  if (!running()) return {};
  const OrderRequest request{voucher, user, quantity, key};
  const VoucherSnapshot before = fakes.qualifier.peek(voucher);
  const std::vector<Hold> holdsBefore = fakes.qualifier.holds(voucher);
  const OrderAnswer answer = engine_->order(request, soon());
  note("user " + user.text() + " orders " + std::to_string(quantity) + " of voucher " + voucher.text() +
       ": " + std::string(verdictName(answer.verdict)) + " " + answer.order.text());
  checkHonest(request, answer, before, holdsBefore);
  // What a process without a journal took with it into death, a repeated answer does not bring back.
  const bool lasts = carrying_ != Carrying::Memory || !told_.contains(answer.order);
  if (answer.verdict == Verdict::Admitted && lasts) told_[answer.order] = {voucher, user, quantity, false};
  if (answer.verdict == Verdict::OutcomeUnknown)
    told_.insert({answer.order, {voucher, user, quantity, true}});
  checkAlways();
  return answer;
}

void EngineWorld::look(OrderId order) {
  if (!running()) return;
  const Told& told = told_.at(order);
  const auto found = Orders(parts()).find(order, told.voucher, told.user, soon());
  note("look at order " + order.text() + ": " +
       (found ? std::string(found.value().status) : found.error().text));
  if (found) return;
  checkCode("find", found.error().code);
  const bool admitted = !told.perhaps && hasJournal(carrying_);
  if (admitted && found.error().code == ErrorCode::NotFound && !scripted_.contains(ErrorCode::NotFound))
    problem("HONEST_REFUSAL: an admitted order is called not found");
}

// A change that answers an error which says that nothing happened must not have happened.
template <typename Act>
void EngineWorld::changeRow(const std::string& doing, OrderId order, std::set<OrderId>& told, Act act) {
  if (!running()) return;
  const auto statusOf = [&]() -> std::optional<OrderStatus> {
    const auto rows = fakes.store.rows();
    const auto row = rows.find(order);
    return row == rows.end() ? std::nullopt : std::optional(row->second.status);
  };
  const auto before = statusOf();
  const Result<OrderView> answer = act(Orders(parts()));
  note(doing + " order " + order.text() + ": " +
       (answer ? std::string(answer.value().status) : answer.error().text));
  if (answer) {
    told.insert(order);
  } else {
    checkCode(doing, answer.error().code);
    if (!errorTraits(answer.error().code).mayHaveHappened && statusOf() != before)
      problem(doing + " answered that nothing happened, but it did");
  }
  checkAlways();
}

void EngineWorld::pay(OrderId order) {
  changeRow("pay", order, paid_,
            [&](Orders orders) { return orders.pay(order, told_.at(order).user, soon()); });
}

void EngineWorld::cancel(OrderId order) {
  const Told& told = told_.at(order);
  changeRow("cancel", order, cancelled_, [&](Orders orders) {
    return orders.cancel(order, told.voucher, told.user, DeadReason::ByUser, soon());
  });
}

void EngineWorld::refund(OrderId order) {
  changeRow("refund", order, refunded_, [&](Orders orders) { return orders.refund(order, soon()); });
}

// --- operators ---

VoucherId EngineWorld::sell(std::int64_t stock, std::int32_t limit) {
  VoucherSettings settings;
  settings.title = "voucher";
  settings.begin = fakes.clock.now() - std::chrono::hours(1);
  settings.end = fakes.clock.now() + std::chrono::hours(24);
  settings.limitPerUser = limit;
  settings.allocated = stock;
  const VoucherId voucher(static_cast<std::int64_t>(vouchers_.size()) + 1);
  // As an operator does: until it is there.
  constexpr int kTries = 5;
  for (int attempt = 0; running() && attempt < kTries; ++attempt) {
    const auto created = Vouchers(parts()).create(voucher, settings, soon());
    note("create voucher " + voucher.text() + ": " + (created ? "ok" : created.error().text));
    if (!created) checkCode("create", created.error().code);
    const bool there = created || fakes.store.knows(voucher);
    if (there) break;
    step();
  }
  vouchers_.push_back(voucher);
  for (int attempt = 0; attempt < kTries && !fakes.qualifier.peek(voucher).loaded; ++attempt) {
    load(voucher);
    step();
  }
  return voucher;
}

void EngineWorld::load(VoucherId voucher) {
  if (!running()) return;
  const auto loaded = Vouchers(parts()).load(voucher, soon());
  note("load voucher " + voucher.text() + ": " + (loaded ? "ok" : loaded.error().text));
  if (!loaded) checkCode("load", loaded.error().code);
  checkAlways();
}

void EngineWorld::changeStock(VoucherId voucher, std::int64_t by) {
  if (!running()) return;
  Vouchers vouchers(parts());
  const auto shown = vouchers.show(voucher, soon());
  if (!shown) return checkCode("show", shown.error().code);
  VoucherSettings settings = shown.value().voucher.settings;
  settings.allocated = std::max<std::int64_t>(0, settings.allocated + by);
  const auto updated = vouchers.update(voucher, shown.value().voucher.version, settings, soon());
  note("stock of voucher " + voucher.text() + " by " + std::to_string(by) + ": " +
       (updated ? "ok" : updated.error().text));
  if (!updated) checkCode("update", updated.error().code);
  checkAlways();
}

void EngineWorld::addEligible(VoucherId voucher, UserId user) {
  if (!running()) return;
  const Status added = Vouchers(parts()).addEligible(voucher, {&user, 1}, soon());
  note("eligible user: " + (added ? "ok" : added.error().text));
  if (!added) checkCode("addEligible", added.error().code);
}

void EngineWorld::sync(VoucherId voucher) {
  if (!running()) return;
  const auto synced = Vouchers(parts()).sync(voucher, soon());
  note("sync voucher " + voucher.text() + ": " + (synced ? "ok" : synced.error().text));
  if (!synced) checkCode("sync", synced.error().code);
  checkAlways();
}

void EngineWorld::close(VoucherId voucher) {
  if (!running()) return;
  const auto closed = Vouchers(parts()).close(voucher, soon());
  note("close voucher " + voucher.text() + ": " + (closed ? "ok" : closed.error().text));
  if (!closed) checkCode("close", closed.error().code);
  checkAlways();
}

void EngineWorld::lookAtVouchers() {
  if (!running()) return;
  const auto listed = Vouchers(parts()).list(VoucherId(), 10, soon());
  if (!listed) checkCode("list", listed.error().code);
  (void)engine_->stats();
  (void)engine_->readiness();
}

void EngineWorld::replayLetters() {
  if (!running()) return;
  DeadLetters letters(parts());
  const auto page = letters.list("", limits::kPageMax, soon());
  if (!page) return checkCode("letters", page.error().code);
  for (const DeadLetter& letter : page.value()) {
    const auto shown = letters.show(letter.id, soon());
    if (!shown) checkCode("show letter", shown.error().code);
    const Status replayed = letters.replay(letter.id, soon());
    note("replay letter " + letter.id + ": " + (replayed ? "ok" : replayed.error().text));
    if (!replayed) checkCode("replay", replayed.error().code);
  }
  checkAlways();
}

void EngineWorld::dropLetters() {
  if (!running()) return;
  DeadLetters letters(parts());
  const auto page = letters.list("", limits::kPageMax, soon());
  if (!page) return checkCode("letters", page.error().code);
  for (const DeadLetter& letter : page.value()) {
    const Status dropped = letters.drop(letter.id, soon());
    note("drop letter " + letter.id + ": " + (dropped ? "ok" : dropped.error().text));
    if (!dropped) checkCode("drop", dropped.error().code);
  }
  checkAlways();
}

void EngineWorld::auditNow() {
  if (!running()) return;
  // Where there are doubts the audit waits for a second look; a simulation has no time for that.
  const auto report = audit(parts(), Deadline::in(milliseconds(20)));
  note(std::string("audit: ") + (report ? "ok" : report.error().text));
  if (!report) return checkCode("audit", report.error().code);
  // Failures that were scripted may be what it finds.
  for (const Violation& violation : report.value().violations) {
    if (scripted_.empty())
      problem("the audit beside the sale finds " + violation.invariant + ": " + violation.text);
  }
}

}  // namespace sluice::test
