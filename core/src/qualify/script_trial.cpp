// A whole life of a voucher of two pieces: prepared, loaded, sold, synced, read, given back, deleted.
#include "qualify/script_trial.h"

#include <vector>

namespace sluice {

namespace {

struct Step {
  const RedisScript& script;
  RedisArgs keys;
  RedisArgs args;
  std::string_view expected;
};

// The words of a reply with blanks between, arrays in brackets left out.
std::string flat(RedisValue value) {
  if (!value.isArray())
    return value.isInteger() ? std::to_string(value.integer()) : std::string(value.text());
  std::string words;
  for (std::size_t k = 0; k < value.size(); ++k) {
    words += (k == 0 ? "" : " ") + flat(value[k]);
  }
  return words;
}

Status run(RedisConnection& connection, const Step& step, Deadline deadline) {
  const auto reply = connection.eval(step.script, step.keys, step.args, deadline);
  if (!reply) {
    const Error& error = reply.error();
    // A script that Redis runs and that fails there is not ours to repair.
    const bool refused = error.code == ErrorCode::Internal || error.code == ErrorCode::Corrupt;
    return Error{refused && !connection.broken() ? ErrorCode::Misconfigured : error.code, error.text};
  }
  const std::string answer = flat(reply.value().value());
  if (answer == step.expected) return {};
  return {ErrorCode::Misconfigured, "the script " + step.script.name() + " answered '" + answer +
                                        "' on trial, not '" + std::string(step.expected) +
                                        "'; is this a Redis of version 5.0 or newer?"};
}

Status loadScripts(RedisConnection& connection, const Scripts& scripts, Deadline deadline) {
  for (const RedisScript* script : scripts.all()) {
    const auto loaded = connection.call({"SCRIPT", "LOAD", script->source()}, deadline);
    if (!loaded) return loaded.error().during("load the script " + script->name());
  }
  return {};
}

Status runAll(RedisConnection& connection, const Scripts& scripts, const std::vector<std::string>& keys,
              Deadline deadline) {
  const std::string_view voucher = keys[0], holds = keys[1], eligible = keys[2], idempotency = keys[3],
                         journal = keys[4], preparedHolds = keys[5], preparedEligible = keys[6],
                         lease = keys[7], dead = keys[8], leader = keys[9];
  constexpr std::string_view kTenSeconds = "10000";  // also bounds what a killed process leaves behind
  const std::vector<Step> steps = {
      {scripts.loadHolds, {preparedHolds}, {kTenSeconds, "1", "1", "1"}, "1 1"},
      {scripts.load,
       {voucher, holds, eligible, idempotency, preparedHolds, preparedEligible},
       {"1", "1", "3", "1", "on_sale", "0", "2", "1", "1", "0", kTenSeconds},
       "loaded"},
      {scripts.qualify,
       {voucher, holds, eligible, idempotency, journal},
       {"1", "2", "1", "2", "2", "1", "trial-trial-trial"},
       "0"},
      {scripts.eligible, {voucher, eligible}, {"2"}, "added"},
      {scripts.sync,
       {voucher, holds, eligible, idempotency},
       {"2", "1", "3", "1", "paused", "0", "2", kTenSeconds},
       "applied"},
      {scripts.restore, {voucher, holds}, {"2", "2", "1"}, "0 0"},
      {scripts.snapshot, {voucher, holds}, {}, "2 2 0 2 paused 2"},
      {scripts.forgetKeys, {idempotency}, {"2:trial-trial-trial", "2"}, "1"},
      {scripts.release, {voucher, holds, idempotency}, {"1", "1", "2", "2"}, "released released"},
      {scripts.lead, {lease, leader}, {"1", kTenSeconds}, "taken 1"},
      {scripts.resign, {lease}, {"1"}, "1"},
      {scripts.setAside, {journal, dead}, {"1", "1", "1", "1-1", "on trial"}, "0"}};
  for (const Step& step : steps) {
    if (auto done = run(connection, step, deadline); !done) return done;
  }
  return {};
}

}  // namespace

Result<TrialReport> tryScripts(RedisConnection& connection, const Scripts& scripts,
                               const std::string& scratch, Deadline deadline) {
  if (auto loaded = loadScripts(connection, scripts, deadline); !loaded) return loaded.error();
  std::vector<std::string> keys;
  RedisArgs clean = {"DEL"};
  for (const char* name : {"voucher", "holds", "eligible", "keys", "orders", "prepared-holds",
                           "prepared-eligible", "lease", "dead", "leader"}) {
    keys.push_back(scratch + ":" + name);
  }
  clean.insert(clean.end(), keys.begin(), keys.end());
  const Status tried = runAll(connection, scripts, keys, deadline);
  const auto cleaned = connection.call(clean, deadline);
  // Full memory stops admissions, but holds must come back and reads must work: no reason not to start.
  if (!tried && tried.error().text.find("OOM") != std::string::npos) return TrialReport{tried.error().text};
  if (!tried) return tried.error();
  if (!cleaned) return cleaned.error();
  return TrialReport{};
}

}  // namespace sluice
