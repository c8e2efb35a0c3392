// The metrics page and the JSON views say what they are given, in their exact forms.
#include <iterator>

#include <gtest/gtest.h>

#include "server/metrics.h"
#include "server/views.h"

namespace sluice::server {
namespace {

EngineStats someStats() {
  EngineStats stats;
  stats.verdicts.assign(std::size(kVerdicts), 0);
  stats.verdicts[8] = 42;
  Histogram batch(1);
  batch.observe(1);
  batch.observe(3);
  stats.batchSizes = batch.snapshot();
  stats.scriptNanoseconds = Histogram(1000).snapshot();
  stats.storeNanoseconds = Histogram(1000).snapshot();
  stats.storeBatchSizes = Histogram(1).snapshot();
  stats.queue.ready = 5;
  stats.queue.oldestAge = milliseconds(1500);
  stats.paused = true;
  return stats;
}

bool has(const std::string& page, const std::string& line) {
  return ("\n" + page).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, ShowTheForwarderWhereThereIsOne) {
  EngineStats stats = someStats();
  stats.forwarder = {true, true, "one", 7, 2, 1, milliseconds(2500), ""};
  const std::string page = metricsText(stats, {}, {}, {});
  EXPECT_TRUE(has(page, "sluice_forwarder_leads 1")) << page;
  EXPECT_TRUE(has(page, "sluice_forwarder_forwarded_total 7"));
  EXPECT_TRUE(has(page, "sluice_forwarder_rereads_total 2"));
  EXPECT_TRUE(has(page, "sluice_forwarder_set_aside_total 1"));
  EXPECT_TRUE(has(page, "sluice_forwarder_paused 0"));
  EXPECT_TRUE(has(page, "sluice_journal_oldest_age_seconds 2.5"));
}

TEST(Metrics, ShowsWhatTheEngineCounts) {
  AnswerCounts answers;
  answers.byClass[3] = 7;
  FrontStats front;
  front.connections = 3;
  Readiness readiness;
  readiness.ready = true;
  readiness.durability = Durability::L2;
  const std::string page = metricsText(someStats(), readiness, front, answers);
  EXPECT_TRUE(has(page, "sluice_verdicts_total{verdict=\"sold_out\"} 42")) << page;
  EXPECT_TRUE(has(page, "sluice_qualify_batch_size_bucket{le=\"1\"} 1"));
  EXPECT_TRUE(has(page, "sluice_qualify_batch_size_bucket{le=\"4\"} 2"));
  EXPECT_TRUE(has(page, "sluice_qualify_batch_size_bucket{le=\"+Inf\"} 2"));
  EXPECT_TRUE(has(page, "sluice_qualify_batch_size_sum 4"));
  EXPECT_TRUE(has(page, "sluice_queue_ready 5"));
  EXPECT_EQ(page.find("sluice_forwarder"), std::string::npos) << "nothing has to be forwarded";
  EXPECT_TRUE(has(page, "sluice_queue_oldest_age_seconds 1.5"));
  EXPECT_TRUE(has(page, "sluice_fulfilment_paused 1"));
  EXPECT_TRUE(has(page, "sluice_http_answers_total{class=\"4xx\"} 7"));
  EXPECT_TRUE(has(page, "sluice_http_connections 3"));
  EXPECT_TRUE(has(page, "sluice_durability_level 2"));
}

TEST(Metrics, HasABoundedNumberOfSeries) {
  const std::string page = metricsText(someStats(), {}, {}, {});
  std::size_t series = 0;
  for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1)
    if (page[at] != '#') ++series;
  EXPECT_LT(series, 300u);
}

Order someOrder() {
  Order order;
  order.id = OrderId(9007199254740993);
  order.user = UserId(7);
  order.voucher = VoucherId(1);
  order.status = OrderStatus::Cancelled;
  order.reason = DeadReason::Unpaid;
  order.admittedAt = order.storedAt = order.updatedAt = fromMillis(1767225600000);
  return order;
}

TEST(Views, WriteIdsAsTextAndLeaveOutWhatIsNotThere) {
  EXPECT_EQ(
      orderJson(someOrder()),
      R"({"orderId":"9007199254740993","voucherId":"1","userId":"7","quantity":1,"status":"cancelled","reason":"unpaid",)"
      R"("admittedAt":"2026-01-01T00:00:00.000Z","storedAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z"})");
  OrderView queued{OrderId(1), VoucherId(2), UserId(3), 1, "queued", true, std::nullopt};
  EXPECT_EQ(orderViewJson(queued),
            R"({"orderId":"1","voucherId":"2","userId":"3","quantity":1,"status":"queued","delayed":true})");
}

TEST(Views, SayWhetherRedisHasAVoucher) {
  VoucherView view;
  view.voucher.id = VoucherId(1);
  view.voucher.settings.title = "Tea \"green\"";
  EXPECT_NE(voucherViewJson(view).find(R"("title":"Tea \"green\"")"), std::string::npos);
  EXPECT_NE(voucherViewJson(view).find(R"("loaded":null})"), std::string::npos);
  view.snapshot = VoucherSnapshot{};
  view.snapshot->loaded = true;
  view.snapshot->stock = 12;
  EXPECT_NE(voucherViewJson(view).find(R"("loaded":true,"stock":12,"held":0,"holders":0})"),
            std::string::npos);
}

TEST(Views, ShowDeadLettersWithAndWithoutAnAdmission) {
  DeadLetter letter;
  letter.id = "5-0";
  letter.bytes = "\xFF<junk>";
  letter.reason = "undecodable";
  EXPECT_NE(deadLetterJson(letter).find("\"bytes\":\"\xEF\xBF\xBD<junk>\""), std::string::npos);
  letter.admission = Admission{OrderId(1), UserId(2), VoucherId(3), 1, fromMillis(0)};
  EXPECT_NE(deadLetterJson(letter).find(R"("orderId":"1")"), std::string::npos);
}

TEST(Views, TellWhetherAnAuditIsClean) {
  AuditReport report;
  EXPECT_EQ(auditJson(report), R"({"clean":true,"atRest":false,"violations":[],"vouchers":[],"lost":[]})");
  report.violations.push_back({"NO_OVERSELL", VoucherId(1), "11 of 10"});
  report.lost.push_back({OrderId(4), UserId(5), VoucherId(1), 1});
  EXPECT_NE(auditJson(report).find(
                R"("violations":[{"invariant":"NO_OVERSELL","voucherId":"1","text":"11 of 10"}])"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::server
