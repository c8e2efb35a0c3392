// Measures the qualifier alone: requests a second and time of the script by size of the batch, on a private
// Redis.
//
// Usage:    qualify_bench [--benchmark_filter=...] [--benchmark_format=json]
// Figures:  items_per_second  requests a second, as the caller sees it script_us         time inside Redis
//           for one call, from its own command statistics: how long everybody else waits request_us
//           the same, divided by the size of the batch
// Bounded:  each case decides a fixed number of requests and ends its server with itself.
#include <charconv>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "sluice/limits.h"
#include "sluice/lua_qualifier.h"

#include "qualify/qualify_call.h"
#include "qualify/scripts.h"
#include "qualify/server_facts.h"
#include "support/private_redis.h"

namespace sluice {
namespace {

constexpr VoucherId kVoucher{1};
constexpr std::int64_t kFirstUser = 1'000'000'000;
constexpr std::int64_t kRequests = 64 * 1024;  // in a case
constexpr std::string_view kBusiest = "cmdstat_evalsha";

Deadline soon() { return Deadline::in(milliseconds(60000)); }

// Stops the case with the error's text.
template <typename T>
bool worked(benchmark::State& state, const Result<T>& result) {
  if (!result.ok()) state.SkipWithError(result.error().text.c_str());
  return result.ok();
}

// What is sold, and what the requests make the script look at.
struct Setup {
  std::int64_t stock = limits::kAllocatedMax;
  std::vector<std::string> redisArguments;
  // Above 0: the same users ask in every batch, each has so many orders already, is looked up as eligible,
  // and sends a key.
  std::int64_t earlierOrders = 0;
};

// A server with one voucher on sale, and a qualifier that may admit on it.
struct Sale {
  Sale(benchmark::State& state, const Setup& wanted) : setup(wanted), redis(wanted.redisArguments) {
    LuaQualifierOptions options;
    options.target = redis.target();
    qualifier = makeLuaQualifier(options, systemClock(), systemRandom(), noLog());
    if (!worked(state, qualifier->start(soon()))) return;
    const auto health = qualifier->probe(soon());
    if (!worked(state, health)) return;
    qualifier->trust(health.value().identity);
    ready = worked(state, qualifier->load(voucher(state.range(0)), soon()));
    redis.command({"CONFIG", "RESETSTAT"});
  }

  VoucherLoad voucher(std::int64_t users) {
    VoucherLoad load;
    const UtcTime now = systemClock().now();
    load.voucher.id = kVoucher;
    load.voucher.settings.begin = now - std::chrono::hours(1);
    load.voucher.settings.end = now + std::chrono::hours(1);
    load.voucher.settings.allocated = setup.stock;
    if (setup.earlierOrders == 0) return load;
    load.voucher.settings.limitPerUser = limits::kLimitPerUserMax;
    load.voucher.settings.eligibleOnly = true;
    load.nextLiveOrders = [this, users, round = std::int64_t{0}]() mutable -> Result<std::vector<Order>> {
      std::vector<Order> page;
      for (std::int64_t k = 0; k < users && round < setup.earlierOrders; ++k) {
        page.emplace_back();
        page.back().id = nextOrder();
        page.back().user = UserId(kFirstUser + k);
        page.back().voucher = kVoucher;
      }
      ++round;
      return page;
    };
    load.nextEligible = [users, done = false]() mutable -> Result<std::vector<UserId>> {
      std::vector<UserId> page;
      for (std::int64_t k = 0; k < users && !done; ++k) {
        page.emplace_back(kFirstUser + k);
      }
      done = true;
      return page;
    };
    return load;
  }

  OrderId nextOrder() { return OrderId((std::int64_t{1} << 61) + ++last); }  // as long as real ones

  // The next `count` requests; see Setup for who asks.
  std::span<const QualifyRequest> next(std::size_t count) {
    requests.resize(count);
    keys.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      QualifyRequest& request = requests[k];
      request.order = nextOrder();
      request.user = UserId(kFirstUser + (setup.earlierOrders > 0 ? static_cast<std::int64_t>(k) : last));
      if (setup.earlierOrders == 0) continue;
      keys[k] = "checkout-" + request.order.text();
      request.idempotencyKey = keys[k];
    }
    return requests;
  }

  // Microseconds of a call inside Redis since the start of the measurement.
  double scriptMicroseconds() {
    const std::string statistics = redis.text({"INFO", "commandstats"});
    const std::string_view line = infoField(statistics, kBusiest);
    constexpr std::string_view kField = "usec_per_call=";
    const std::size_t at = line.find(kField);
    double value = 0;
    if (at != std::string_view::npos)
      std::from_chars(line.data() + at + kField.size(), line.data() + line.size(), value);
    return value;
  }

  void report(benchmark::State& state, std::size_t batch) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
    const double script = scriptMicroseconds();
    state.counters["script_us"] = script;
    state.counters["request_us"] = script / static_cast<double>(batch);
  }

  const Setup setup;
  test::PrivateRedis redis;
  std::unique_ptr<Qualifier> qualifier;
  std::vector<QualifyRequest> requests;
  std::vector<std::string> keys;
  std::int64_t last = 0;
  bool ready = false;
};

