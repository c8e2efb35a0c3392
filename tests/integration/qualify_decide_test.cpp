// The answers to requests: every verdict, their order, batches, limits, repeated questions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/limits.h"

#include "integration/qualify_fixture.h"

namespace sluice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kKey = "0123456789abcdef";
constexpr std::string_view kOtherKey = "fedcba9876543210";

class QualifyDecide : public QualifyFixture {};

TEST_F(QualifyDecide, AdmitsWithHoldCountersAndJournalInOneStep) {
  load(voucherOf(10, 5));
  const UtcTime now = clock.now();
  EXPECT_THAT(texts(decideAt(now, {request(9223372036854775807, 9223372036854775806, 3)})),
              ElementsAre("admitted 9223372036854775807 fresh"));
  const VoucherSnapshot seen = snapshot();
  EXPECT_EQ(seen.stock, 7);
  EXPECT_EQ(seen.held, 3);
  EXPECT_EQ(seen.holders, 1);
  EXPECT_THAT(holdsOf(9223372036854775806),
              ElementsAre(Hold{UserId(9223372036854775806), OrderId(9223372036854775807), 3}));
  EXPECT_THAT(journal(), ElementsAre(Admission{OrderId(9223372036854775807), UserId(9223372036854775806),
                                               kVoucher, 3, now}));
}

TEST_F(QualifyDecide, AVoucherThatIsNotThereIsNotFound) {
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2)}, VoucherId(99))),
              ElementsAre("not_found", "not_found"));
}

TEST_F(QualifyDecide, TheLastPieceGoesToTheFirstWhoAsksAndTheWinnerAlwaysLearnsIt) {
  load(voucherOf(1));
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2), request(3, 1)})),
              ElementsAre("admitted 1 fresh", "sold_out", "already_ordered 1"));
  EXPECT_EQ(text(decideOne(request(4, 1))), "already_ordered 1");
  EXPECT_EQ(text(decideOne(request(5, 2))), "sold_out");
  expectConserved();
}

TEST_F(QualifyDecide, TwoWantedAndOneLeftIsInsufficient) {
  load(voucherOf(3, 2));
  EXPECT_THAT(texts(decide({request(1, 1, 2), request(2, 2, 2), request(3, 3, 1), request(4, 4, 1)})),
              ElementsAre("admitted 1 fresh", "insufficient", "admitted 3 fresh", "sold_out"));
  expectConserved();
}

TEST_F(QualifyDecide, TheLimitCountsPiecesOverAllOrdersOfAUser) {
  load(voucherOf(100, 3));
  EXPECT_THAT(texts(decide({request(1, 7, 1), request(2, 7, 1)})),
              ElementsAre("admitted 1 fresh", "admitted 2 fresh"));
  EXPECT_THAT(texts(decide({request(3, 7, 2), request(4, 7, 1), request(5, 7, 1)})),
              ElementsAre("already_ordered 2", "admitted 4 fresh", "already_ordered 4"));
  EXPECT_THAT(holdsOf(7), ElementsAre(Hold{UserId(7), OrderId(1), 1}, Hold{UserId(7), OrderId(2), 1},
                                      Hold{UserId(7), OrderId(4), 1}));
  EXPECT_EQ(text(decideOne(request(6, 8, 4))), "over_limit");
  EXPECT_EQ(text(decideOne(request(6, 7, 4))), "already_ordered 4") << "who has one learns which";
  expectConserved();
}

TEST_F(QualifyDecide, TheSameOrderIdGetsItsFirstAnswerAndTakesNothing) {
  load(voucherOf(10, 2));
  EXPECT_THAT(texts(decide({request(12, 1), request(12, 1)})),
              ElementsAre("admitted 12 fresh", "admitted 12"));
  EXPECT_EQ(text(decideOne(request(12, 1))), "admitted 12");
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh") << "12 contains 1, but it is another order";
  EXPECT_EQ(text(decideOne(request(12, 1))), "admitted 12");
  EXPECT_EQ(snapshot().held, 2);
  EXPECT_EQ(journal().size(), 2U);
}

