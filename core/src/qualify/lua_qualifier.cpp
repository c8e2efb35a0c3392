// The calls that carry the sale: start, probe, trust, decide. Holds and settings are in
// lua_qualifier_keep.cpp, the journal in lua_qualifier_journal.cpp.
#include "qualify/lua_qualifier.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sluice/limits.h"

#include "qualify/lua_qualifier_calls.h"
#include "qualify/script_trial.h"

namespace sluice {

namespace {

constexpr std::string_view kComponent = "qualifier";

std::uint64_t nextInstance() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Error withCode(ErrorCode code, const Error& error) { return {code, error.text}; }

}  // namespace

std::unique_ptr<Qualifier> makeLuaQualifier(LuaQualifierOptions options, const Clock& clock, Random& random,
                                            Log& log) {
  return std::make_unique<LuaQualifier>(std::move(options), clock, random, log);
}

LuaQualifier::LuaQualifier(LuaQualifierOptions options, const Clock& clock, Random& random, Log& log)
    : options_(std::move(options)),
      clock_(clock),
      random_(random),
      log_(log),
      keys_(options_.keyPrefix),
      instance_(nextInstance()),
      pool_(options_.target, std::max<std::size_t>(options_.connections, 1), random,
            [this](RedisConnection& connection, Deadline deadline) { return look(connection, deadline); }),
      waiting_(options_.target, 1, random, [this](RedisConnection& connection, Deadline deadline) {
        return look(connection, deadline);
      }) {}

Status LuaQualifier::start(Deadline deadline) {
  auto lease = acquire(deadline);
  if (!lease) return lease.error();
  const auto tried = tryScripts(*lease.value(), scripts_, scratch("try"), deadline);
  if (!tried) {
    // Scratch keys aside nothing was touched, so nothing that matters may have happened.
    const bool unknown = tried.error().code == ErrorCode::OutcomeUnknown;
    return unknown ? withCode(ErrorCode::Unavailable, tried.error()) : tried.error();
  }
  if (!tried.value().skippedBecause.empty()) {
    log_.warning(kComponent, "the scripts are loaded but were not tried: " + tried.value().skippedBecause);
  }
  return {};
}

void LuaQualifier::stop() noexcept {
  waiting_.stop();
  pool_.stop();
}

Status LuaQualifier::look(RedisConnection& connection, Deadline deadline) {
  const auto facts = askServer(connection, keys_.journal(), keys_.dead(), clock_, deadline);
  return facts ? note(connection, facts.value()) : facts.error();
}

Status LuaQualifier::note(RedisConnection& connection, const ServerFacts& facts) {
  const std::uint64_t before = trust_.current();
  connection.setTag(trust_.seen(facts.identity));
  if (before != 0 && connection.tag() != before) {
    log_.warning(
        kComponent,
        "redis was restarted or is another server now; nothing is admitted until its holds are checked");
  }
  skewMs_.store(facts.clockSkew.count(), std::memory_order_relaxed);
  Status fit = judgeServer(facts);
  fit_.store(fit.ok(), std::memory_order_relaxed);
  return fit;
}

Result<QualifierHealth> LuaQualifier::probe(Deadline deadline) {
  return reading(deadline, [&](RedisConnection& connection) -> Result<QualifierHealth> {
    const auto asked = askServer(connection, keys_.journal(), keys_.dead(), clock_, deadline);
    if (!asked) return asked.error();
    const ServerFacts& facts = asked.value();
    if (auto fit = note(connection, facts); !fit) return fit.error();
    QualifierHealth health;
    health.identity = facts.identity;
    health.trusted = trust_.mayAdmit(connection.tag());
    health.durability = facts.durability;
    health.clockSkew = facts.clockSkew;
    health.journalDepth = facts.journalDepth;
    health.asideDepth = facts.asideDepth;
    health.usedMemoryBytes = facts.usedMemoryBytes;
    health.warnings = facts.warnings;
    return health;
  });
}

void LuaQualifier::trust(const std::string& identity) { trust_.trust(identity); }

Result<RedisPool::Lease> LuaQualifier::acquire(RedisPool& pool, Deadline deadline) {
  for (std::size_t attempt = 0; attempt <= options_.connections; ++attempt) {
    auto lease = pool.acquire(deadline);
    if (!lease || trust_.isCurrent(lease.value()->tag())) return lease;
    lease.value()->abandon();
  }
  return {ErrorCode::Unavailable, pool.target().text() + ": several servers answer in turn"};
}

std::string LuaQualifier::scratch(std::string_view what) {
  std::array<char, 16> hex{};
  const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), random_.next(), 16).ptr;
  return keys_.other(std::string(what) + ":" + std::string(hex.data(), end));
}