// Through the qualifier: what the gate pays.
void decideBatches(benchmark::State& state, const Setup& setup) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  Sale sale(state, setup);
  std::vector<Decision> decisions(batch);
  for (auto step : state) {
    static_cast<void>(step);
    if (!sale.ready) break;
    const auto requests = sale.next(batch);
    if (!worked(state, sale.qualifier->decide(kVoucher, requests, systemClock().now(), decisions, soon())))
      break;
  }
  sale.report(state, batch);
}

void admitted(benchmark::State& state) { decideBatches(state, {}); }
void admittedSyncedEach(benchmark::State& state) {
  decideBatches(state, {.redisArguments = {"--appendfsync", "always"}});
}
void soldOut(benchmark::State& state) { decideBatches(state, {.stock = 0, .redisArguments = {}}); }

// The bare script's words for a batch.
class ScriptCall {
 public:
  ScriptCall() : keys_(RedisKeys("sluice"), kVoucher), now_(std::to_string(toMillis(systemClock().now()))) {}
  RedisArgs keys() const { return {keys_.names.begin(), keys_.names.end()}; }
  RedisArgs args(std::span<const QualifyRequest> requests) {
    words_.assign({kVoucher.text(), now_, "1000000000"});
    for (const QualifyRequest& request : requests) {
      words_.insert(words_.end(),
                    {request.order.text(), request.user.text(), "1", std::string(request.idempotencyKey)});
    }
    return {words_.begin(), words_.end()};
  }

 private:
  VoucherKeys keys_;
  std::string now_;
  std::vector<std::string> words_;
};

// The bare script, also with batches that the qualifier refuses.
void script(benchmark::State& state, const Setup& setup) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  Sale sale(state, setup);
  const Scripts scripts;
  ScriptCall call;
  auto connection = RedisConnection::connect(sale.redis.target(), soon());
  if (!worked(state, connection)) return;
  for (auto step : state) {
    static_cast<void>(step);
    const RedisArgs args = call.args(sale.next(batch));
    if (!worked(state, connection.value()->eval(scripts.qualify, call.keys(), args, soon()))) break;
  }
  sale.report(state, batch);
}

void scriptAdmitted(benchmark::State& state) { script(state, {}); }
void scriptSoldOut(benchmark::State& state) { script(state, {.stock = 0, .redisArguments = {}}); }
void scriptAllChecks(benchmark::State& state) { script(state, {.redisArguments = {}, .earlierOrders = 100}); }

// What it would cost without a loop in the script: as many calls as requests, all in one write.
void scriptOneByOne(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  Sale sale(state, {});
  const Scripts scripts;
  std::vector<ScriptCall> calls(batch);
  auto connection = RedisConnection::connect(sale.redis.target(), soon());
  if (!worked(state, connection)) return;
  for (auto step : state) {
    static_cast<void>(step);
    const auto requests = sale.next(batch);
    std::vector<RedisArgs> commands;
    for (std::size_t k = 0; k < batch; ++k) {
      commands.push_back({"EVALSHA", scripts.qualify.sha(), "5"});
      const RedisArgs keys = calls[k].keys();
      const RedisArgs args = calls[k].args(requests.subspan(k, 1));
      commands.back().insert(commands.back().end(), keys.begin(), keys.end());
      commands.back().insert(commands.back().end(), args.begin(), args.end());
    }
    if (!worked(state, connection.value()->pipeline(commands, soon()))) break;
  }
  sale.report(state, 1);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

using Case = void (*)(benchmark::State&);

// One case for each size; all of them decide the same number of requests.
void registerSizes(const std::string& name, Case run, std::initializer_list<std::int64_t> batches,
                   std::int64_t requests) {
  for (const std::int64_t batch : batches) {
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->ArgName("batch")
        ->Arg(batch)
        ->Iterations(std::max<std::int64_t>(requests / batch, 1))
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace sluice

int main(int count, char** words) {
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 2;
  using namespace sluice;  // NOLINT(google-build-using-namespace): main stands outside, its cases inside
  registerSizes("qualifier/admitted", admitted, {1, 8, 64}, kRequests);
  registerSizes("qualifier/sold_out", soldOut, {1, 8, 64}, kRequests);
  // Each call waits for the disk: fewer of them.
  registerSizes("qualifier/admitted_synced_each", admittedSyncedEach, {1, 8, 64}, kRequests / 16);
  registerSizes("script/admitted", scriptAdmitted, {1, 2, 4, 8, 16, 32, 64, 128, 256}, kRequests);
  registerSizes("script/admitted_one_by_one", scriptOneByOne, {64}, kRequests);
  // Every user has 100 orders and more: the longest call that a voucher with a high limit brings about.
  registerSizes("script/admitted_all_checks", scriptAllChecks, {1}, 16);
  registerSizes("script/admitted_all_checks", scriptAllChecks, {64}, 64 * 16);
  registerSizes("script/sold_out", scriptSoldOut, {1, 8, 64, 128, 256}, kRequests);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