TEST_F(QualifyDecide, TheSameIdempotencyKeyGetsTheFirstOrderBackAlsoInsideABatch) {
  load(voucherOf(10, 5));
  EXPECT_THAT(texts(decide({request(1, 1, 2, kKey), request(2, 1, 2, kKey), request(3, 1, 1, kKey),
                            request(4, 2, 1, kKey)})),
              ElementsAre("admitted 1 fresh", "admitted 1", "key_reused", "admitted 4 fresh"));
  EXPECT_THAT(texts(decide({request(5, 1, 2, kKey), request(6, 1, 3, kKey), request(7, 1, 1, kOtherKey)})),
              ElementsAre("admitted 1", "key_reused", "admitted 7 fresh"));
  EXPECT_EQ(snapshot().held, 4);
  EXPECT_EQ(redis.text({"HGET", kIdempotencyKey, "1:" + std::string(kKey)}), "1:2");
}

TEST_F(QualifyDecide, AKeyAnswersWithItsOrderAlsoAfterTheHoldWasGivenBack) {
  load(voucherOf(10));
  EXPECT_EQ(text(decideOne(request(1, 1, 1, kKey))), "admitted 1 fresh");
  const std::vector<Admission> dead = {admission(1, 1)};
  ASSERT_TRUE(qualifier->release(dead, soon()));
  EXPECT_EQ(text(decideOne(request(2, 1, 1, kKey))), "admitted 1");
  EXPECT_EQ(snapshot().held, 0);
}

TEST_F(QualifyDecide, ARefusedRequestLeavesItsKeyFree) {
  Voucher voucher = voucherOf(0);
  load(voucher);
  EXPECT_EQ(text(decideOne(request(1, 1, 1, kKey))), "sold_out");
  voucher.version = 2;
  voucher.settings.allocated = 1;
  ASSERT_EQ(qualifier->sync(voucher, soon()).value(), SyncOutcome::Applied);
  EXPECT_EQ(text(decideOne(request(2, 1, 1, kKey))), "admitted 2 fresh");
}

TEST_F(QualifyDecide, TheWindowIsHalfOpen) {
  const Voucher voucher = voucherOf(10);
  load(voucher);
  const auto at = [&](UtcTime now, std::int64_t order) {
    return text(decideAt(now, {request(order, order)}).at(0));
  };
  EXPECT_EQ(at(voucher.settings.begin - milliseconds(1), 1), "not_started");
  EXPECT_EQ(at(voucher.settings.begin, 2), "admitted 2 fresh");
  EXPECT_EQ(at(voucher.settings.end - milliseconds(1), 3), "admitted 3 fresh");
  EXPECT_EQ(at(voucher.settings.end, 4), "ended");
}

TEST_F(QualifyDecide, PausedAndClosedSellNothing) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  voucher.settings.state = VoucherState::Paused;
  voucher.version = 2;
  ASSERT_TRUE(qualifier->sync(voucher, soon()));
  EXPECT_EQ(text(decideOne(request(1, 1))), "paused");
  voucher.settings.state = VoucherState::Closed;
  voucher.version = 3;
  ASSERT_TRUE(qualifier->sync(voucher, soon()));
  EXPECT_EQ(text(decideOne(request(2, 1))), "ended");
}

TEST_F(QualifyDecide, OnlyListedUsersMayOrderWhereTheVoucherSaysSo) {
  Voucher voucher = voucherOf(10);
  voucher.settings.eligibleOnly = true;
  load(voucher, {}, {UserId(1), UserId(2)});
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 3)})), ElementsAre("admitted 1 fresh", "not_eligible"));
  const std::vector<UserId> more = {UserId(3)};
  ASSERT_TRUE(qualifier->addEligible(kVoucher, more, soon()));
  EXPECT_THAT(texts(decide({request(3, 3), request(4, 2)})),
              ElementsAre("admitted 3 fresh", "admitted 4 fresh"));
  EXPECT_EQ(qualifier->addEligible(VoucherId(99), more, soon()).error().code, ErrorCode::NotFound);
}

