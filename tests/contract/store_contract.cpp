// The fixture of the store's contract suite; see store_contract.h.
#include "contract/store_contract.h"

#include <algorithm>
#include <ostream>

namespace sluice::test {

StoreServer::~StoreServer() = default;
StorePowers::~StorePowers() = default;
StoreWorld::~StoreWorld() = default;

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);

void StoreContract::SetUp() {
  world_ = GetParam().makeWorld();
  store_ = openStore();
}

void StoreContract::TearDown() {
  expectLaws(*store_);
  store_->close();
}

void StoreContract::closeStore() {
  store_->close();
  store_.reset();
}

std::unique_ptr<OrderStore> StoreContract::openStore() {
  auto opened = world_->make();
  const Status migrated = opened->migrate(soon());
  EXPECT_TRUE(migrated) << migrated.error().text;
  const Status started = opened->start(soon());
  EXPECT_TRUE(started) << started.error().text;
  return opened;
}

VoucherId StoreContract::sell(std::int64_t stock, std::int32_t limitPerUser) {
  const auto made = store().createVoucher(VoucherId(), settingsOf(stock, limitPerUser), soon());
  EXPECT_TRUE(made) << made.error().text;
  return made ? made.value().id : VoucherId();
}

Voucher StoreContract::voucher(VoucherId id) { return store().findVoucher(id, soon()).value().value(); }

Admission StoreContract::admission(std::int64_t order, std::int64_t user, VoucherId voucher,
                                   std::int32_t quantity) const {
  return {OrderId(order), UserId(user), voucher, quantity, now_ - milliseconds(250)};
}

std::vector<PersistOutcome> StoreContract::persist(const std::vector<Admission>& admissions) {
  const auto outcomes = store().persist(admissions, now_, payBy_, soon());
  EXPECT_TRUE(outcomes) << outcomes.error().text;
  EXPECT_EQ(outcomes.value().size(), admissions.size());
  return outcomes.value();
}

std::vector<Admission> StoreContract::batchOf(std::int64_t first, int count, VoucherId voucher) const {
  std::vector<Admission> batch;
  for (std::int64_t order = first; order < first + count; ++order) {
    batch.push_back(admission(order, order, voucher));
  }
  return batch;
}

Order StoreContract::row(std::int64_t order) {
  return store().findOrder(OrderId(order), soon()).value().value();
}

bool StoreContract::hasRow(std::int64_t order) {
  return store().findOrder(OrderId(order), soon()).value().has_value();
}

Change StoreContract::cancel(const Admission& admission, DeadReason reason) {
  const auto change = store().cancel({admission, reason}, now_, soon());
  EXPECT_TRUE(change) << change.error().text;
  return change.value();
}

VoucherTotals StoreContract::totals(VoucherId id) {
  const auto page = store().totals(VoucherId(id.value() - 1), 1, soon());
  EXPECT_TRUE(page) << page.error().text;
  EXPECT_EQ(page.value().at(0).voucher.id, id);
  return page.value().at(0);
}

void StoreContract::expectLaws(OrderStore& store) {
  const auto page = store.totals(VoucherId(), 1000, soon());
  ASSERT_TRUE(page) << page.error().text;
  for (const VoucherTotals& sums : page.value()) {
    const std::string name = "voucher " + sums.voucher.id.text();
    EXPECT_EQ(sums.voucher.remaining + sums.livePieces, sums.voucher.settings.allocated)
        << "CONSERVE_STORE, " << name;
    EXPECT_GE(sums.voucher.remaining, 0) << "NEVER_NEGATIVE, " << name;
    EXPECT_LE(sums.livePieces, sums.voucher.settings.allocated) << "NO_OVERSELL, " << name;
  }
}

std::size_t storedIn(const Result<std::vector<PersistOutcome>>& outcomes) {
  EXPECT_TRUE(outcomes) << outcomes.error().text;
  if (!outcomes) return 0;
  return static_cast<std::size_t>(
      std::count_if(outcomes.value().begin(), outcomes.value().end(),
                    [](const PersistOutcome& outcome) { return outcome.kind == PersistKind::Stored; }));
}

VoucherSettings settingsOf(std::int64_t stock, std::int32_t limitPerUser) {
  VoucherSettings settings;
  settings.title = "Dinner for two";
  settings.begin = fromMillis(1767200000000);
  settings.end = fromMillis(1767300000000);
  settings.limitPerUser = limitPerUser;
  settings.allocated = stock;
  return settings;
}

}  // namespace sluice::test

namespace sluice {

std::ostream& operator<<(std::ostream& out, const PersistOutcome& outcome) {
  constexpr const char* kKinds[] = {"stored", "rejected", "already", "conflict", "unknown voucher"};
  return out << kKinds[static_cast<int>(outcome.kind)] << " " << orderStatusName(outcome.status) << " "
             << deadReasonName(outcome.reason) << (outcome.released ? " released" : "");
}

}  // namespace sluice
