// Contract of OrderStore, fourth part: process numbers and what processes count; life of the store object
// itself.
#include <set>

#include "sluice/limits.h"

#include "contract/store_contract.h"

namespace sluice::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::SizeIs;

constexpr milliseconds kLease = seconds(10);

TEST_P(StoreContract, EachProcessLeasesTheLowestFreeNumber) {
  const auto first = store().leaseProcess("alpha:8080", kLease, now_, soon()).value();
  const auto second = store().leaseProcess("beta:8080", kLease, now_, soon()).value();
  EXPECT_EQ(first.number, 0);
  EXPECT_EQ(second.number, 1);
  EXPECT_EQ(first.name, "alpha:8080");
  EXPECT_EQ(first.since, now_);
  EXPECT_EQ(first.expiresAt, now_ + kLease);
  EXPECT_NE(first.token, second.token);
  const auto listed = store().listProcesses(soon()).value();
  ASSERT_THAT(listed, SizeIs(2));
  EXPECT_EQ(listed[1].name, "beta:8080");
  EXPECT_EQ(listed[1].expiresAt, now_ + kLease);
}

TEST_P(StoreContract, ANumberIsLeasedAgainOnlyForIdsAfterItsLastHolder) {
  const auto first = store().leaseProcess("alpha", kLease, now_, soon()).value();
  EXPECT_EQ(store().leaseProcess("beta", kLease, first.expiresAt - milliseconds(1), soon()).value().number,
            1);
  const auto taken = store().leaseProcess("gamma", kLease, first.expiresAt, soon()).value();
  EXPECT_EQ(taken.number, 0);
  EXPECT_GT(taken.since, first.expiresAt);
  const auto lost = store().renewProcess(first, kLease, now_, {}, soon());
  EXPECT_EQ(lost.error().code, ErrorCode::Conflict);
  EXPECT_EQ(store().listProcesses(soon()).value().at(0).name, "gamma");
}

TEST_P(StoreContract, RenewingKeepsNumberAndStartAndNeverShortensTheLease) {
  const auto lease = store().leaseProcess("alpha", kLease, now_, soon()).value();
  const auto renewed = store().renewProcess(lease, kLease, now_ + seconds(3), {}, soon()).value();
  EXPECT_EQ(renewed.number, lease.number);
  EXPECT_EQ(renewed.token, lease.token);
  EXPECT_EQ(renewed.since, lease.since);
  EXPECT_EQ(renewed.expiresAt, now_ + seconds(13));
  EXPECT_EQ(store().renewProcess(lease, kLease, now_ - minutes(5), {}, soon()).value().expiresAt,
            now_ + seconds(13));
  EXPECT_EQ(store().renewProcess(lease, kLease, now_ + minutes(5), {}, soon()).value().number, lease.number)
      << "run out, but nobody took it";
}

TEST_P(StoreContract, AnEndedLeaseIsFreeForIdsAfterItsEnd) {
  const auto lease = store().leaseProcess("alpha", kLease, now_, soon()).value();
  ASSERT_TRUE(store().endProcess(lease, now_ + seconds(2), {}, soon()));
  const auto next = store().leaseProcess("beta", kLease, now_ + seconds(2), soon()).value();
  EXPECT_EQ(next.number, lease.number);
  EXPECT_GT(next.since, now_ + seconds(2));
  EXPECT_TRUE(store().endProcess(lease, now_ + seconds(3), {}, soon())) << "ending twice";
  EXPECT_EQ(store().listProcesses(soon()).value().at(0).expiresAt, next.expiresAt)
      << "the new holder keeps it";
}

TEST_P(StoreContract, WhenAllNumbersAreHeldTheNextProcessHasToWait) {
  for (int k = 0; k < limits::kProcessNumbers; ++k) {
    ASSERT_EQ(store().leaseProcess("process", kLease, now_, soon()).value().number, k);
  }
  EXPECT_EQ(store().leaseProcess("one more", kLease, now_, soon()).error().code, ErrorCode::Overloaded);
  EXPECT_EQ(store().leaseProcess("one more", kLease, now_ + kLease, soon()).value().number, 0);
}

TEST_P(StoreContract, CountsAreAbsoluteWithinALeaseAndSummedOverLeases) {
  const VoucherId id = sell(100);
  const VoucherId other = sell(100);
  const auto lease = store().leaseProcess("alpha", kLease, now_, soon()).value();
  const auto renew = [&](const ProcessLease& holder, std::vector<AdmissionCount> counts) {
    return store().renewProcess(holder, kLease, now_, counts, soon()).ok();
  };
  EXPECT_TRUE(renew(lease, {{id, 5}}));
  EXPECT_TRUE(renew(lease, {{id, 8}, {other, 1}}));
  EXPECT_TRUE(renew(lease, {{id, 8}, {other, 1}}));
  EXPECT_TRUE(renew(lease, {{id, 5}})) << "a late repetition";
  EXPECT_EQ(totals(id).countedAdmissions, 8);
  const auto second = store().leaseProcess("beta", kLease, now_, soon()).value();
  EXPECT_TRUE(renew(second, {{id, 100}}));
  ASSERT_TRUE(store().endProcess(lease, now_, std::vector<AdmissionCount>{{id, 9}}, soon()));
  EXPECT_EQ(totals(id).countedAdmissions, 109);
  EXPECT_EQ(totals(other).countedAdmissions, 1);
  const auto third = store().leaseProcess("alpha", kLease, now_, soon()).value();
  EXPECT_EQ(third.number, lease.number);
  EXPECT_TRUE(renew(third, {{id, 1}}));
  EXPECT_EQ(totals(id).countedAdmissions, 110);
  EXPECT_FALSE(renew(lease, {{id, 1000}})) << "lost to another holder";
  EXPECT_EQ(totals(id).countedAdmissions, 110);
}

TEST_P(StoreContract, OddProcessNamesAreRefused) {
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string(201, 'x')}) {
    EXPECT_EQ(store().leaseProcess(name, kLease, now_, soon()).error().code, ErrorCode::InvalidArgument);
  }
}

TEST_P(StoreContract, AClosedStoreAnswersStopped) {
  const auto closed = openStore();
  closed->close();
  closed->close();
  EXPECT_EQ(closed->start(soon()).error().code, ErrorCode::Stopped);
  EXPECT_EQ(closed->migrate(soon()).error().code, ErrorCode::Stopped);
  EXPECT_EQ(closed->findOrder(OrderId(1), soon()).error().code, ErrorCode::Stopped);
  EXPECT_EQ(closed->pay(OrderId(1), now_, soon()).error().code, ErrorCode::Stopped);
}

TEST_P(StoreContract, ACallWhoseTimeHasPassedDoesNothing) {
  const VoucherId id = sell(3);
  const std::vector<Admission> batch = {admission(1, 1, id)};
  const auto late = store().persist(batch, now_, payBy_, Deadline::in(milliseconds(0)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Unavailable);
  EXPECT_FALSE(hasRow(1));
  EXPECT_EQ(persist(batch.front()), kStored);
}

TEST_P(StoreContract, DurabilityIsSaidInWords) {
  EXPECT_THAT(store().durability(soon()).value(), testing::Not(""));
}

}  // namespace
}  // namespace sluice::test
