// What operators do with a voucher: create, change, sync, close, show. Loading it is in voucher_load.cpp.
//
// A voucher's settings stand twice: in the store, which decides at last, and in Redis, which promises first.
// Changing both is two steps, and admitted orders that are not stored yet (they are in the journal) know only
// Redis. So that none of them is refused:
//
// - What tightens (less stock, a lower limit) goes to Redis first. Redis counts every hold, stored or not,
// and refuses when more is
//   held than the new stock. Once it accepted, held <= new stock for all times, and live rows are a part of
//   what is held, so the store can follow. The other way round the store would accept by its rows alone, and
//   reject the orders that are still on their way.
// - What widens goes to the store first, or Redis would promise what the store does not have yet.
//
// A failure between the steps leaves Redis the tighter of the two: sold too little until it is finished,
// never too much. Redis is then ahead by a version that the store may give to other settings later. Redis
// takes only newer versions, so before that the store's version is raised to Redis' (overtake): one number
// never means two things for long.
#include "lifecycle/vouchers.h"

#include <cstdlib>
#include <utility>

#include "lifecycle/release.h"

namespace sluice {
namespace lifecycle {

Result<Voucher> findVoucher(Parts parts, VoucherId id, Deadline deadline) {
  const auto found = parts.store.findVoucher(id, deadline);
  if (!found) return found.error();
  if (!found.value()) return {ErrorCode::NotFound, "there is no voucher " + id.text()};
  return *found.value();
}

namespace {

bool same(const VoucherSettings& a, const VoucherSettings& b) {
  return a.title == b.title && a.begin == b.begin && a.end == b.end && a.limitPerUser == b.limitPerUser &&
         a.allocated == b.allocated && a.state == b.state && a.eligibleOnly == b.eligibleOnly;
}

// Raises the store's version, not its settings, to `version`.
Result<Voucher> overtake(Parts parts, Voucher voucher, std::int64_t version, Deadline deadline) {
  constexpr std::int64_t kStepsMax = 100;
  if (version - voucher.version > kStepsMax) {
    return {ErrorCode::Misconfigured,
            "Redis has version " + std::to_string(version) + " of voucher " + voucher.id.text() +
                ", the store " + std::to_string(voucher.version) +
                ": they do not belong together; check which store or Redis is the right one"};
  }
  while (voucher.version < version) {
    const auto raised = parts.store.updateVoucher(voucher.id, voucher.version, voucher.settings, deadline);
    if (!raised) return raised.error();
    voucher = raised.value();
  }
  return voucher;
}

bool inStep(const VoucherSnapshot& redis, const Voucher& store) {
  return redis.version == store.version && redis.allocated == store.settings.allocated &&
         redis.state == store.settings.state;
}

Result<Synced> apply(Parts parts, const Voucher& voucher, Deadline deadline) {
  const auto outcome = parts.qualifier.sync(voucher, deadline);
  return outcome ? Result(Synced{outcome.value(), voucher}) : outcome.error();
}

}  // namespace

Result<Synced> bringToRedis(Parts parts, const Voucher& voucher, bool justCreated, Deadline deadline) {
  auto applied = apply(parts, voucher, deadline);
  if (!applied || applied.value().outcome != SyncOutcome::NotNewer) return applied;
  const auto stored = findVoucher(parts, voucher.id, deadline);
  if (!stored) return stored.error();
  const auto redis = parts.qualifier.snapshot(voucher.id, deadline);
  if (!redis) return redis.error();
  // A version that we have just created and Redis has already is somebody's who failed half-way, perhaps with
  // other settings.
  const bool foreign = justCreated && stored.value().version == voucher.version;
  const bool overtaken = redis.value().version < stored.value().version;  // a newer one is on its way
  if (!redis.value().loaded || overtaken || (inStep(redis.value(), stored.value()) && !foreign))
    return applied;
  const auto raised = overtake(parts, stored.value(), redis.value().version + 1, deadline);
  return raised ? apply(parts, raised.value(), deadline) : raised.error();
}

}  // namespace lifecycle

namespace {

using lifecycle::bringToRedis;
using lifecycle::findVoucher;

std::string versionText(const Voucher& voucher) {
  return "version " + std::to_string(voucher.version) + " of voucher " + voucher.id.text();
}

Error changedMeanwhile(VoucherId id) {
  return {ErrorCode::Conflict,
          "voucher " + id.text() + " was changed at the same time: read it again and repeat the change"};
}

Error tooMuchHeld(const Voucher& voucher) {
  return {ErrorCode::Conflict, "more pieces of voucher " + voucher.id.text() +
                                   " are held or sold than the new stock of " +
                                   std::to_string(voucher.settings.allocated) + "; nothing was changed"};
}

Error redisKeepsOld(const Voucher& stored) {
  return {ErrorCode::Conflict,
          "the store has " + versionText(stored) +
              ", but Redis holds more pieces than its stock and keeps the old settings: raise the stock, or "
              "cancel orders and run sync"};
}

// The new settings, but stock and limit not above the old ones.
VoucherSettings tighter(const VoucherSettings& old, VoucherSettings settings) {
  settings.allocated = std::min(old.allocated, settings.allocated);
  settings.limitPerUser = std::min(old.limitPerUser, settings.limitPerUser);
  return settings;
}

bool tightens(const VoucherSettings& old, const VoucherSettings& settings) {
  return settings.allocated < old.allocated || settings.limitPerUser < old.limitPerUser;
}

// Store, then Redis.
Result<Voucher> widen(Parts parts, const Voucher& current, const VoucherSettings& settings,
                      Deadline deadline) {
  const auto stored = parts.store.updateVoucher(current.id, current.version, settings, deadline);
  if (!stored) return stored.error();
  const auto synced = bringToRedis(parts, stored.value(), true, deadline);
  if (!synced) {
    return {ErrorCode::Unavailable, "the store has " + versionText(stored.value()) +
                                        ", Redis not yet: run sync (" + synced.error().text + ")"};
  }
  if (synced.value().outcome == SyncOutcome::StockTooLow) return redisKeepsOld(synced.value().voucher);
  return synced.value().voucher;
}

// The store's step after Redis accepted.
Result<Voucher> followRedis(Parts parts, const Voucher& current, const VoucherSettings& settings,
                            Deadline deadline) {
  auto stored = parts.store.updateVoucher(current.id, current.version, settings, deadline);
  if (stored) return stored;
  if (stored.error().code != ErrorCode::Conflict) {
    return {
        stored.error().code,
        "Redis sells by the tighter settings already, the store did not answer: repeat the change, or run "
        "sync to go back (" +
            stored.error().text + ")"};
  }
  // Another change won in the store: Redis must follow that one. What fails here, the winner's own sync or
  // the next one does.
  const auto winner = findVoucher(parts, current.id, deadline);
  if (winner) (void)bringToRedis(parts, winner.value(), true, deadline);
  return changedMeanwhile(current.id);
}

// Redis, then store.
Result<Voucher> tighten(Parts parts, const Voucher& current, const VoucherSettings& settings,
                        Deadline deadline) {
  Voucher next = current;
  next.settings = settings;
  next.version += 1;
  if (current.remaining + settings.allocated < current.settings.allocated) return tooMuchHeld(next);
  const auto synced = parts.qualifier.sync(next, deadline);
  if (!synced)
    return synced.error().during("Redis must take a tighter setting first, the store was not changed");
  switch (synced.value()) {
    case SyncOutcome::Applied:
      return followRedis(parts, current, settings, deadline);
    case SyncOutcome::NotLoaded:
      return widen(parts, current, settings, deadline);  // nobody can be admitted: any order is right
    case SyncOutcome::StockTooLow:
      return tooMuchHeld(next);
    case SyncOutcome::NotNewer:
      break;
  }
  return changedMeanwhile(current.id);
}

// A Redis ahead of the store got an update that the store did not take. Redis away: the steps themselves will
// say so.
Result<Voucher> levelWithRedis(Parts parts, const Voucher& current, Deadline deadline) {
  const auto redis = parts.qualifier.snapshot(current.id, deadline);
  if (!redis || !redis.value().loaded) return current;
  return lifecycle::overtake(parts, current, redis.value().version, deadline);
}

// For a voucher that the store has closed already.
Result<Voucher> closeInRedis(Parts parts, const Voucher& closed, Deadline deadline) {
  const auto synced = bringToRedis(parts, closed, false, deadline);
  if (!synced) return synced.error().during("closed in the store, in Redis not yet; repeat it");
  return synced.value().outcome == SyncOutcome::StockTooLow ? Result<Voucher>(redisKeepsOld(closed)) : closed;
}

VoucherView viewOf(Parts parts, const Voucher& voucher, bool& redisAnswers, Deadline deadline) {
  if (!redisAnswers) return {voucher, std::nullopt};
  const auto snapshot = parts.qualifier.snapshot(voucher.id, deadline);
  // Damaged keys concern one voucher; anything else the server, and asking again for each voucher would only
  // cost time.
  redisAnswers = snapshot.ok() || snapshot.error().code == ErrorCode::Corrupt;
  return {voucher, snapshot ? std::optional(snapshot.value()) : std::nullopt};
}

Status addEligiblePage(Parts parts, VoucherId id, std::span<const UserId> users, Deadline deadline) {
  Status stored = parts.store.addEligible(id, users, deadline);
  if (!stored) return stored;
  const Status added = parts.qualifier.addEligible(id, users, deadline);
  // Not in Redis: the load brings all that the store lists.
  if (added || added.error().code == ErrorCode::NotFound) return {};
  return added.error().during("stored, but not in Redis yet; repeat it");
}

}  // namespace

Result<Voucher> Vouchers::create(VoucherId id, const VoucherSettings& settings, Deadline deadline) {
  if (const auto fault = faultOf(settings)) return {ErrorCode::InvalidArgument, *fault};
  return parts_.store.createVoucher(id, settings, deadline);
}

Result<Voucher> Vouchers::update(VoucherId id, std::int64_t expectedVersion, const VoucherSettings& settings,
                                 Deadline deadline) {
  if (const auto fault = faultOf(settings)) return {ErrorCode::InvalidArgument, *fault};
  const auto found = findVoucher(parts_, id, deadline);
  if (!found) return found.error();
  if (found.value().version != expectedVersion) {
    return {ErrorCode::Conflict, "the store has " + versionText(found.value()) + ", not version " +
                                     std::to_string(expectedVersion) +
                                     ": read it again and repeat the change"};
  }
  const auto level = levelWithRedis(parts_, found.value(), deadline);
  if (!level) return level.error();
  const VoucherSettings narrow = tighter(level.value().settings, settings);
  if (!tightens(level.value().settings, narrow)) return widen(parts_, level.value(), settings, deadline);
  auto tightened = tighten(parts_, level.value(), narrow, deadline);
  if (!tightened || lifecycle::same(narrow, settings)) return tightened;
  return widen(parts_, tightened.value(), settings, deadline);
}

Result<SyncOutcome> Vouchers::sync(VoucherId id, Deadline deadline) {
  const auto found = findVoucher(parts_, id, deadline);
  if (!found) return found.error();
  const auto synced = bringToRedis(parts_, found.value(), false, deadline);
  return synced ? Result(synced.value().outcome) : synced.error();
}

Result<Voucher> Vouchers::close(VoucherId id, Deadline deadline) {
  constexpr int kTries = 3;  // against updates at the same time
  Error lost = changedMeanwhile(id);
  for (int k = 0; k < kTries; ++k) {
    const auto found = findVoucher(parts_, id, deadline);
    if (!found) return found.error();
    VoucherSettings settings = found.value().settings;
    if (settings.state == VoucherState::Closed) return closeInRedis(parts_, found.value(), deadline);
    settings.state = VoucherState::Closed;
    auto closed = update(id, found.value().version, settings, deadline);
    if (closed || closed.error().code != ErrorCode::Conflict) return closed;
    lost = closed.error();
  }
  return lost;
}

Status Vouchers::addEligible(VoucherId id, std::span<const UserId> users, Deadline deadline) {
  while (!users.empty()) {
    const std::size_t page = std::min(users.size(), limits::kPageMax);
    Status added = addEligiblePage(parts_, id, users.first(page), deadline);
    if (!added) return added;
    users = users.subspan(page);
  }
  return {};
}

Result<VoucherView> Vouchers::show(VoucherId id, Deadline deadline) {
  const auto found = findVoucher(parts_, id, deadline);
  if (!found) return found.error();
  bool redisAnswers = true;
  return viewOf(parts_, found.value(), redisAnswers, deadline);
}

Result<std::vector<VoucherView>> Vouchers::list(VoucherId after, std::size_t max, Deadline deadline) {
  const auto found = parts_.store.listVouchers(after, std::min(max, limits::kPageMax), deadline);
  if (!found) return found.error();
  std::vector<VoucherView> views;
  bool redisAnswers = true;
  for (const Voucher& voucher : found.value()) {
    views.push_back(viewOf(parts_, voucher, redisAnswers, deadline));
  }
  return views;
}

}  // namespace sluice
