// Contract of OrderStore: locks held by others, refused rows, no room, no right to write. Whatever happens, a
// batch is stored whole or not at all, and afterwards orders flow again.
#include <chrono>
#include <thread>

#include "sluice/limits.h"

#include "contract/store_contract.h"

namespace sluice::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kRows = "SELECT COUNT(*) FROM orders";
// Waits of a few hundred milliseconds must end long before this, on whatever machine.
constexpr milliseconds kLong{15000};

Deadline shortly() { return Deadline::in(scaled(milliseconds(300))); }

TEST_P(StoreContract, S09_AMalformedOrderIsNamedByItsPlaceAndTheBatchIsRefusedWhole) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(1000);
  std::vector<Admission> batch = batchOf(1, 500, id);
  batch[211].quantity = 0;
  batch[400].user = UserId(-777000777);
  const auto refused = store().persist(batch, now_, payBy_, soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(refused.error().text, HasSubstr("order 212 of 500"));
  EXPECT_THAT(refused.error().text, Not(HasSubstr("777000777")));
  EXPECT_EQ(powers().number(kRows), 0);
  EXPECT_EQ(voucher(id).remaining, 1000);
  batch[211].quantity = 1;
  batch[400].user = UserId(401);
  EXPECT_EQ(storedIn(store().persist(batch, now_, payBy_, soon())), 500u);
}

TEST_P(StoreContract, S09_ARowThatTheSchemaRefusesUndoesItsBatchOnly) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(1000);
  powers().refuse(UserId(212));
  const auto refused = store().persist(batchOf(1, 500, id), now_, payBy_, soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Internal) << "a fault of the data: no pause, the batch is split";
  EXPECT_EQ(powers().number(kRows), 0);
  EXPECT_EQ(storedIn(store().persist(batchOf(1, 211, id), now_, payBy_, soon())), 211u);
  EXPECT_EQ(storedIn(store().persist(batchOf(213, 288, id), now_, payBy_, soon())), 288u);
  EXPECT_EQ(store().persist(batchOf(212, 1, id), now_, payBy_, soon()).error().code, ErrorCode::Internal);
  powers().refuse(UserId());
  EXPECT_EQ(voucher(id).remaining, 501);
}

TEST_P(StoreContract, S13_ALockOfAnotherProgramIsWaitedForUntilTheDeadline) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(100);
  auto others = powers().keepWritersOut();
  const Deadline bound = Deadline::in(scaled(kLong));
  const auto refused = store().persist(batchOf(1, 10, id), now_, payBy_, shortly());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable) << refused.error().text;
  EXPECT_FALSE(bound.passed());
  EXPECT_EQ(powers().number(kRows), 0);
  EXPECT_TRUE(store().findOrder(OrderId(1), soon())) << "readers do not wait for a writer";
  std::thread release([&] {
    std::this_thread::sleep_for(milliseconds(100));
    others.reset();
  });
  EXPECT_EQ(storedIn(store().persist(batchOf(1, 10, id), now_, payBy_, soon())), 10u);
  release.join();
}

TEST_P(StoreContract, S14_WhenTheLastStatementDoesNotEndTheWholeBatchIsUndone) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(100);
  persist(batchOf(1, 5, id));
  powers().stallStock(true);
  const Deadline bound = Deadline::in(scaled(kLong));
  const auto refused = store().persist(batchOf(6, 20, id), now_, payBy_, shortly());
  EXPECT_FALSE(bound.passed());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable) << refused.error().text;
  EXPECT_EQ(store().cancel({admission(1, 1, id), DeadReason::ByUser}, now_, shortly()).error().code,
            ErrorCode::Unavailable);
  powers().stallStock(false);
  EXPECT_EQ(powers().number(kRows), 5) << "rows of the batch stayed behind";
  EXPECT_EQ(row(1).status, OrderStatus::PendingPayment);
  EXPECT_EQ(voucher(id).remaining, 95);
  EXPECT_EQ(storedIn(store().persist(batchOf(6, 20, id), now_, payBy_, soon())), 20u);
}

