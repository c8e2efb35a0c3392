// Contract of Qualifier, third part: whom it trusts, clocks that differ, answers that are lost, many threads,
// deadlines and the end.
#include <atomic>
#include <set>
#include <thread>

#include "contract/qualifier_contract.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST_P(QualifierContract, V15_AClockThatDiffersIsToldAndBeyondASecondNothingIsAdmitted) {
  load(voucherOf(10));
  world().setClockSkew(milliseconds(-600));
  EXPECT_LT(probe().clockSkew, milliseconds(-250));
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  for (const milliseconds skew : {milliseconds(-5000), milliseconds(5000)}) {
    world().setClockSkew(skew);
    EXPECT_GT(std::chrono::abs(probe().clockSkew), milliseconds(1000));
    EXPECT_EQ(tryDecide(request(2, 2)).error().code, ErrorCode::Unavailable);
    EXPECT_THAT(release({admission(9, 9)}), ElementsAre(ReleaseOutcome::Absent)) << "all other calls work";
  }
  EXPECT_EQ(snapshot().held, 1);
  world().setClockSkew(milliseconds(0));
  probe();
  EXPECT_EQ(text(decideOne(request(3, 3))), "admitted 3 fresh");
}

TEST_P(QualifierContract, V16_ARestartTakesTheTrustAwayUntilTheHoldsAreChecked) {
  load(voucherOf(10));
  const std::string before = probe().identity;
  world().restartServer(true);
  const QualifierHealth after = probeUntilAnswered();
  EXPECT_NE(after.identity, before);
  EXPECT_FALSE(after.trusted);
  EXPECT_EQ(tryDecide(request(1, 1)).error().code, ErrorCode::Unavailable);
  for (const std::string& other : {before, std::string("somebody else")}) {
    asked().trust(other);
    EXPECT_EQ(tryDecide(request(1, 1)).error().code, ErrorCode::Unavailable) << other;
  }
  EXPECT_EQ(restore({liveOrder(7, 7)}), 1U) << "repairs come before the trust";
  asked().trust(after.identity);
  EXPECT_TRUE(probe().trusted);
  asked().trust("somebody else");
  EXPECT_TRUE(probe().trusted) << "trust in another does not touch this one";
  EXPECT_EQ(text(decideOne(request(2, 2))), "admitted 2 fresh");
  expectConserved();
}

TEST_P(QualifierContract, V16_AServerThatLostItsDataKnowsNothingAndIsNotTrusted) {
  load(voucherOf(10));
  decide({request(1, 1)});
  world().restartServer(false);
  const QualifierHealth after = probeUntilAnswered();
  EXPECT_FALSE(after.trusted);
  EXPECT_EQ(tryDecide(request(2, 2)).error().code, ErrorCode::Unavailable);
  asked().trust(after.identity);
  EXPECT_EQ(text(decideOne(request(2, 2))), "not_found") << "never sold out";
  EXPECT_FALSE(snapshot().loaded);
  EXPECT_EQ(restore({liveOrder(1, 1)}), 0U) << "what is not loaded is left alone";
  load(voucherOf(10), {liveOrder(1, 1)});
  EXPECT_EQ(text(decideOne(request(3, 1))), "already_ordered 1");
}

TEST_P(QualifierContract, V16_AnObjectThatHasNotBeenToldToTrustAdmitsNobody) {
  load(voucherOf(10));
  world().reopen({});
  ASSERT_TRUE(asked().start(soon()));
  EXPECT_FALSE(probe().trusted);
  EXPECT_EQ(tryDecide(request(1, 1)).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(snapshot().held, 0);
  asked().trust(probe().identity);
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
}

TEST_P(QualifierContract, V18_ALostAnswerIsUnknownAndAskedAgainItIsTheSameOrder) {
  load(voucherOf(10));
  world().loseAnswer([&](Deadline deadline) {
    EXPECT_EQ(tryDecide(request(1, 1), deadline).error().code, ErrorCode::OutcomeUnknown);
  });
  const Decision settled = decideOne(request(1, 1));
  EXPECT_EQ(settled.verdict, Verdict::Admitted);
  EXPECT_EQ(settled.order, OrderId(1));
  EXPECT_EQ(snapshot().held, 1);
  EXPECT_THAT(journal(), SizeIs(1));
  expectConserved();
}

TEST_P(QualifierContract, V19_ManyThreadsSellExactlyWhatThereIsToEachUserOnce) {
  constexpr std::int64_t kStock = 300;
  load(voucherOf(kStock));
  std::atomic<std::int64_t> fresh{0};
  inThreads(6, [&](int thread) {  // two threads ask for the same users
    for (std::int64_t batch = 0; batch < 15; ++batch) {
      std::vector<QualifyRequest> requests;
      for (std::int64_t k = 1; k <= 16; ++k) {
        const std::int64_t number = batch * 16 + k;
        requests.push_back(request(thread * 100'000 + number, thread / 2 * 1000 + number));
      }
      for (const Decision& decision : decide(requests)) {
        fresh += decision.fresh ? 1 : 0;
        EXPECT_EQ(decision.order.valid(), decision.verdict != Verdict::SoldOut);
      }
    }
  });
  EXPECT_EQ(fresh, kStock);
  EXPECT_EQ(snapshot().stock, 0);
  expectConserved();
  std::set<UserId> users;
  for (const Admission& admission : journal()) {
    EXPECT_TRUE(users.insert(admission.user).second) << "a user has two";
  }
  EXPECT_EQ(users.size(), static_cast<std::size_t>(kStock));
}

TEST_P(QualifierContract, V22_ACallWhoseDeadlineHasPassedDoesNothing) {
  load(voucherOf(10));
  Voucher newer = voucherOf(20);
  newer.version = 2;
  const auto refused =
      refusalsOfEveryCall(asked(), newer, now(), [] { return Deadline::in(milliseconds(-1)); });
  EXPECT_THAT(refused, testing::Each(testing::Pair(testing::_, ErrorCode::Unavailable)));
  EXPECT_EQ(snapshot().held, 0);
  EXPECT_EQ(snapshot().version, 1);
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
}

TEST_P(QualifierContract, V22_AfterTheEndEveryCallAnswersStopped) {
  load(voucherOf(10));
  asked().stop();
  asked().stop();
  const auto refused = refusalsOfEveryCall(asked(), voucherOf(20), now(), [] { return soon(); });
  EXPECT_THAT(refused, SizeIs(18));
  EXPECT_THAT(refused, testing::Each(testing::Pair(testing::_, ErrorCode::Stopped)));
  open({});
  EXPECT_EQ(snapshot().allocated, 10);
  EXPECT_EQ(snapshot().held, 0);
}

}  // namespace
}  // namespace sluice::test
