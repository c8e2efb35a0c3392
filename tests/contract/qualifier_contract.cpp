// See qualifier_contract.h.
#include "contract/qualifier_contract.h"

#include <algorithm>
#include <thread>

namespace sluice::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QualifierContract);

QualifierAsking::~QualifierAsking() = default;
QualifierWorld::~QualifierWorld() = default;

Voucher QualifierAsking::voucherOf(std::int64_t stock, std::int32_t limit) const {
  Voucher voucher;
  voucher.id = kVoucher;
  voucher.settings = {"Coffee for two",
                      now() - std::chrono::hours(1),
                      now() + std::chrono::hours(1),
                      limit,
                      stock,
                      VoucherState::OnSale,
                      false};
  voucher.version = 1;
  voucher.remaining = stock;
  return voucher;
}

Order QualifierAsking::liveOrder(std::int64_t order, std::int64_t user, std::int32_t quantity) {
  Order row;
  row.id = OrderId(order);
  row.user = UserId(user);
  row.voucher = kVoucher;
  row.quantity = quantity;
  return row;
}

Admission QualifierAsking::admission(std::int64_t order, std::int64_t user, std::int32_t quantity) {
  return {OrderId(order), UserId(user), kVoucher, quantity, fromMillis(1)};
}

Result<LoadOutcome> QualifierAsking::tryLoad(const Voucher& voucher, std::vector<Order> liveOrders,
                                             std::vector<UserId> eligible) {
  VoucherLoad load;
  load.voucher = voucher;
  load.nextLiveOrders = [&]() -> Result<std::vector<Order>> { return std::exchange(liveOrders, {}); };
  load.nextEligible = [&]() -> Result<std::vector<UserId>> { return std::exchange(eligible, {}); };
  return asked().load(load, soon());
}

void QualifierAsking::load(const Voucher& voucher, std::vector<Order> liveOrders,
                           std::vector<UserId> eligible) {
  const auto loaded = tryLoad(voucher, std::move(liveOrders), std::move(eligible));
  ASSERT_TRUE(loaded) << loaded.error().text;
  ASSERT_EQ(loaded.value(), LoadOutcome::Loaded);
}

std::vector<Decision> QualifierAsking::decide(const std::vector<QualifyRequest>& requests,
                                              VoucherId voucher) {
  std::vector<Decision> decisions(requests.size());
  const Status decided = asked().decide(voucher, requests, now(), decisions, soon());
  EXPECT_TRUE(decided) << decided.error().text;
  return decisions;
}

std::vector<Decision> QualifierAsking::decideAt(UtcTime now, const std::vector<QualifyRequest>& requests) {
  std::vector<Decision> decisions(requests.size());
  const Status decided = asked().decide(kVoucher, requests, now, decisions, soon());
  EXPECT_TRUE(decided) << decided.error().text;
  return decisions;
}

Status QualifierAsking::tryDecide(const QualifyRequest& request, Deadline deadline) {
  Decision decision;
  return asked().decide(kVoucher, {&request, 1}, now(), {&decision, 1}, deadline);
}

std::vector<ReleaseOutcome> QualifierAsking::release(const std::vector<Admission>& orders) {
  const auto outcomes = asked().release(orders, soon());
  EXPECT_TRUE(outcomes) << outcomes.error().text;
  return outcomes ? outcomes.value() : std::vector<ReleaseOutcome>();
}

std::size_t QualifierAsking::restore(const std::vector<Order>& rows) {
  const auto restored = asked().restore(rows, soon());
  EXPECT_TRUE(restored) << restored.error().text;
  return restored ? restored.value() : 0;
}

SyncOutcome QualifierAsking::sync(const Voucher& voucher) {
  const auto synced = asked().sync(voucher, soon());
  EXPECT_TRUE(synced) << synced.error().text;
  return synced ? synced.value() : SyncOutcome::NotLoaded;
}

QualifierHealth QualifierAsking::probe() {
  const auto health = asked().probe(soon());
  EXPECT_TRUE(health) << health.error().text;
  return health ? health.value() : QualifierHealth();
}

VoucherSnapshot QualifierAsking::snapshot() {
  const auto seen = asked().snapshot(kVoucher, soon());
  EXPECT_TRUE(seen) << seen.error().text;
  return seen ? seen.value() : VoucherSnapshot();
}

std::vector<Hold> QualifierAsking::holdsOf(std::int64_t user) {
  const auto holds = asked().holdsOf(kVoucher, UserId(user), soon());
  EXPECT_TRUE(holds) << holds.error().text;
  return holds ? holds.value() : std::vector<Hold>();
}

std::vector<Admission> QualifierAsking::journal() {
  std::vector<Admission> admissions;
  JournalId after;
  while (true) {
    const auto page = asked().readJournal(after, 1000, soon());
    EXPECT_TRUE(page) << page.error().text;
    if (!page || page.value().empty()) return admissions;
    for (const JournalEntry& entry : page.value()) {
      EXPECT_TRUE(entry.admission) << entry.admission.error().text;
      if (entry.admission) admissions.push_back(entry.admission.value());
    }
    after = page.value().back().id;
  }
}