Status LuaQualifier::decide(VoucherId voucher, std::span<const QualifyRequest> requests, UtcTime now,
                            std::span<Decision> decisions, Deadline deadline) {
  if (requests.empty() || requests.size() > limits::kQualifyBatchMax || decisions.size() != requests.size()) {
    return {ErrorCode::InvalidArgument, "a batch has 1 to " + std::to_string(limits::kQualifyBatchMax) +
                                            " requests and as many decisions"};
  }
  QualifyCall& call = QualifyCall::forThisThread();
  call.prepare(instance_, keys_, voucher, requests, now, options_.journal ? options_.journalMax : 0);
  Status decided = ask(call, requests, decisions, deadline);
  if (!decided) errors_.fetch_add(1, std::memory_order_relaxed);
  return decided;
}

Status LuaQualifier::mayAdmit(const RedisConnection& connection) const {
  if (!trust_.mayAdmit(connection.tag())) {
    return {ErrorCode::Unavailable,
            "redis was restarted or is new here, and its holds have not been checked yet"};
  }
  if (!fit_.load(std::memory_order_relaxed)) {
    return {ErrorCode::Unavailable, "redis has settings on which nothing may be sold; see the readiness"};
  }
  const milliseconds skew(skewMs_.load(std::memory_order_relaxed));
  if (std::chrono::abs(skew) > limits::kClockSkewRefuse) {
    return {ErrorCode::Unavailable,
            "the clock of redis differs from ours by " + std::to_string(skew.count()) + " ms"};
  }
  return {};
}

// Asks until there is an answer: again on another connection where nothing was sent, and once more where
// the outcome is unknown, because the same order ids get the first answer.
Status LuaQualifier::ask(const QualifyCall& call, std::span<const QualifyRequest> requests,
                         std::span<Decision> decisions, Deadline deadline) {
  std::optional<Error> unknown;
  for (std::size_t attempt = 0;; ++attempt) {
    auto lease = acquire(deadline);
    Status answer = lease ? mayAdmit(*lease.value()) : lease.error();
    const bool asked = answer.ok();
    if (asked) answer = askOnce(*lease.value(), call, requests, decisions, deadline);
    if (answer.ok()) {
      if (unknown) claimOwn(requests, decisions);
      return answer;
    }
    const bool unsent = asked && answer.error().code == ErrorCode::Unavailable && lease.value()->broken();
    const bool firstUnknown = answer.error().code == ErrorCode::OutcomeUnknown && !unknown;
    if (firstUnknown) unknown = answer.error();
    const bool again = (unsent && attempt < options_.connections) || firstUnknown;
    if (!again || deadline.passed()) return unknown ? Status(*unknown) : answer;
  }
}

// After an unknown outcome an admission under the asked id was taken by the first of the two questions: it
// is this call's own.
void LuaQualifier::claimOwn(std::span<const QualifyRequest> requests,
                            std::span<Decision> decisions) noexcept {
  for (std::size_t k = 0; k < requests.size(); ++k) {
    Decision& decision = decisions[k];
    decision.fresh =
        decision.fresh || (decision.verdict == Verdict::Admitted && decision.order == requests[k].order);
  }
}

Status LuaQualifier::askOnce(RedisConnection& connection, const QualifyCall& call,
                             std::span<const QualifyRequest> requests, std::span<Decision> decisions,
                             Deadline deadline) {
  const auto sent = std::chrono::steady_clock::now();
  const auto reply = connection.eval(scripts_.qualify, call.keys(), call.args(), deadline);
  const auto took = std::chrono::steady_clock::now() - sent;
  // A reply that cannot be read says nothing about what the script did.
  const auto failed = [](const Error& error) {
    return error.code == ErrorCode::Corrupt ? withCode(ErrorCode::OutcomeUnknown, error) : error;
  };
  if (!reply) return failed(reply.error());
  const auto why = readDecisions(reply.value().value(), requests, decisions);
  if (!why) return failed(why.error());
  batches_.fetch_add(1, std::memory_order_relaxed);
  requests_.fetch_add(requests.size(), std::memory_order_relaxed);
  scriptNanoseconds_.fetch_add(static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count()),
                               std::memory_order_relaxed);
  reportFrozen(decisions, call.keys().front(), why.value());
  return {};
}

void LuaQualifier::reportFrozen(std::span<const Decision> decisions, std::string_view voucherKey,
                                std::string_view why) {
  const bool frozen = std::any_of(decisions.begin(), decisions.end(), [](const Decision& decision) {
    return decision.verdict == Verdict::Frozen;
  });
  if (!frozen) return;
  const std::string_view reason = why.empty() ? "a hold or an idempotency key of a user is unreadable" : why;
  log_.repeated(
      LogLevel::Error, kComponent, "frozen",
      std::string(voucherKey) + " is frozen, somebody else wrote to its keys: " + std::string(reason));
}

QualifierStats LuaQualifier::stats() const noexcept {
  QualifierStats stats;
  stats.batches = batches_.load(std::memory_order_relaxed);
  stats.requests = requests_.load(std::memory_order_relaxed);
  stats.scriptNanoseconds = scriptNanoseconds_.load(std::memory_order_relaxed);
  stats.reconnects = pool_.reconnects() + waiting_.reconnects();
  stats.errors = errors_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace sluice
