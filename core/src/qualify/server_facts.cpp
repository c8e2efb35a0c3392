// INFO, CONFIG GET, TIME and XLEN in one pipeline, and what follows from them.
#include "qualify/server_facts.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "sluice/limits.h"

namespace sluice {

namespace {

constexpr int kOldestMajor = 5;  // streams exist since 5.0

std::int64_t numberIn(std::string_view text) noexcept {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The value in a reply of CONFIG GET with one name; empty where the server does not say.
std::string settingIn(RedisValue reply) {
  return std::string(reply.size() == 2 ? reply[1].text() : std::string_view());
}

struct AppendOnly {
  std::string on;
  std::string fsync;
  std::string pauseOnRewrite;  // no-appendfsync-on-rewrite
};

// The level that these settings give at their worst moment, with a warning for what weakens it.
Durability durabilityOf(const AppendOnly& settings, std::string_view info,
                        std::vector<std::string>& warnings) {
  const bool seen = !settings.on.empty() && !settings.fsync.empty() && !settings.pauseOnRewrite.empty();
  if (!seen) {
    warnings.emplace_back(
        "redis does not show its append-only settings (CONFIG GET refused): durability counts as L0");
    return Durability::L0;
  }
  if (settings.on != "yes" || infoField(info, "aof_enabled") != "1") {
    warnings.emplace_back(
        "redis keeps nothing on disk (appendonly no): a crash of redis loses what the store has not yet");
    return Durability::L0;
  }
  if (infoField(info, "aof_last_write_status") == "err") {
    warnings.emplace_back("redis cannot write its append-only file; see its log, is the disk full?");
    return Durability::L0;
  }
  if (settings.fsync == "no") {
    warnings.emplace_back(
        "appendfsync no: redis never syncs its append-only file itself; use everysec or always");
    return Durability::L0;
  }
  if (settings.pauseOnRewrite != "no") {
    warnings.emplace_back(
        "no-appendfsync-on-rewrite yes: nothing is synced while the append-only file is rewritten; set it to "
        "no");
    return Durability::L0;
  }
  return settings.fsync == "always" ? Durability::L2 : Durability::L1;
}

UtcTime readTime(RedisValue reply) {
  return fromMillis(reply[0].integer() * 1000 + reply[1].integer() / 1000);
}

void readInfo(std::string_view info, ServerFacts& facts) {
  facts.identity =
      std::string(infoField(info, "run_id")) + "/" + std::string(infoField(info, "master_replid"));
  facts.version = infoField(info, "redis_version");
  facts.evictionPolicy = infoField(info, "maxmemory_policy");
  facts.replica = infoField(info, "role") != "master";
  facts.loading = infoField(info, "loading") == "1";
  facts.usedMemoryBytes = numberIn(infoField(info, "used_memory"));
}

void warnAboutClock(ServerFacts& facts) {
  if (std::chrono::abs(facts.clockSkew) <= limits::kClockSkewNotReady) return;
  facts.warnings.push_back(
      "the clock of redis differs from ours by " + std::to_string(facts.clockSkew.count()) + " ms; above " +
      std::to_string(limits::kClockSkewRefuse.count()) + " ms nothing is admitted: synchronize both clocks");
}

}  // namespace

std::string_view infoField(std::string_view info, std::string_view name) noexcept {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find('\n', at), info.size());
    std::string_view line = info.substr(at, end - at);
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == ':') {
      line.remove_prefix(name.size() + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      return line;
    }
    at = end + 1;
  }
  return {};
}

milliseconds certainSkew(UtcTime redis, UtcTime before, UtcTime after) noexcept {
  if (redis < before) return redis - before;
  return redis > after ? redis - after : milliseconds(0);
}

Result<ServerFacts> askServer(RedisConnection& connection, const std::string& journalKey,
                              const std::string& deadKey, const Clock& clock, Deadline deadline) {
  const std::array<RedisArgs, 7> questions = {RedisArgs{"INFO"},
                                              RedisArgs{"CONFIG", "GET", "appendonly"},
                                              RedisArgs{"CONFIG", "GET", "appendfsync"},
                                              RedisArgs{"CONFIG", "GET", "no-appendfsync-on-rewrite"},
                                              RedisArgs{"TIME"},
                                              RedisArgs{"XLEN", journalKey},
                                              RedisArgs{"XLEN", deadKey}};
  const UtcTime before = clock.now();
  const auto asked = connection.pipeline(questions, deadline);
  const UtcTime after = clock.now();
  if (!asked) return asked.error().during("ask redis about itself");
  const std::vector<RedisReply>& replies = asked.value();
  for (const std::size_t needed : {std::size_t{0}, std::size_t{4}}) {
    const RedisValue reply = replies[needed].value();
    if (reply.isError()) return redisError(reply.text()).during("ask redis about itself");
  }
  ServerFacts facts;
  const std::string_view info = replies[0].value().text();
  readInfo(info, facts);
  const AppendOnly settings{settingIn(replies[1].value()), settingIn(replies[2].value()),
                            settingIn(replies[3].value())};
  facts.durability = durabilityOf(settings, info, facts.warnings);
  facts.clockSkew = certainSkew(readTime(replies[4].value()), before, after);
  warnAboutClock(facts);
  const RedisValue depth = replies[5].value();
  facts.journalDepth = depth.integer();
  if (depth.isError() && !facts.loading)
    facts.warnings.push_back("the journal cannot be read: " + std::string(depth.text()));
  facts.asideDepth = replies[6].value().integer();
  return facts;
}

Status judgeServer(const ServerFacts& facts) {
  if (facts.loading) return {ErrorCode::Unavailable, "redis is loading its data"};
  if (numberIn(facts.version) < kOldestMajor) {
    return {ErrorCode::Misconfigured, "redis is version " + facts.version + "; 5.0 or newer is needed"};
  }
  if (facts.evictionPolicy != "noeviction") {
    return {ErrorCode::Misconfigured,
            "redis has maxmemory-policy " + facts.evictionPolicy +
                ", which throws away holds when memory is full; set it to noeviction"};
  }
  if (facts.replica) return {ErrorCode::Unavailable, "redis is a replica; the qualifier needs the master"};
  return {};
}

}  // namespace sluice
