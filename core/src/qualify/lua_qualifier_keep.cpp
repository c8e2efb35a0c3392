// The calls that keep holds and settings: release, restore, load, sync, the reads. Those of the journal are in
// lua_qualifier_journal.cpp.
#include <algorithm>
#include <map>
#include <optional>

#include "sluice/limits.h"

#include "qualify/hold_text.h"
#include "qualify/lua_qualifier.h"
#include "qualify/lua_qualifier_calls.h"
#include "qualify/voucher_loader.h"

namespace sluice {

namespace {

// Orders in one call of a script that runs beside a sale, for the reason that kQualifyBatchMax has.
constexpr std::size_t kOrdersInCall = limits::kQualifyBatchMax;
// Users in a page of holds; HSCAN may answer somewhat more.
constexpr std::string_view kUsersInScan = "250";

// A script answers an array with one text where keys contradict each other or cannot be read.
Error unreadable(VoucherId voucher, std::string_view why) {
  return {ErrorCode::Corrupt, "voucher " + voucher.text() + " in redis is damaged: " + std::string(why) +
                                  "; delete its keys and load it again"};
}

// Positions of the orders of each voucher, in the order given.
template <typename OrderLike>
std::map<VoucherId, std::vector<std::size_t>> byVoucher(std::span<const OrderLike> orders) {
  std::map<VoucherId, std::vector<std::size_t>> positions;
  for (std::size_t k = 0; k < orders.size(); ++k) {
    positions[orders[k].voucher].push_back(k);
  }
  return positions;
}

// Calls `work` for at most kOrdersInCall positions of one voucher at a time. A damaged voucher does not
// keep the others waiting; its error comes at the end. Any other error ends it at once.
template <typename OrderLike, typename Work>
Status forEachCall(std::span<const OrderLike> orders, Work work) {
  Status damaged;
  for (const auto& [voucher, positions] : byVoucher(orders)) {
    for (std::size_t at = 0; at < positions.size(); at += kOrdersInCall) {
      const auto count = std::min(kOrdersInCall, positions.size() - at);
      Status done = work(voucher, std::span(positions).subspan(at, count));
      if (done.ok()) continue;
      if (done.error().code != ErrorCode::Corrupt) return done;
      damaged = done;
      break;
    }
  }
  return damaged;
}

Status readOutcomes(std::string_view words, std::span<const std::size_t> which,
                    std::vector<ReleaseOutcome>& outcomes) {
  for (const std::size_t position : which) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    if (word != "released" && word != "absent")
      return {ErrorCode::Corrupt, "the release script answered something else"};
    outcomes[position] = word == "released" ? ReleaseOutcome::Released : ReleaseOutcome::Absent;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return {};
}

}  // namespace

Result<RedisReply> LuaQualifier::eval(const RedisScript& script, const RedisArgs& keys,
                                      const std::vector<std::string>& args, Deadline deadline) {
  return onConnection(deadline, [&](RedisConnection& connection) {
    return connection.eval(script, keys, RedisArgs(args.begin(), args.end()), deadline);
  });
}

Result<std::vector<ReleaseOutcome>> LuaQualifier::release(std::span<const Admission> orders,
                                                          Deadline deadline) {
  std::vector<ReleaseOutcome> outcomes(orders.size(), ReleaseOutcome::NotLoaded);
  const Status done = forEachCall(orders, [&](VoucherId voucher, std::span<const std::size_t> which) {
    return releaseSome(voucher, orders, which, outcomes, deadline);
  });
  if (!done) return done.error();
  return outcomes;
}

Status LuaQualifier::releaseSome(VoucherId voucher, std::span<const Admission> orders,
                                 std::span<const std::size_t> which, std::vector<ReleaseOutcome>& outcomes,
                                 Deadline deadline) {
  const VoucherKeys keys(keys_, voucher);
  std::vector<std::string> words;
  for (const std::size_t position : which) {
    words.push_back(orders[position].order.text());
    words.push_back(orders[position].user.text());
  }
  const auto reply = eval(scripts_.release, {keys.names[0], keys.names[1], keys.names[3]}, words, deadline);
  if (!reply) return reply.error();
  const RedisValue answer = reply.value().value();
  if (answer.isArray()) return unreadable(voucher, answer[0].text());
  if (answer.text() == "not_loaded") return {};  // what the outcomes say from the start
  return readOutcomes(answer.text(), which, outcomes);
}

// The keys first: between the two steps the same question meets the hold. The other way round it would be
// answered with an order that is not there any more.
Status LuaQualifier::takeBack(VoucherId voucher, std::span<const QualifyRequest> requests,
                              Deadline deadline) {
  const VoucherKeys keys(keys_, voucher);
  std::vector<std::string> words;
  std::vector<std::string> holds;
  for (const QualifyRequest& request : requests) {
    holds.insert(holds.end(), {request.order.text(), request.user.text()});
    if (request.idempotencyKey.empty()) continue;
    words.push_back(request.user.text() + ":" + std::string(request.idempotencyKey));
    words.push_back(request.order.text());
  }
  if (!words.empty()) {
    const auto reply = eval(scripts_.forgetKeys, {keys.names[3]}, words, deadline);
    if (!reply) return reply.error();
    if (reply.value().value().isArray()) return unreadable(voucher, reply.value().value()[0].text());
  }
  const auto released = eval(scripts_.release, {keys.names[0], keys.names[1]}, holds, deadline);
  if (!released) return released.error();
  if (released.value().value().isArray()) return unreadable(voucher, released.value().value()[0].text());
  return {};
}

Result<std::size_t> LuaQualifier::restore(std::span<const Order> liveOrders, Deadline deadline) {
  for (const Order& order : liveOrders) {
    if (!isLive(order.status))
      return {ErrorCode::InvalidArgument, "restore: order " + order.id.text() + " is not live"};
  }
  std::size_t restored = 0;
  const Status done =
      forEachCall(liveOrders, [&](VoucherId voucher, std::span<const std::size_t> which) -> Status {
        const auto some = restoreSome(voucher, liveOrders, which, deadline);
        if (!some) return some.error();
        restored += some.value();
        return {};
      });
  if (!done) return done.error();
  return restored;
}

Result<std::size_t> LuaQualifier::restoreSome(VoucherId voucher, std::span<const Order> orders,
                                              std::span<const std::size_t> which, Deadline deadline) {
  const VoucherKeys keys(keys_, voucher);
  std::vector<std::string> words;
  for (const std::size_t position : which) {
    const Order& order = orders[position];
    words.insert(words.end(), {order.id.text(), order.user.text(), std::to_string(order.quantity)});
  }
  const auto reply = eval(scripts_.restore, {keys.names[0], keys.names[1]}, words, deadline);
  if (!reply) return reply.error();
  const RedisValue answer = reply.value().value();
  if (answer.size() == 3) return unreadable(voucher, answer[2].text());
  if (answer[1].integer() > 0) {
    log_.warning("qualifier",
                 "voucher " + voucher.text() + ": " + std::to_string(answer[1].integer()) +
                     " holds of live orders could not be re-created, too few pieces are left; run the audit");
  }
  return static_cast<std::size_t>(answer[0].integer());
}

// Runs on one connection without a second attempt: the pages of the store can be asked only once.
Result<LoadOutcome> LuaQualifier::load(const VoucherLoad& load, Deadline deadline) {
  if (auto sound = checkVoucher(load.voucher); !sound) return sound.error();
  auto lease = acquire(deadline);
  if (!lease) return lease.error();
  VoucherLoader loader(*lease.value(), scripts_, VoucherKeys(keys_, load.voucher.id), scratch("load"));
  return loader.run(load, deadline);
}

Result<SyncOutcome> LuaQualifier::sync(const Voucher& voucher, Deadline deadline) {
  if (auto sound = checkVoucher(voucher); !sound) return sound.error();
  const VoucherKeys keys(keys_, voucher.id);
  std::vector<std::string> words = settingsArgs(voucher);
  words.push_back(std::to_string(std::chrono::duration_cast<milliseconds>(limits::kKeyRetention).count()));
  const auto reply =
      eval(scripts_.sync, {keys.names[0], keys.names[1], keys.names[2], keys.names[3]}, words, deadline);
  if (!reply) return reply.error();
  const RedisValue answer = reply.value().value();
  if (answer.isArray()) return unreadable(voucher.id, answer[0].text());
  if (answer.text() == "applied") return SyncOutcome::Applied;
  if (answer.text() == "not_newer") return SyncOutcome::NotNewer;
  return answer.text() == "not_loaded" ? SyncOutcome::NotLoaded : SyncOutcome::StockTooLow;
}

Result<VoucherSnapshot> LuaQualifier::snapshot(VoucherId voucher, Deadline deadline) {
  const VoucherKeys keys(keys_, voucher);
  const RedisArgs names = {keys.names[0], keys.names[1]};
  const auto reply = reading(deadline, [&](RedisConnection& connection) {
    return connection.eval(scripts_.snapshot, names, {}, deadline);
  });
  if (!reply) return reply.error();
  const RedisValue answer = reply.value().value();
  VoucherSnapshot seen;
  if (!answer.isArray()) return seen;
  if (answer.size() == 1) return unreadable(voucher, answer[0].text());
  const auto state = parseVoucherState(answer[4].text());
  if (!state) return unreadable(voucher, "its state is unknown");
  seen.loaded = true;
  seen.version = answer[0].integer();
  seen.allocated = answer[1].integer();
  seen.stock = answer[2].integer();
  seen.held = answer[3].integer();
  seen.state = *state;
  seen.holders = answer[5].integer();
  return seen;
}

Result<std::vector<Hold>> LuaQualifier::holdsOf(VoucherId voucher, UserId user, Deadline deadline) {
  const std::string key = keys_.holds(voucher.value());
  const std::string field = user.text();
  const auto reply = reading(deadline, [&](RedisConnection& connection) {
    return connection.call({"HGET", key, field}, deadline);
  });
  if (!reply) return reply.error();
  std::vector<Hold> holds;
  if (reply.value().value().isNil()) return holds;
  if (auto read = readHolds(field, reply.value().value().text(), holds); !read) return read.error();
  return holds;
}

Result<std::vector<Hold>> LuaQualifier::scanHolds(VoucherId voucher, std::string& cursor, Deadline deadline) {
  if (cursor.empty() || cursor.size() > 20 || cursor.find_first_not_of("0123456789") != std::string::npos) {
    return {ErrorCode::InvalidArgument, "no cursor of holds; begin with \"0\""};
  }
  const std::string key = keys_.holds(voucher.value());
  const auto reply = reading(deadline, [&](RedisConnection& connection) {
    return connection.call({"HSCAN", key, cursor, "COUNT", kUsersInScan}, deadline);
  });
  if (!reply) return reply.error();
  const RedisValue page = reply.value().value()[1];
  std::vector<Hold> holds;
  for (std::size_t k = 0; k + 1 < page.size(); k += 2) {
    if (auto read = readHolds(page[k].text(), page[k + 1].text(), holds); !read) return read.error();
  }
  cursor = reply.value().value()[0].text();
  return holds;
}

Status LuaQualifier::addEligible(VoucherId voucher, std::span<const UserId> users, Deadline deadline) {
  const VoucherKeys keys(keys_, voucher);
  do {  // also without users, so that a voucher that is not loaded is told
    const auto some = users.first(std::min(users.size(), limits::kPageMax));
    users = users.subspan(some.size());
    std::vector<std::string> words;
    for (const UserId user : some) {
      words.push_back(user.text());
    }
    const auto reply = eval(scripts_.eligible, {keys.names[0], keys.names[2]}, words, deadline);
    if (!reply) return reply.error();
    const RedisValue answer = reply.value().value();
    if (answer.isArray()) return unreadable(voucher, answer[0].text());
    if (answer.text() == "not_loaded")
      return {ErrorCode::NotFound, "voucher " + voucher.text() + " is not loaded"};
  } while (!users.empty());
  return {};
}

}  // namespace sluice
