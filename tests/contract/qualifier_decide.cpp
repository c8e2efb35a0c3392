// Contract of Qualifier, first part: the answers to requests, their order, batches, limits, repeated questions.
#include <algorithm>

#include "sluice/limits.h"

#include "contract/qualifier_contract.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(QualifierContract, V06_AdmitsWithHoldCountersAndJournalInOneStep) {
  load(voucherOf(10, 5));
  const UtcTime at = now();
  EXPECT_THAT(texts(decideAt(at, {request(9223372036854775807, 9223372036854775806, 3)})),
              ElementsAre("admitted 9223372036854775807 fresh"));
  const VoucherSnapshot seen = snapshot();
  EXPECT_EQ(seen.stock, 7);
  EXPECT_EQ(seen.held, 3);
  EXPECT_EQ(seen.holders, 1);
  EXPECT_THAT(holdsOf(9223372036854775806),
              ElementsAre(Hold{UserId(9223372036854775806), OrderId(9223372036854775807), 3}));
  EXPECT_THAT(journal(), ElementsAre(Admission{OrderId(9223372036854775807), UserId(9223372036854775806),
                                               kVoucher, 3, at}));
}

TEST_P(QualifierContract, V01_AVoucherThatIsNotThereIsNotFound) {
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2)}, VoucherId(99))),
              ElementsAre("not_found", "not_found"));
}

TEST_P(QualifierContract, V03_TheLastPieceGoesToTheFirstWhoAsksAndTheWinnerAlwaysLearnsIt) {
  load(voucherOf(1));
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2), request(3, 1)})),
              ElementsAre("admitted 1 fresh", "sold_out", "already_ordered 1"));
  EXPECT_EQ(text(decideOne(request(4, 1))), "already_ordered 1");
  EXPECT_EQ(text(decideOne(request(5, 2))), "sold_out");
  expectConserved();
}

TEST_P(QualifierContract, V01_V03_TwoWantedAndOneLeftIsInsufficient) {
  load(voucherOf(3, 2));
  EXPECT_THAT(texts(decide({request(1, 1, 2), request(2, 2, 2), request(3, 3, 1), request(4, 4, 1)})),
              ElementsAre("admitted 1 fresh", "insufficient", "admitted 3 fresh", "sold_out"));
  expectConserved();
}

TEST_P(QualifierContract, V01_TheLimitCountsPiecesOverAllOrdersOfAUser) {
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

TEST_P(QualifierContract, V04_TheSameOrderIdGetsItsFirstAnswerAndTakesNothing) {
  load(voucherOf(10, 2));
  EXPECT_THAT(texts(decide({request(12, 1), request(12, 1)})),
              ElementsAre("admitted 12 fresh", "admitted 12"));
  EXPECT_EQ(text(decideOne(request(12, 1))), "admitted 12");
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh") << "12 contains 1, but it is another order";
  EXPECT_EQ(text(decideOne(request(12, 1))), "admitted 12");
  EXPECT_EQ(snapshot().held, 2);
  EXPECT_EQ(journal().size(), 2U);
}

TEST_P(QualifierContract, V03_V05_TheSameIdempotencyKeyGetsTheFirstOrderBackAlsoInsideABatch) {
  load(voucherOf(10, 5));
  EXPECT_THAT(texts(decide({request(1, 1, 2, kKey), request(2, 1, 2, kKey), request(3, 1, 1, kKey),
                            request(4, 2, 1, kKey)})),
              ElementsAre("admitted 1 fresh", "admitted 1", "key_reused", "admitted 4 fresh"));
  EXPECT_THAT(texts(decide({request(5, 1, 2, kKey), request(6, 1, 3, kKey), request(7, 1, 1, kOtherKey)})),
              ElementsAre("admitted 1", "key_reused", "admitted 7 fresh"));
  EXPECT_EQ(snapshot().held, 4);
}

TEST_P(QualifierContract, V05_AKeyAnswersWithItsOrderAlsoAfterTheHoldWasGivenBack) {
  load(voucherOf(10));
  EXPECT_EQ(text(decideOne(request(1, 1, 1, kKey))), "admitted 1 fresh");
  const std::vector<Admission> dead = {admission(1, 1)};
  ASSERT_TRUE(asked().release(dead, soon()));
  EXPECT_EQ(text(decideOne(request(2, 1, 1, kKey))), "admitted 1");
  EXPECT_EQ(snapshot().held, 0);
}

TEST_P(QualifierContract, V05_ARefusedRequestLeavesItsKeyFree) {
  Voucher voucher = voucherOf(0);
  load(voucher);
  EXPECT_EQ(text(decideOne(request(1, 1, 1, kKey))), "sold_out");
  voucher.version = 2;
  voucher.settings.allocated = 1;
  ASSERT_EQ(asked().sync(voucher, soon()).value(), SyncOutcome::Applied);
  EXPECT_EQ(text(decideOne(request(2, 1, 1, kKey))), "admitted 2 fresh");
}

TEST_P(QualifierContract, V01_TheWindowIsHalfOpen) {
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

TEST_P(QualifierContract, V01_PausedAndClosedSellNothing) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  voucher.settings.state = VoucherState::Paused;
  voucher.version = 2;
  ASSERT_TRUE(asked().sync(voucher, soon()));
  EXPECT_EQ(text(decideOne(request(1, 1))), "paused");
  voucher.settings.state = VoucherState::Closed;
  voucher.version = 3;
  ASSERT_TRUE(asked().sync(voucher, soon()));
  EXPECT_EQ(text(decideOne(request(2, 1))), "ended");
}

TEST_P(QualifierContract, V01_OnlyListedUsersMayOrderWhereTheVoucherSaysSo) {
  Voucher voucher = voucherOf(10);
  voucher.settings.eligibleOnly = true;
  load(voucher, {}, {UserId(1), UserId(2)});
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 3)})), ElementsAre("admitted 1 fresh", "not_eligible"));
  const std::vector<UserId> more = {UserId(3)};
  ASSERT_TRUE(asked().addEligible(kVoucher, more, soon()));
  EXPECT_THAT(texts(decide({request(3, 3), request(4, 2)})),
              ElementsAre("admitted 3 fresh", "admitted 4 fresh"));
  EXPECT_EQ(asked().addEligible(VoucherId(99), more, soon()).error().code, ErrorCode::NotFound);
}

