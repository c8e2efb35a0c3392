// See real_parts.h.
#include "integration/real_parts.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "sluice/limits.h"
#include "sluice/order_id.h"

#include "support/places.h"

namespace sluice::test {
namespace {

OptionMap defaultsOf(const PluginDescriptor& plugin) {
  std::vector<ConfigFault> faults;
  OptionMap options = checkOptions({plugin.options, plugin.optionCount}, {}, "", faults);
  EXPECT_TRUE(faults.empty());
  return options;
}

const PluginDescriptor& load(PluginLoader& loader, PluginKind kind, const std::string& name) {
  const auto plugin = loader.load(kind, name);
  if (!plugin) throw std::runtime_error(plugin.error().text);
  return *plugin.value();
}

void expectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.error().text; }

}  // namespace

RealParts::RealParts(std::size_t consumers) : loader_(places::plugins()) {
  LuaQualifierOptions options;
  options.target = redis_.target();
  qualifier_ = makeLuaQualifier(options, systemClock(), systemRandom(), noLog());
  makeStore();
  makeQueue(consumers);
  expectOk(store_->migrate(inTime()));
  expectOk(store_->start(inTime()));
  expectOk(qualifier_->start(inTime()));
  expectOk(queue_->start(inTime()));
  trust();
}

RealParts::~RealParts() {
  queue_->close();
  qualifier_->stop();
  store_->close();
}

void RealParts::makeStore() {
  const PluginDescriptor& plugin = load(loader_, PluginKind::Store, "sqlite");
  const OptionMap options = defaultsOf(plugin);
  store_ = plugin.makeStore({options, noLog(), systemClock(), systemRandom(), folder_.path()}).take();
}

void RealParts::makeQueue(std::size_t consumers) {
  const PluginDescriptor& plugin = load(loader_, PluginKind::Queue, "stream");
  const OptionMap options = defaultsOf(plugin);
  queue_ = plugin
               .makeQueue({options, noLog(), systemClock(), systemRandom(), redis_.target(), "sluice", "test",
                           consumers, true, 1000000})
               .take();
}

void RealParts::trust() {
  const auto health = qualifier_->probe(inTime());
  ASSERT_TRUE(health.ok()) << health.error().text;
  qualifier_->trust(health.value().identity);
}

void RealParts::sql(const std::string& statement) const {
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.file("sluice.db").c_str(), &file), SQLITE_OK);
  sqlite3_busy_timeout(file, 10000);
  const std::string unchecked =
      "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; " + statement;
  char* error = nullptr;
  const int done = sqlite3_exec(file, unchecked.c_str(), nullptr, nullptr, &error);
  EXPECT_EQ(done, SQLITE_OK) << (error == nullptr ? "" : error);
  sqlite3_free(error);
  sqlite3_close(file);
}

VoucherId RealParts::sell(std::int64_t stock, std::int32_t limitPerUser) {
  VoucherSettings settings;
  settings.title = "Coffee for two";
  settings.begin = systemClock().now() - std::chrono::hours(1);
  settings.end = systemClock().now() + std::chrono::hours(24);
  settings.limitPerUser = limitPerUser;
  settings.allocated = stock;
  Vouchers vouchers(parts());
  const auto created = vouchers.create(VoucherId(), settings, inTime());
  if (!created) throw std::runtime_error(created.error().text);
  const auto loaded = vouchers.load(created.value().id, inTime());
  if (!loaded) throw std::runtime_error(loaded.error().text);
  return created.value().id;
}

OrderId RealParts::newId() {
  // As the generator: the sequence fills the milliseconds, so ids never repeat.
  const std::int32_t number = ++sequence_;
  return joinOrderId({systemClock().now(), 1023 - (number >> kOrderIdSequenceBits) % 512,
                      number % (1 << kOrderIdSequenceBits)});
}

Decision RealParts::ask(VoucherId voucher, OrderId order, UserId user, std::int32_t quantity) {
  const QualifyRequest request{order, user, quantity, {}};
  Decision decision;
  const Status asked =
      qualifier_->decide(voucher, {&request, 1}, systemClock().now(), {&decision, 1}, inTime());
  EXPECT_TRUE(asked.ok()) << asked.error().text;
  return decision;
}

OrderId RealParts::admit(VoucherId voucher, UserId user, std::int32_t quantity) {
  const OrderId order = newId();
  const Decision decision = ask(voucher, order, user, quantity);
  EXPECT_EQ(decision.verdict, Verdict::Admitted) << verdictName(decision.verdict);
  return order;
}

std::size_t RealParts::work(std::size_t slot) {
  const auto batch = queue_->receive(slot, limits::kReceiveBatchMax, Deadline::in(milliseconds(20)));
  if (!batch || batch.value().empty()) return 0;
  std::vector<Admission> admissions;
  std::vector<Settlement> settlements;
  for (const Delivery& delivery : batch.value()) {
    admissions.push_back(delivery.admission);
    settlements.push_back({delivery.token, SettleKind::Done, milliseconds(0), true, {}});
  }
  const UtcTime now = systemClock().now();
  const auto outcomes = store_->persist(admissions, now, now + std::chrono::minutes(15), inTime());
  EXPECT_TRUE(outcomes.ok()) << outcomes.error().text;
  EXPECT_TRUE(releaseStep(parts(), limits::kPageMax, inTime()).ok());
  EXPECT_TRUE(queue_->settle(slot, settlements, inTime()).ok());
  return admissions.size();
}

OrderId RealParts::buy(VoucherId voucher, UserId user, std::int32_t quantity) {
  const OrderId order = admit(voucher, user, quantity);
  workAll();
  return order;
}

void RealParts::deadLetterOne() {
  const auto batch = queue_->receive(0, 1, inTime());
  ASSERT_TRUE(batch.ok());
  ASSERT_EQ(batch.value().size(), 1U);
  const Settlement settlement{batch.value()[0].token, SettleKind::DeadLetter, milliseconds(0), true,
                              "for the test"};
  ASSERT_TRUE(queue_->settle(0, {&settlement, 1}, inTime()).ok());
}

RecoveryReport RealParts::recover() {
  const auto report = recoverHolds(parts(), std::chrono::minutes(5), inTime());
  EXPECT_TRUE(report.ok()) << report.error().text;
  trust();
  return report ? report.value() : RecoveryReport();
}

VoucherSnapshot RealParts::snapshot(VoucherId voucher) {
  const auto seen = qualifier_->snapshot(voucher, inTime());
  EXPECT_TRUE(seen.ok()) << seen.error().text;
  return seen ? seen.value() : VoucherSnapshot();
}

}  // namespace sluice::test
