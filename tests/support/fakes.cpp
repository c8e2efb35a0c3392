// The three fakes together; see fakes.h.
#include "support/fakes.h"

namespace sluice::test {

FakeQueueOptions journalQueue(FakeQualifier& qualifier) {
  FakeQueueOptions options;
  options.traits.readsJournal = true;
  options.journal = &qualifier;
  return options;
}

namespace {

void startAll(Fakes& fakes) {
  (void)fakes.store.start(soon());
  (void)fakes.qualifier.start(soon());
  (void)fakes.queue.start(soon());
  const auto health = fakes.qualifier.probe(soon());
  if (health) fakes.qualifier.trust(health.value().identity);
}

}  // namespace

Fakes::Fakes(bool start) : Fakes(journalQueue(qualifier), start) {}

Fakes::Fakes(FakeQueueOptions options, bool start) : queue(clock, options) {
  qualifier.useClock(clock);
  if (start) startAll(*this);
}

Voucher Fakes::sell(std::int64_t allocated, std::int32_t limitPerUser) {
  VoucherSettings settings;
  settings.title = "voucher";
  settings.begin = clock.now() - std::chrono::hours(1);
  settings.end = clock.now() + std::chrono::hours(24);
  settings.limitPerUser = limitPerUser;
  settings.allocated = allocated;
  const Voucher voucher = store.createVoucher(VoucherId(), settings, soon()).value();
  VoucherLoad load;
  load.voucher = voucher;
  load.nextLiveOrders = [] { return Result(std::vector<Order>()); };
  load.nextEligible = [] { return Result(std::vector<UserId>()); };
  (void)qualifier.load(load, soon());
  return voucher;
}

Decision Fakes::ask(VoucherId voucher, OrderId order, UserId user, std::int32_t quantity) {
  const QualifyRequest request{order, user, quantity, {}};
  Decision decision;
  const Status asked = qualifier.decide(voucher, {&request, 1}, clock.now(), {&decision, 1}, soon());
  if (!asked) return decision;
  if (decision.fresh && !queue.traits().readsJournal) {
    const QueueMessage message{{order, user, voucher, quantity, clock.now()}, {}};
    if (queue.traits().reserves) (void)queue.reserve(1);
    (void)queue.publish({&message, 1}, soon());
  }
  return decision;
}

std::string Fakes::brokenLaws() const { return store.brokenLaws() + qualifier.brokenLaws(); }

void Fakes::reopen() {
  qualifier.reopen();
  store.reopen();
  queue.reopen();
}

}  // namespace sluice::test
