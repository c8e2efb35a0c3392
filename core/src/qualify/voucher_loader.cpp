// First everything that can refuse cheaply (keys, journal), then the pages of the store, then the commit,
// which checks again.
#include "qualify/voucher_loader.h"

#include <utility>

#include "sluice/limits.h"

#include "qualify/journal.h"

namespace sluice {

namespace {

// Longer than any page of a store takes, short enough that nobody finds them later.
constexpr std::string_view kPreparedLifeMs = "60000";

// Orders in one call of load_holds: its script is short beside a sale that runs.
constexpr std::size_t kHoldsInCall = 100;

RedisArgs viewsOf(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

}  // namespace

std::vector<std::string> settingsArgs(const Voucher& voucher) {
  const VoucherSettings& settings = voucher.settings;
  return {std::to_string(voucher.version),
          std::to_string(toMillis(settings.begin)),
          std::to_string(toMillis(settings.end)),
          std::to_string(settings.limitPerUser),
          std::string(voucherStateName(settings.state)),
          settings.eligibleOnly ? "1" : "0",
          std::to_string(settings.allocated)};
}

Status checkVoucher(const Voucher& voucher) {
  VoucherSettings settings = voucher.settings;
  settings.title = "any";
  if (!voucher.id.valid()) return {ErrorCode::InvalidArgument, "a voucher's id is a positive number"};
  if (voucher.version < 1) return {ErrorCode::InvalidArgument, "a voucher's version is a positive number"};
  if (const auto fault = faultOf(settings))
    return {ErrorCode::InvalidArgument, "voucher " + voucher.id.text() + ": " + *fault};
  return {};
}

VoucherLoader::VoucherLoader(RedisConnection& connection, const Scripts& scripts, VoucherKeys keys,
                             const std::string& scratch)
    : connection_(connection),
      scripts_(scripts),
      keys_(std::move(keys)),
      preparedHolds_(scratch + ":holds"),
      preparedEligible_(scratch + ":eligible") {}

Result<LoadOutcome> VoucherLoader::run(const VoucherLoad& load, Deadline deadline) {
  auto outcome = check(load.voucher.id, deadline);
  if (!outcome || outcome.value() != LoadOutcome::Loaded) return outcome;
  Status prepared = prepareHolds(load, deadline);
  if (prepared) prepared = prepareEligible(load, deadline);
  outcome = prepared ? commit(load.voucher, deadline) : Result<LoadOutcome>(prepared.error());
  // After a commit the names are gone already. A failure here is harmless: the keys expire.
  if (!connection_.broken())
    static_cast<void>(connection_.call({"DEL", preparedHolds_, preparedEligible_}, deadline));
  return outcome;
}

// Loaded stands for "nothing forbids it".
Result<LoadOutcome> VoucherLoader::check(VoucherId voucher, Deadline deadline) {
  const auto& names = keys_.names;
  const auto exist = connection_.call({"EXISTS", names[0], names[1], names[2], names[3]}, deadline);
  if (!exist) return exist.error().during("load voucher " + voucher.text());
  if (exist.value().value().integer() > 0) return LoadOutcome::KeysExist;
  const auto named = journalNames(connection_, names[4], voucher, deadline);
  if (!named) return named.error().during("load voucher " + voucher.text());
  return named.value() ? LoadOutcome::NotDrained : LoadOutcome::Loaded;
}

Status VoucherLoader::prepareHolds(const VoucherLoad& load, Deadline deadline) {
  while (load.nextLiveOrders) {
    const auto page = load.nextLiveOrders();
    if (!page) return page.error();
    if (page.value().empty()) break;
    std::span<const Order> left = page.value();
    while (!left.empty()) {
      const auto some = left.first(std::min(left.size(), kHoldsInCall));
      if (auto added = addHolds(some, load.voucher.id, deadline); !added) return added;
      left = left.subspan(some.size());
    }
  }
  return {};
}

Status VoucherLoader::addHolds(std::span<const Order> page, VoucherId voucher, Deadline deadline) {
  std::vector<std::string> words;
  words.reserve(1 + page.size() * 3);
  words.emplace_back(kPreparedLifeMs);
  for (const Order& order : page) {
    if (order.voucher != voucher || !isLive(order.status) || !order.id.valid() || !order.user.valid() ||
        order.quantity < 1) {
      return {ErrorCode::InvalidArgument,
              "load voucher " + voucher.text() + ": order " + order.id.text() + " is no live order of it"};
    }
    words.insert(words.end(), {order.id.text(), order.user.text(), std::to_string(order.quantity)});
  }
  const std::string_view key = preparedHolds_;
  const auto reply = connection_.eval(scripts_.loadHolds, {&key, 1}, viewsOf(words), deadline);
  if (!reply) return reply.error().during("load voucher " + voucher.text());
  held_ += reply.value().value()[0].integer();
  holders_ += reply.value().value()[1].integer();
  return {};
}

Status VoucherLoader::prepareEligible(const VoucherLoad& load, Deadline deadline) {
  while (load.nextEligible) {
    const auto page = load.nextEligible();
    if (!page) return page.error();
    if (page.value().empty()) break;
    std::vector<std::string> words = {"SADD", preparedEligible_};
    for (const UserId user : page.value()) {
      words.push_back(user.text());
    }
    const std::vector<RedisArgs> commands = {viewsOf(words), {"PEXPIRE", preparedEligible_, kPreparedLifeMs}};
    const auto replies = connection_.pipeline(commands, deadline);
    if (!replies) return replies.error().during("load voucher " + load.voucher.id.text());
    for (const RedisReply& reply : replies.value()) {
      if (reply.value().isError())
        return redisError(reply.value().text()).during("load voucher " + load.voucher.id.text());
    }
    eligible_ += replies.value()[0].value().integer();
  }
  return {};
}

Result<LoadOutcome> VoucherLoader::commit(const Voucher& voucher, Deadline deadline) {
  std::vector<std::string> words = settingsArgs(voucher);
  const auto retention = std::chrono::duration_cast<milliseconds>(limits::kKeyRetention).count();
  for (const std::int64_t number : {held_, holders_, eligible_, std::int64_t{retention}}) {
    words.push_back(std::to_string(number));
  }
  const auto& names = keys_.names;
  const std::array<std::string_view, 6> keys = {names[0], names[1],       names[2],
                                                names[3], preparedHolds_, preparedEligible_};
  const auto reply = connection_.eval(scripts_.load, keys, viewsOf(words), deadline);
  if (!reply) return reply.error().during("load voucher " + voucher.id.text());
  const std::string_view word = reply.value().value().text();
  if (word == "loaded") return LoadOutcome::Loaded;
  if (word == "keys_exist") return LoadOutcome::KeysExist;
  if (word == "oversold") {
    return {ErrorCode::Conflict, "load voucher " + voucher.id.text() + ": its live orders have " +
                                     std::to_string(held_) + " pieces, but only " +
                                     std::to_string(voucher.settings.allocated) + " are on sale"};
  }
  return {ErrorCode::Unavailable,
          "load voucher " + voucher.id.text() +
              ": reading the store took so long that the prepared keys expired; load again"};
}

}  // namespace sluice
