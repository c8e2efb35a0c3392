// See qualify_fixture.h.
#include "integration/qualify_fixture.h"

#include <algorithm>
#include <numeric>

namespace sluice::test {

void QualifyFixture::open(LuaQualifierOptions options) {
  qualifier.reset();
  options.target = redis.target();
  qualifier = makeLuaQualifier(std::move(options), clock, systemRandom(), noLog());
  const Status started = qualifier->start(soon());
  ASSERT_TRUE(started) << started.error().text;
  const auto health = qualifier->probe(soon());
  ASSERT_TRUE(health) << health.error().text;
  qualifier->trust(health.value().identity);
}

Voucher QualifyFixture::voucherOf(std::int64_t stock, std::int32_t limit) {
  const UtcTime now = systemClock().now();
  Voucher voucher;
  voucher.id = kVoucher;
  voucher.settings = {"Coffee for two",
                      now - std::chrono::hours(1),
                      now + std::chrono::hours(1),
                      limit,
                      stock,
                      VoucherState::OnSale,
                      false};
  voucher.version = 1;
  voucher.remaining = stock;
  return voucher;
}

Order QualifyFixture::liveOrder(std::int64_t order, std::int64_t user, std::int32_t quantity) {
  Order row;
  row.id = OrderId(order);
  row.user = UserId(user);
  row.voucher = kVoucher;
  row.quantity = quantity;
  return row;
}

Admission QualifyFixture::admission(std::int64_t order, std::int64_t user, std::int32_t quantity) {
  return {OrderId(order), UserId(user), kVoucher, quantity, fromMillis(1)};
}

Result<LoadOutcome> QualifyFixture::tryLoad(const Voucher& voucher, std::vector<Order> liveOrders,
                                            std::vector<UserId> eligible) {
  VoucherLoad load;
  load.voucher = voucher;
  load.nextLiveOrders = [&]() -> Result<std::vector<Order>> { return std::exchange(liveOrders, {}); };
  load.nextEligible = [&]() -> Result<std::vector<UserId>> { return std::exchange(eligible, {}); };
  return qualifier->load(load, soon());
}

void QualifyFixture::load(const Voucher& voucher) { load(voucher, {}); }

void QualifyFixture::load(const Voucher& voucher, std::vector<Order> liveOrders,
                          std::vector<UserId> eligible) {
  const auto loaded = tryLoad(voucher, std::move(liveOrders), std::move(eligible));
  ASSERT_TRUE(loaded) << loaded.error().text;
  ASSERT_EQ(loaded.value(), LoadOutcome::Loaded);
}

std::vector<Decision> QualifyFixture::decide(const std::vector<QualifyRequest>& requests, VoucherId voucher) {
  std::vector<Decision> decisions(requests.size());
  const Status decided = qualifier->decide(voucher, requests, clock.now(), decisions, soon());
  EXPECT_TRUE(decided) << decided.error().text;
  return decisions;
}

std::vector<Decision> QualifyFixture::decideAt(UtcTime now, const std::vector<QualifyRequest>& requests) {
  std::vector<Decision> decisions(requests.size());
  const Status decided = qualifier->decide(kVoucher, requests, now, decisions, soon());
  EXPECT_TRUE(decided) << decided.error().text;
  return decisions;
}

Status QualifyFixture::tryDecide(const QualifyRequest& request, Deadline deadline) {
  Decision decision;
  return qualifier->decide(kVoucher, {&request, 1}, clock.now(), {&decision, 1}, deadline);
}

VoucherSnapshot QualifyFixture::snapshot() {
  const auto seen = qualifier->snapshot(kVoucher, soon());
  EXPECT_TRUE(seen) << seen.error().text;
  return seen ? seen.value() : VoucherSnapshot();
}

std::vector<Hold> QualifyFixture::holdsOf(std::int64_t user) {
  const auto holds = qualifier->holdsOf(kVoucher, UserId(user), soon());
  EXPECT_TRUE(holds) << holds.error().text;
  return holds ? holds.value() : std::vector<Hold>();
}

std::vector<Admission> QualifyFixture::journal() {
  std::vector<Admission> admissions;
  std::string after;
  while (true) {
    const auto page = qualifier->readJournal(after, 1000, soon());
    EXPECT_TRUE(page) << page.error().text;
    if (!page || page.value().empty()) return admissions;
    for (const JournalEntry& entry : page.value()) {
      EXPECT_TRUE(entry.admission) << entry.admission.error().text;
      if (entry.admission) admissions.push_back(entry.admission.value());
    }
    after = page.value().back().id;
  }
}

void QualifyFixture::expectConserved() {
  const VoucherSnapshot seen = snapshot();
  EXPECT_TRUE(seen.conserved()) << seen.stock << " + " << seen.held << " of " << seen.allocated;
  std::int64_t held = 0;
  std::string cursor = "0";
  do {
    const auto page = qualifier->scanHolds(kVoucher, cursor, soon());
    ASSERT_TRUE(page) << page.error().text;
    for (const Hold& hold : page.value()) {
      held += hold.quantity;
    }
  } while (cursor != "0");
  EXPECT_EQ(held, seen.held);
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

}  // namespace sluice::test