// Each request gives reason for its verdict and for all that come later in the order.
TEST_F(QualifyDecide, VerdictsWinInTheirOrder) {
  open({.journalMax = 2});
  Voucher voucher = voucherOf(3, 2);
  voucher.settings.eligibleOnly = true;
  load(voucher, {}, {UserId(1), UserId(2), UserId(4)});
  ASSERT_THAT(texts(decide({request(1, 1, 2, kKey)})), ElementsAre("admitted 1 fresh"));
  EXPECT_THAT(texts(decide({request(2, 4, 2)})), ElementsAre("insufficient"));
  ASSERT_THAT(texts(decide({request(3, 2, 1)})), ElementsAre("admitted 3 fresh"));  // stock 0, journal full
  const std::vector<QualifyRequest> questions = {request(1, 1, 2),        request(11, 1, 2, kKey),
                                                 request(12, 1, 1, kKey), request(13, 1, 2),
                                                 request(14, 3, 2),       request(15, 4, 2)};
  EXPECT_THAT(texts(decide(questions)), ElementsAre("admitted 1", "admitted 1", "key_reused",
                                                    "already_ordered 1", "not_eligible", "sold_out"));
  EXPECT_THAT(texts(decideAt(voucher.settings.end, questions)),
              ElementsAre("admitted 1", "admitted 1", "key_reused", "already_ordered 1", "ended", "ended"));
  EXPECT_THAT(texts(decideAt(voucher.settings.begin - milliseconds(1), questions)),
              ElementsAre("admitted 1", "admitted 1", "key_reused", "already_ordered 1", "not_started",
                          "not_started"));
  voucher.version = 2;
  voucher.settings.state = VoucherState::Paused;
  ASSERT_TRUE(qualifier->sync(voucher, soon()));
  EXPECT_THAT(texts(decideAt(voucher.settings.end, questions)),
              ElementsAre("admitted 1", "admitted 1", "key_reused", "already_ordered 1", "paused", "paused"));
  redis.command({"HSET", kVoucherKey, "stock", "5"});
  EXPECT_THAT(texts(decideAt(voucher.settings.end, {request(1, 1, 2)})), ElementsAre("frozen"));
}

TEST_F(QualifyDecide, AFullJournalIsBusyAndTakesNoStock) {
  open({.journalMax = 2});
  load(voucherOf(10));
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2), request(3, 3)})),
              ElementsAre("admitted 1 fresh", "admitted 2 fresh", "busy"));
  EXPECT_EQ(text(decideOne(request(4, 4))), "busy");
  EXPECT_EQ(snapshot().held, 2);
  const auto entries = qualifier->readJournal("", 1, soon());
  const std::vector<std::string> settled = {entries.value().at(0).id};
  ASSERT_EQ(qualifier->settleJournal(settled, soon()).value(), 1U);
  EXPECT_EQ(text(decideOne(request(5, 5))), "admitted 5 fresh");
}

TEST_F(QualifyDecide, WithTheJournalOffNothingIsAppendedAndNothingIsCapped) {
  open({.journal = false, .journalMax = 1});
  load(voucherOf(10));
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2)})),
              ElementsAre("admitted 1 fresh", "admitted 2 fresh"));
  EXPECT_THAT(journal(), IsEmpty());
  EXPECT_EQ(redis.number({"EXISTS", kJournalKey}), 0);
}

TEST_F(QualifyDecide, AFullBatchIsDecidedInOrder) {
  load(voucherOf(40));
  std::vector<QualifyRequest> requests;
  for (std::int64_t k = 1; k <= static_cast<std::int64_t>(limits::kQualifyBatchMax); ++k) {
    requests.push_back(request(1000 + k, k));
  }
  const auto decisions = decide(requests);
  for (std::size_t k = 0; k < decisions.size(); ++k) {
    EXPECT_EQ(decisions[k].verdict, k < 40 ? Verdict::Admitted : Verdict::SoldOut) << k;
  }
  const auto admissions = journal();
  ASSERT_EQ(admissions.size(), 40U);
  EXPECT_TRUE(std::is_sorted(admissions.begin(), admissions.end(),
                             [](const Admission& a, const Admission& b) { return a.order < b.order; }));
  expectConserved();
}

TEST_F(QualifyDecide, OtherSizesOfBatchesAreRefused) {
  load(voucherOf(10));
  const std::vector<QualifyRequest> tooMany(limits::kQualifyBatchMax + 1, request(1, 1));
  std::vector<Decision> decisions(tooMany.size());
  EXPECT_EQ(qualifier->decide(kVoucher, tooMany, clock.now(), decisions, soon()).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(qualifier->decide(kVoucher, {}, clock.now(), {}, soon()).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(snapshot().held, 0);
}

TEST_F(QualifyDecide, CountsWhatItDid) {
  load(voucherOf(10));
  decide({request(1, 1), request(2, 2)});
  decide({request(3, 3)});
  const QualifierStats stats = qualifier->stats();
  EXPECT_EQ(stats.batches, 2U);
  EXPECT_EQ(stats.requests, 3U);
  EXPECT_GT(stats.scriptNanoseconds, 0U);
  EXPECT_EQ(stats.errors, 0U);
}

}  // namespace
}  // namespace sluice::test