// Calls in 32 threads at once, more than any pool has sessions; answers how many ended in which code.
template <typename Call>
std::vector<ErrorCode> failuresOf32(const Call& call) {
  std::vector<ErrorCode> codes;
  std::mutex mutex;
  std::vector<std::thread> threads;
  threads.reserve(32);
  for (int k = 0; k < 32; ++k) {
    threads.emplace_back([&, k] {
      const auto answer = call(k);
      if (answer) return;
      const std::lock_guard lock(mutex);
      codes.push_back(answer.error().code);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return codes;
}

TEST_P(StoreContract, S21_WithEverySessionOutACallEndsAtItsDeadlineAndNoneLeaks) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(1000);
  const auto persistOne = [&](std::int64_t order, Deadline deadline) {
    return store().persist(batchOf(order, 1, id), now_, payBy_, deadline);
  };
  for (int round = 0; round < 3; ++round) {
    const auto others = powers().keepWritersOut();
    const Deadline bound = Deadline::in(scaled(kLong));
    const auto failures = failuresOf32([&](int k) { return persistOne(1 + k, shortly()); });
    EXPECT_THAT(failures, SizeIs(32));
    EXPECT_THAT(failures, testing::Each(ErrorCode::Unavailable));
    EXPECT_FALSE(bound.passed());
  }
  EXPECT_THAT(failuresOf32([&](int k) { return persistOne(1 + k, soon()); }), IsEmpty());
  EXPECT_THAT(failuresOf32([&](int) { return store().totals(VoucherId(), 10, soon()); }), IsEmpty());
  EXPECT_EQ(voucher(id).remaining, 968);
  closeStore();  // waits for every session that is out
  reopenStore();
}

TEST_P(StoreContract, S21_AfterAnErrorNoSessionIsLeftWithinATransaction) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(1000);
  powers().refuse(UserId(7));
  for (int k = 0; k < 3; ++k) {
    EXPECT_FALSE(store().persist(batchOf(1, 20, id), now_, payBy_, soon()));
    EXPECT_EQ(store().pay(OrderId(1), now_, soon()).error().code, ErrorCode::NotFound);
    EXPECT_NE(powers().keepWritersOut(), nullptr) << "a transaction is still open";
  }
  powers().refuse(UserId());
  EXPECT_EQ(storedIn(store().persist(batchOf(1, 20, id), now_, payBy_, soon())), 20u);
  EXPECT_EQ(totals(id).rows, 20) << "a reader still looks at an old snapshot";
}

TEST_P(StoreContract, S28_ReadOnlyRefusesByClassKeepsReadingAndGoesOnAfterwards) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(100);
  persist(batchOf(1, 10, id));
  powers().setReadOnly(true);
  for (const Error& refused : {store().persist(batchOf(11, 10, id), now_, payBy_, soon()).error(),
                               store().pay(OrderId(1), now_, soon()).error(),
                               store().createVoucher(VoucherId(), settingsOf(1, 1), soon()).error()}) {
    EXPECT_EQ(refused.code, ErrorCode::Unavailable) << refused.text;
    EXPECT_THAT(refused.text, AnyOf(HasSubstr("read-only"), HasSubstr("read only")));
  }
  EXPECT_EQ(row(1).status, OrderStatus::PendingPayment);
  EXPECT_EQ(totals(id).rows, 10);
  powers().setReadOnly(false);
  EXPECT_EQ(storedIn(store().persist(batchOf(11, 10, id), now_, payBy_, soon())), 10u);
}

TEST_P(StoreContract, S28_FullRefusesByClassStoresNothingByHalvesAndGoesOnAfterwards) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(1'000'000);
  constexpr int kBatch = 100;
  persist(batchOf(1, kBatch, id));
  powers().setFull(true);
  std::int64_t next = 1 + kBatch;
  auto outcomes = store().persist(batchOf(next, kBatch, id), now_, payBy_, soon());
  for (int k = 0; outcomes && k < 1000; ++k) {  // what room there was inside is used up first
    next += kBatch;
    outcomes = store().persist(batchOf(next, kBatch, id), now_, payBy_, soon());
  }
  ASSERT_FALSE(outcomes) << "never full";
  EXPECT_EQ(outcomes.error().code, ErrorCode::Unavailable) << outcomes.error().text;
  EXPECT_EQ(totals(id).rows, next - 1);
  EXPECT_EQ(voucher(id).remaining, 1'000'000 - (next - 1));
  powers().setFull(false);
  EXPECT_EQ(storedIn(store().persist(batchOf(next, kBatch, id), now_, payBy_, soon())), 100u);
}

TEST_P(StoreContract, S29_ErrorsAndLogsTellNoValuesAndNoSecrets) {
  SLUICE_NEEDS_POWERS(world());
  constexpr std::int64_t kUser = 777000777000777;
  const std::string title = "a dinner nobody else may know of";
  VoucherSettings settings = settingsOf(100, 1);
  settings.title = title;
  const VoucherId id = store().createVoucher(VoucherId(), settings, soon()).value().id;
  const auto lease = store().leaseProcess("host", milliseconds(1000), now_, soon()).value();
  ProcessLease wrong = lease;
  wrong.token = "other";
  std::vector<Admission> malformed = batchOf(1, 3, id);
  malformed[1] = admission(2, kUser, id, 5000);
  std::string said;
  const auto note = [&](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_FALSE(result.error().text.empty());
    said += result.error().text + "\n";
  };
  note(store().persist(malformed, now_, payBy_, soon()));
  note(store().createVoucher(id, settings, soon()));
  note(store().updateVoucher(id, 9, settings, soon()));
  note(store().renewProcess(wrong, milliseconds(1000), now_, {}, soon()));
  persist(admission(1, kUser, id));
  note(store().cancel({admission(1, 2, id), DeadReason::ByUser}, now_, soon()));
  powers().refuse(UserId(kUser));
  note(store().persist(std::vector{admission(9, kUser, id)}, now_, payBy_, soon()));
  powers().refuse(UserId());
  {
    const auto others = powers().keepWritersOut();
    note(store().persist(std::vector{admission(9, kUser, id)}, now_, payBy_, shortly()));
  }
  powers().setReadOnly(true);
  note(store().persist(std::vector{admission(9, kUser, id)}, now_, payBy_, soon()));
  powers().setReadOnly(false);
  closeStore();
  powers().setReachable(false);
  note(world().make()->start(shortly()));
  powers().setReachable(true);
  reopenStore();

  said += world().log.text();
  std::vector<std::string> hidden = powers().secrets();
  hidden.insert(hidden.end(), {std::to_string(kUser), title, lease.token, "INSERT", "UPDATE", "VALUES"});
  for (const std::string& secret : hidden) {
    EXPECT_THAT(said, Not(HasSubstr(secret)));
  }
}

}  // namespace
}  // namespace sluice::test
