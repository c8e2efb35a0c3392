// The demo's judgement: it finds what is off, by either witness.
#include "cli/demo_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace sluice::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr UtcTime kReleased = fromMillis(1767225600000);

StormEntry admitted(std::int64_t user, std::int64_t order) {
  return {UserId(user), "admitted", OrderId(order), milliseconds(user)};
}

Order row(std::int64_t user, std::int64_t order) {
  Order row;
  row.id = OrderId(order);
  row.user = UserId(user);
  row.storedAt = kReleased + milliseconds(250);
  return row;
}

// Three users, two pieces: two are told that they have one, and the store agrees.
struct Sale {
  StormLog log;
  std::vector<Order> rows = {row(1, 11), row(2, 12)};
  AuditReport audit;

  Sale() {
    log.releasedAt = kReleased;
    log.entries = {admitted(1, 11), admitted(2, 12), {UserId(3), "sold_out", OrderId(), milliseconds(3)}};
    audit.atRest = true;
  }
  [[nodiscard]] DemoFigures figures() const { return judge(log, rows, audit, 3, 2); }
};

TEST(DemoFigures, FindNothingWhereAllIsWell) {
  const DemoFigures figures = Sale().figures();
  EXPECT_THAT(figures.faults, IsEmpty());
  EXPECT_EQ(figures.requests, 3);
  EXPECT_EQ(figures.verdicts.at("sold_out"), 1);
  EXPECT_EQ(figures.admitted, 2);
  EXPECT_EQ(figures.stored, 2);
  EXPECT_DOUBLE_EQ(figures.secondsToStored, 0.25);
  EXPECT_DOUBLE_EQ(figures.latencyMeanMs, 2);
  EXPECT_DOUBLE_EQ(figures.latencyP50Ms, 2);
  EXPECT_DOUBLE_EQ(figures.latencyP99Ms, 3);
  EXPECT_DOUBLE_EQ(figures.latencyMaxMs, 3);
}

TEST(DemoFigures, FindAnOversoldStockByTheClientsWord) {
  Sale sale;
  sale.log.entries[2] = admitted(3, 13);
  const DemoFigures figures = sale.figures();
  EXPECT_EQ(figures.oversold, 1);
  EXPECT_THAT(figures.faults, testing::Contains(HasSubstr("oversold")));
}

TEST(DemoFigures, FindAnOversoldStockByTheStoresWord) {
  Sale sale;
  sale.rows.push_back(row(3, 13));
  const DemoFigures figures = sale.figures();
  EXPECT_EQ(figures.oversold, 1);
  EXPECT_THAT(figures.faults, testing::Contains(HasSubstr("never told")));
}

TEST(DemoFigures, FindUsersWithTwoOrders) {
  Sale sale;
  sale.log.entries[1] = admitted(1, 12);
  EXPECT_EQ(sale.figures().doubled, 1);
}

TEST(DemoFigures, FindALostOrder) {
  Sale sale;
  sale.rows.pop_back();
  EXPECT_THAT(sale.figures().faults, ElementsAre(HasSubstr("1 orders are stored, and 2 were admitted")));
}

TEST(DemoFigures, FindAnUnsoldPiece) {
  Sale sale;
  sale.log.entries[1] = {UserId(2), "sold_out", OrderId(), milliseconds(1)};
  sale.rows.pop_back();
  EXPECT_THAT(sale.figures().faults, ElementsAre(HasSubstr("1 were admitted, and 2 should be")));
}

TEST(DemoFigures, DoNotCountDeadRows) {
  Sale sale;
  sale.rows[1].status = OrderStatus::Rejected;
  EXPECT_EQ(sale.figures().stored, 1);
}

TEST(DemoFigures, NameConnectionErrorsViolationsAndOrdersOnTheirWay) {
  Sale sale;
  sale.log.connectionErrors = 2;
  sale.audit.atRest = false;
  sale.audit.violations.push_back({"NO_OVERSELL", VoucherId(1), "too many"});
  const DemoFigures figures = sale.figures();
  EXPECT_FALSE(figures.auditClean);
  EXPECT_EQ(figures.faults.size(), 3u);
}

StormAnswer answer(int status, const std::string& body) {
  return {StormFault::None, status, body, nanoseconds(5)};
}

TEST(StormLog, UnderstandsTheServersAnswers) {
  const UserId user(7);
  const StormEntry won = readAnswer(user, answer(202, R"({"orderId":"99","status":"queued"})"));
  EXPECT_EQ(won.verdict, "admitted");
  EXPECT_EQ(won.order, OrderId(99));
  EXPECT_EQ(readAnswer(user, answer(409, R"({"code":"SOLD_OUT"})")).verdict, "sold_out");
  EXPECT_EQ(readAnswer(user, answer(409, R"({"code":"ALREADY_ORDERED","orderId":"5"})")).order, OrderId(5));
  EXPECT_EQ(readAnswer(user, answer(202, "{}")).verdict, "http_202")
      << "an admission without an order is none";
  EXPECT_EQ(readAnswer(user, answer(400, R"({"code":"BAD_BODY"})")).verdict, "http_400");
  EXPECT_EQ(readAnswer(user, answer(500, "oops")).verdict, "http_500");
  EXPECT_EQ(readAnswer(user, {StormFault::TimedOut, 0, "", nanoseconds(0)}).verdict, "timed_out");
}

TEST(StormLog, ReadsWhatItWrote) {
  const test::TempFolder folder;
  StormLog log = Sale().log;
  log.connectionErrors = 3;
  log.answering = milliseconds(12);
  ASSERT_TRUE(writeStormLog(folder.file("log"), log));
  const Result<StormLog> read = readStormLog(folder.file("log"));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read.value().releasedAt, log.releasedAt);
  EXPECT_EQ(read.value().answering, log.answering);
  EXPECT_EQ(read.value().connectionErrors, 3u);
  ASSERT_EQ(read.value().entries.size(), 3u);
  EXPECT_EQ(read.value().entries[1].order, OrderId(12));
  EXPECT_EQ(read.value().entries[2].verdict, "sold_out");
  EXPECT_FALSE(readStormLog(folder.file("none")));
}

}  // namespace
}  // namespace sluice::cli
