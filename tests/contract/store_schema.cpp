// Contract of OrderStore: the schema, by whom and how often it is made, and opening what is not there.
#include "contract/store_contract.h"
#include "support/forked_child.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr const char* kSteps = "SELECT MAX(version) FROM sluice_schema";

TEST_P(StoreContract, S01_MigratingAgainChangesNothingAndKeepsWhatIsThere) {
  const VoucherId id = sell(3);
  persist(admission(1, 1, id));
  EXPECT_TRUE(store().migrate(soon()));
  const auto another = openStore();
  EXPECT_TRUE(another->start(soon())) << "starting twice is harmless";
  EXPECT_TRUE(another->findOrder(OrderId(1), soon()).value().has_value());
  EXPECT_EQ(another->findVoucher(id, soon()).value()->remaining, 2);
  if (world().powers() != nullptr) {
    EXPECT_EQ(powers().number("SELECT COUNT(*) FROM sluice_schema"), powers().number(kSteps));
  }
}

TEST_P(StoreContract, S02_SixteenProcessesMigrateAtOnce) {
  const auto fresh = GetParam().makeWorld();
  const auto results = inProcesses(16, [&](int) {
    const auto store = fresh->make();
    if (!store->migrate(soon())) return 1;
    if (!store->start(soon())) return 2;
    return store->createVoucher(VoucherId(), settingsOf(1, 1), soon()) ? 0 : 3;
  });
  EXPECT_THAT(results, Each(0));
  const auto store = fresh->make();
  ASSERT_TRUE(store->start(soon()));
  EXPECT_EQ(store->listVouchers(VoucherId(), 100, soon()).value().size(), 16u);
}

TEST_P(StoreContract, S03_ALaterProgramMigratesStepwiseKeepsTheDataAndShutsOutTheEarlierOne) {
  const auto fresh = GetParam().makeWorld();
  SLUICE_NEEDS_POWERS(*fresh);
  const auto earlier = fresh->make();
  ASSERT_TRUE(earlier->migrate(soon()));
  ASSERT_TRUE(earlier->start(soon()));
  ASSERT_TRUE(earlier->createVoucher(VoucherId(7), settingsOf(1, 1), soon()));
  earlier->close();
  const std::int64_t version = fresh->powers()->number(kSteps);
  const auto both = AllOf(HasSubstr("version " + std::to_string(version)),
                          HasSubstr("version " + std::to_string(version + 1)));

  const auto later = fresh->powers()->makeLater(false);
  const Status due = later->start(soon());
  EXPECT_EQ(due.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(due.error().text, both);
  ASSERT_TRUE(later->migrate(soon()));
  ASSERT_TRUE(later->start(soon()));
  EXPECT_EQ(fresh->powers()->number(kSteps), version + 1);
  EXPECT_TRUE(later->findVoucher(VoucherId(7), soon()).value().has_value());

  const auto shutOut = fresh->make();
  for (const Status& refused : {shutOut->start(soon()), shutOut->migrate(soon())}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
    EXPECT_THAT(refused.error().text, both);
  }
}

TEST_P(StoreContract, S03_AFailedStepLeavesTheVersionBeforeItAndMayBeRepeated) {
  const auto fresh = GetParam().makeWorld();
  SLUICE_NEEDS_POWERS(*fresh);
  ASSERT_TRUE(fresh->make()->migrate(soon()));
  const std::int64_t version = fresh->powers()->number(kSteps);
  const auto broken = fresh->powers()->makeLater(true);
  for (int k = 0; k < 2; ++k) {
    EXPECT_FALSE(broken->migrate(soon()));
    EXPECT_EQ(fresh->powers()->number(kSteps), version + 1);
  }
  const auto later = fresh->powers()->makeLater(false);
  EXPECT_TRUE(later->migrate(soon()));
  EXPECT_TRUE(later->start(soon()));
}

TEST_P(StoreContract, AStoreThatWasNotMigratedDoesNotStart) {
  const auto fresh = GetParam().makeWorld();
  const auto unopened = fresh->make();
  const Status started = unopened->start(soon());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(started.error().text, HasSubstr("migrate"));
  EXPECT_EQ(unopened->findOrder(OrderId(1), soon()).error().code, ErrorCode::Stopped);
}

TEST_P(StoreContract, S20_WhatCannotBeReachedIsSaidInTimeAndFoundLater) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(3);
  persist(admission(1, 1, id));
  closeStore();
  powers().setReachable(false);
  const auto waiting = world().make();
  const Deadline bound = Deadline::in(scaled(milliseconds(30000)));
  const Status refused = waiting->start(Deadline::in(scaled(milliseconds(500))));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().code == ErrorCode::Unavailable ||
              refused.error().code == ErrorCode::Misconfigured)
      << refused.error().text;
  EXPECT_GT(refused.error().text.size(), 20u);
  EXPECT_FALSE(bound.passed()) << "the wait ends at the deadline";
  powers().setReachable(true);
  EXPECT_TRUE(waiting->start(soon())) << "the same object may try again";
  EXPECT_TRUE(waiting->findOrder(OrderId(1), soon()).value().has_value());
  reopenStore();
}

}  // namespace
}  // namespace sluice::test