// Each request gives reason for its verdict and for all that come later in the order.
TEST_P(QualifierContract, V02_VerdictsWinInTheirOrder) {
  open({.max = 2});
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
  ASSERT_TRUE(asked().sync(voucher, soon()));
  EXPECT_THAT(texts(decideAt(voucher.settings.end, questions)),
              ElementsAre("admitted 1", "admitted 1", "key_reused", "already_ordered 1", "paused", "paused"));
  world().overwriteStock(kVoucher, 5);
  EXPECT_THAT(texts(decideAt(voucher.settings.end, {request(1, 1, 2)})), ElementsAre("frozen"));
}

TEST_P(QualifierContract, V01_V07_AFullJournalIsBusyAndTakesNoStock) {
  open({.max = 2});
  load(voucherOf(10));
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2), request(3, 3)})),
              ElementsAre("admitted 1 fresh", "admitted 2 fresh", "busy"));
  EXPECT_EQ(text(decideOne(request(4, 4))), "busy");
  EXPECT_EQ(snapshot().held, 2);
  const auto entries = asked().readJournal({}, 1, soon());
  const std::vector<JournalId> settled = {entries.value().at(0).id};
  ASSERT_EQ(asked().settleJournal(settled, soon()).value(), 1U);
  EXPECT_EQ(text(decideOne(request(5, 5))), "admitted 5 fresh");
}

TEST_P(QualifierContract, V06_WithTheJournalOffNothingIsAppendedAndNothingIsCapped) {
  open({.on = false, .max = 1});
  load(voucherOf(10));
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 2)})),
              ElementsAre("admitted 1 fresh", "admitted 2 fresh"));
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_P(QualifierContract, V03_AFullBatchIsDecidedInOrder) {
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

TEST_P(QualifierContract, OtherSizesOfBatchesAreRefused) {
  load(voucherOf(10));
  const std::vector<QualifyRequest> tooMany(limits::kQualifyBatchMax + 1, request(1, 1));
  std::vector<Decision> decisions(tooMany.size());
  EXPECT_EQ(asked().decide(kVoucher, tooMany, now(), decisions, soon()).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(asked().decide(kVoucher, {}, now(), {}, soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(snapshot().held, 0);
}

TEST_P(QualifierContract, CountsWhatItDid) {
  load(voucherOf(10));
  decide({request(1, 1), request(2, 2)});
  decide({request(3, 3)});
  const QualifierStats stats = asked().stats();
  EXPECT_EQ(stats.batches, 2U);
  EXPECT_EQ(stats.requests, 3U);
  EXPECT_EQ(stats.errors, 0U);
}

// --- of two verdicts that apply the earlier wins: each pair of neighbours in the order of the design ---

TEST_P(QualifierContract, V02_FrozenBeforeTheFirstAnswer) {
  load(voucherOf(10));
  decide({request(1, 1, 1, kKey)});
  world().overwriteStock(kVoucher, 5);
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 1, 1, kKey)})), ElementsAre("frozen", "frozen"));
}

TEST_P(QualifierContract, V02_TheFirstAnswerBeforeTheUsersLimit) {
  load(voucherOf(10));
  decide({request(1, 1, 1, kKey)});
  EXPECT_THAT(texts(decide({request(1, 1), request(2, 1, 1, kKey), request(3, 1, 2, kKey)})),
              ElementsAre("admitted 1", "admitted 1", "key_reused"));
  EXPECT_EQ(text(decideOne(request(1, 1, 2, kKey))), "admitted 1") << "the order id before the key";
}