Lead QualifierAsking::lead(const std::string& owner, milliseconds lease) {
  const auto answer = asked().lead(owner, lease, soon());
  EXPECT_TRUE(answer) << answer.error().text;
  return answer ? answer.value() : Lead();
}

void QualifierAsking::resign(const std::string& owner) {
  const Status done = asked().resign(owner, soon());
  EXPECT_TRUE(done) << done.error().text;
}

void QualifierAsking::expectConserved() {
  const VoucherSnapshot seen = snapshot();
  EXPECT_TRUE(seen.conserved()) << seen.stock << " + " << seen.held << " of " << seen.allocated;
  std::int64_t held = 0;
  std::string cursor = "0";
  do {
    const auto page = asked().scanHolds(kVoucher, cursor, soon());
    ASSERT_TRUE(page) << page.error().text;
    for (const Hold& hold : page.value()) {
      held += hold.quantity;
    }
  } while (cursor != "0");
  EXPECT_EQ(held, seen.held);
}

void QualifierContract::SetUp() {
  world_ = GetParam().makeWorld();
  open({});
}

void QualifierContract::open(JournalSetting journal) {
  world_->reopen(journal);
  startAndTrust();
}

void QualifierContract::startAndTrust() {
  const Status started = asked().start(soon());
  ASSERT_TRUE(started) << started.error().text;
  asked().trust(probe().identity);
}

QualifierHealth QualifierContract::probeUntilAnswered() {
  auto health = asked().probe(soon());
  for (const Deadline end = soon(); !health && !end.passed(); health = asked().probe(soon())) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(health) << health.error().text;
  return health ? health.value() : QualifierHealth();
}

std::vector<std::pair<std::string, ErrorCode>> refusalsOfEveryCall(Qualifier& qualifier,
                                                                   const Voucher& voucher, UtcTime now,
                                                                   const std::function<Deadline()>& by) {
  std::vector<std::pair<std::string, ErrorCode>> codes;
  const auto note = [&codes](const char* call, const auto& result) {
    EXPECT_FALSE(result) << call;
    codes.emplace_back(call, result ? ErrorCode::Internal : result.error().code);
  };
  const QualifyRequest request{OrderId(1), UserId(1), 1, {}};
  Decision decision;
  const std::vector<Admission> dead = {{OrderId(2), UserId(2), voucher.id, 1, fromMillis(1)}};
  Order live;
  live.id = OrderId(3);
  live.user = UserId(3);
  live.voucher = voucher.id;
  VoucherLoad load;
  load.voucher = voucher;
  load.nextLiveOrders = [] { return Result(std::vector<Order>()); };
  load.nextEligible = [] { return Result(std::vector<UserId>()); };
  std::string cursor = "0";
  const std::vector<UserId> users = {UserId(1)};
  const std::vector<JournalId> entries = {{1, 0}};
  note("probe", qualifier.probe(by()));
  note("decide", qualifier.decide(voucher.id, {&request, 1}, now, {&decision, 1}, by()));
  note("release", qualifier.release(dead, by()));
  note("takeBack", qualifier.takeBack(voucher.id, {&request, 1}, by()));
  note("restore", qualifier.restore({&live, 1}, by()));
  note("load", qualifier.load(load, by()));
  note("sync", qualifier.sync(voucher, by()));
  note("snapshot", qualifier.snapshot(voucher.id, by()));
  note("holdsOf", qualifier.holdsOf(voucher.id, UserId(1), by()));
  note("scanHolds", qualifier.scanHolds(voucher.id, cursor, by()));
  note("addEligible", qualifier.addEligible(voucher.id, users, by()));
  note("readJournal", qualifier.readJournal({}, 10, by()));
  const std::vector<JournalEntry> corrupt = {{{1, 0}, Error{ErrorCode::Corrupt, "not ours"}}};
  note("awaitJournal", qualifier.awaitJournal({}, 10, by()));
  note("setAside", qualifier.setAside(corrupt, by()));
  note("settleJournal", qualifier.settleJournal(entries, by()));
  note("lead", qualifier.lead("somebody", milliseconds(1000), by()));
  note("resign", qualifier.resign("somebody", by()));
  note("start", qualifier.start(by()));
  return codes;
}

std::string text(const Decision& decision) {
  return std::string(verdictName(decision.verdict)) +
         (decision.order.valid() ? " " + decision.order.text() : "") + (decision.fresh ? " fresh" : "");
}

std::vector<std::string> texts(const std::vector<Decision>& decisions) {
  std::vector<std::string> words;
  std::transform(decisions.begin(), decisions.end(), std::back_inserter(words), text);
  return words;
}

void inThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int k = 0; k < count; ++k) {
    threads.emplace_back([&work, k] { work(k); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace sluice::test