TEST_P(QualifierContract, V02_TheUsersLimitBeforePaused) {
  Voucher voucher = voucherOf(10);
  load(voucher);
  decide({request(1, 1)});
  voucher.version = 2;
  voucher.settings.state = VoucherState::Paused;
  ASSERT_EQ(sync(voucher), SyncOutcome::Applied);
  EXPECT_THAT(texts(decide({request(2, 1), request(3, 2, 2), request(4, 1, 2), request(5, 2)})),
              ElementsAre("already_ordered 1", "over_limit", "already_ordered 1", "paused"));
}

TEST_P(QualifierContract, V02_PausedBeforeNotStarted) {
  Voucher voucher = voucherOf(10);
  voucher.settings.state = VoucherState::Paused;
  load(voucher);
  EXPECT_THAT(texts(decideAt(voucher.settings.begin - milliseconds(1), {request(1, 1)})),
              ElementsAre("paused"));
}

TEST_P(QualifierContract, V02_NotStartedBeforeEnded) {
  Voucher voucher = voucherOf(10);
  voucher.settings.state = VoucherState::Closed;
  load(voucher);
  EXPECT_THAT(texts(decideAt(voucher.settings.begin - milliseconds(1), {request(1, 1)})),
              ElementsAre("not_started"));
  EXPECT_THAT(texts(decideAt(voucher.settings.begin, {request(2, 1)})), ElementsAre("ended"));
}

TEST_P(QualifierContract, V02_EndedBeforeNotEligible) {
  Voucher voucher = voucherOf(10);
  voucher.settings.eligibleOnly = true;
  load(voucher, {}, {UserId(1)});
  EXPECT_THAT(texts(decideAt(voucher.settings.end, {request(1, 2)})), ElementsAre("ended"));
  EXPECT_THAT(texts(decideAt(voucher.settings.end - milliseconds(1), {request(2, 2)})),
              ElementsAre("not_eligible"));
}

TEST_P(QualifierContract, V02_NotEligibleBeforeSoldOut) {
  Voucher voucher = voucherOf(0);
  voucher.settings.eligibleOnly = true;
  load(voucher, {}, {UserId(1)});
  EXPECT_THAT(texts(decide({request(1, 2), request(2, 1)})), ElementsAre("not_eligible", "sold_out"));
}

TEST_P(QualifierContract, V02_SoldOutBeforeInsufficientBeforeBusyBeforeAdmitted) {
  open({.max = 2});
  load(voucherOf(4, 3));
  EXPECT_THAT(texts(decide({request(1, 1, 2), request(2, 2, 1)})),
              ElementsAre("admitted 1 fresh", "admitted 2 fresh"));  // one piece left, the journal full
  EXPECT_THAT(texts(decide({request(3, 3, 2), request(4, 3, 1)})), ElementsAre("insufficient", "busy"));
  const auto entries = asked().readJournal({}, 1, soon());
  const std::vector<JournalId> settled = {entries.value().at(0).id};
  ASSERT_EQ(asked().settleJournal(settled, soon()).value(), 1U);
  EXPECT_THAT(texts(decide({request(5, 3, 1), request(6, 4, 3)})),
              ElementsAre("admitted 5 fresh", "sold_out"));
}

TEST_P(QualifierContract, V04_TheSameOrderIdGetsItsFirstAnswerAlsoAfterARelease) {
  load(voucherOf(1, 5));
  ASSERT_EQ(text(decideOne(request(1, 1))), "admitted 1 fresh");
  ASSERT_THAT(release({admission(1, 1)}), ElementsAre(ReleaseOutcome::Released));
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1")
      << "its row is dead: a second hold would stay for ever";
  EXPECT_EQ(snapshot().held, 0);
  EXPECT_EQ(journal().size(), 1U);
  ASSERT_EQ(text(decideOne(request(2, 2))), "admitted 2 fresh");
  EXPECT_EQ(text(decideOne(request(1, 1))), "admitted 1") << "also once nothing is left";
  EXPECT_THAT(release({admission(1, 1)}), ElementsAre(ReleaseOutcome::Absent));
  expectConserved();
}

TEST_P(QualifierContract, V11_AnOverwrittenCounterFreezesTheSaleUntilItIsRepaired) {
  load(voucherOf(10));
  decide({request(1, 1)});
  world().overwriteStock(kVoucher, 5);
  EXPECT_THAT(texts(decide({request(2, 2), request(3, 1)})), ElementsAre("frozen", "frozen"));
  EXPECT_FALSE(snapshot().conserved());
  EXPECT_EQ(snapshot().held, 1);
  EXPECT_EQ(journal().size(), 1U);
  const std::vector<Order> live = {liveOrder(9, 9)};
  EXPECT_EQ(asked().restore(live, soon()).error().code, ErrorCode::Corrupt);
  world().overwriteStock(kVoucher, 9);
  EXPECT_EQ(text(decideOne(request(3, 2))), "admitted 3 fresh");
}

}  // namespace
}  // namespace sluice::test
