// SqlStore: vouchers and who may order them.
#include <algorithm>

#include "checks.h"
#include "rows.h"
#include "sql_store.h"
#include "statement.h"

namespace sluice::sql {

namespace {

// Users in one statement; bounds its text.
constexpr std::size_t kUsersMax = 1000;

Error noSuchVoucher(VoucherId id) { return {ErrorCode::NotFound, "the store has no voucher " + id.text()}; }

std::optional<Voucher> selectVoucher(Session& session, VoucherId id, std::string_view lock = {}) {
  auto rows = selectVouchers(session, Text("WHERE id = ") << id << lock);
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

// Those who want the next number come one after the other: else many who come at once would all choose the
// same one, and most would lose the race for it again and again. The ledger's first row is always there.
void lockNumbering(Session& session, std::string_view lockRows) {
  Rows<1> rows(session, Text("SELECT version FROM sluice_schema WHERE version = 1") << lockRows);
}

VoucherId nextVoucherId(Session& session) {
  Rows<1> rows(session, Text("SELECT COALESCE(MAX(id), 0) + 1 FROM vouchers"));
  return rows.next() ? VoucherId(rows.number(0)) : VoucherId(1);
}

std::int64_t number(VoucherState state) { return static_cast<std::int64_t>(state); }

void insertVoucher(Session& session, const Voucher& voucher) {
  const VoucherSettings& settings = voucher.settings;
  execute(session,
          Text("INSERT INTO vouchers (id, version, title, begin_at, end_at, limit_per_user, allocated, "
               "remaining, state, "
               "eligible_only) VALUES (")
              << voucher.id << "," << voucher.version << ", :title, " << settings.begin << "," << settings.end
              << "," << std::int64_t{settings.limitPerUser} << "," << settings.allocated << ","
              << voucher.remaining << "," << number(settings.state) << ","
              << std::int64_t{settings.eligibleOnly} << ")",
          {settings.title});
}

void updateRow(Session& session, const Voucher& voucher) {
  const VoucherSettings& settings = voucher.settings;
  execute(session,
          Text("UPDATE vouchers SET version = ")
              << voucher.version << ", title = :title, begin_at = " << settings.begin
              << ", end_at = " << settings.end << ", limit_per_user = " << std::int64_t{settings.limitPerUser}
              << ", allocated = " << settings.allocated << ", remaining = " << voucher.remaining
              << ", state = " << number(settings.state)
              << ", eligible_only = " << std::int64_t{settings.eligibleOnly} << " WHERE id = " << voucher.id,
          {settings.title});
}

// Under the voucher's lock: adds those of `users` that are not listed yet.
void insertEligible(Session& session, VoucherId voucher, std::span<const UserId> users) {
  std::vector<UserId> missing;
  {
    Rows<1> rows(session, Text("SELECT user_id FROM eligible_users WHERE voucher_id = ")
                              << voucher << " AND user_id IN " << Text().list(users).str()
                              << " ORDER BY user_id");
    std::vector<UserId> listed;
    while (rows.next()) {
      listed.emplace_back(rows.number(0));
    }
    std::set_difference(users.begin(), users.end(), listed.begin(), listed.end(),
                        std::back_inserter(missing));
  }
  if (missing.empty()) return;
  Text text("INSERT INTO eligible_users (voucher_id, user_id) VALUES ");
  std::string_view separator;
  for (const UserId user : missing) {
    text << separator << "(" << voucher << "," << user << ")";
    separator = ",";
  }
  execute(session, text);
}

}  // namespace

std::vector<Voucher> SqlStore::lockVouchers(Session& session, std::span<const VoucherId> sorted) const {
  return selectVouchers(session, Text("WHERE id IN ").list(sorted) << " ORDER BY id" << dialect_->lockRows());
}

Result<Voucher> SqlStore::createVoucher(VoucherId id, const VoucherSettings& settings, Deadline deadline) {
  if (const auto fault = sluice::faultOf(settings))
    return {ErrorCode::InvalidArgument, "create voucher: " + *fault};
  if (id.value() < 0) return {ErrorCode::InvalidArgument, "create voucher: an id is a positive number"};
  return answer(Use::Write, "create voucher", deadline, [&](Session& session) -> Result<Voucher> {
    if (!id.valid()) lockNumbering(session, dialect_->lockRows());
    const Voucher voucher{id.valid() ? id : nextVoucherId(session), settings, 1, settings.allocated};
    if (selectVoucher(session, voucher.id)) {
      return {ErrorCode::Conflict, "the store has a voucher " + voucher.id.text() + " already"};
    }
    insertVoucher(session, voucher);
    return voucher;
  });
}

Result<Voucher> SqlStore::updateVoucher(VoucherId id, std::int64_t expectedVersion,
                                        const VoucherSettings& settings, Deadline deadline) {
  if (const auto fault = sluice::faultOf(settings))
    return {ErrorCode::InvalidArgument, "update voucher: " + *fault};
  return answer(Use::Write, "update voucher", deadline, [&](Session& session) -> Result<Voucher> {
    const auto old = selectVoucher(session, id, dialect_->lockRows());
    if (!old) return noSuchVoucher(id);
    if (old->version != expectedVersion) {
      return {ErrorCode::Conflict, "voucher " + id.text() + " has version " + std::to_string(old->version) +
                                       ", not " + std::to_string(expectedVersion)};
    }
    const std::int64_t remaining = old->remaining + settings.allocated - old->settings.allocated;
    if (remaining < 0) {
      return {ErrorCode::Conflict, "voucher " + id.text() + " has " +
                                       std::to_string(old->settings.allocated - old->remaining) +
                                       " pieces in live orders; its stock cannot fall below that"};
    }
    const Voucher changed{id, settings, old->version + 1, remaining};
    updateRow(session, changed);
    return changed;
  });
}

Result<std::optional<Voucher>> SqlStore::findVoucher(VoucherId id, Deadline deadline) {
  return answer(Use::Read, "find voucher", deadline, [&](Session& session) -> Result<std::optional<Voucher>> {
    return selectVoucher(session, id);
  });
}

Result<std::vector<Voucher>> SqlStore::listVouchers(VoucherId after, std::size_t max, Deadline deadline) {
  if (const auto fault = faultOfPage(max)) return {ErrorCode::InvalidArgument, "list vouchers: " + *fault};
  return answer(Use::Read, "list vouchers", deadline, [&](Session& session) -> Result<std::vector<Voucher>> {
    return selectVouchers(session, Text("WHERE id > ")
                                       << after << " ORDER BY id LIMIT " << static_cast<std::int64_t>(max));
  });
}

Status SqlStore::addEligible(VoucherId voucher, std::span<const UserId> users, Deadline deadline) {
  std::vector<UserId> sorted(users.begin(), users.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (!sorted.empty() && !sorted.front().valid()) {
    return {ErrorCode::InvalidArgument, "add eligible users: an id is a positive number"};
  }
  return run(Use::Write, "add eligible users", deadline, [&](Session& session) -> Status {
    if (lockVouchers(session, {&voucher, 1}).empty()) return noSuchVoucher(voucher);
    for (std::span<const UserId> rest(sorted); !rest.empty();) {
      const auto part = rest.first(std::min(rest.size(), kUsersMax));
      insertEligible(session, voucher, part);
      rest = rest.subspan(part.size());
    }
    return {};
  });
}

Result<std::vector<UserId>> SqlStore::listEligible(VoucherId voucher, UserId after, std::size_t max,
                                                   Deadline deadline) {
  if (const auto fault = faultOfPage(max))
    return {ErrorCode::InvalidArgument, "list eligible users: " + *fault};
  return answer(Use::Read, "list eligible users", deadline,
                [&](Session& session) -> Result<std::vector<UserId>> {
                  Rows<1> rows(session, Text("SELECT user_id FROM eligible_users WHERE voucher_id = ")
                                            << voucher << " AND user_id > " << after
                                            << " ORDER BY user_id LIMIT " << static_cast<std::int64_t>(max));
                  std::vector<UserId> users;
                  while (rows.next()) {
                    users.emplace_back(rows.number(0));
                  }
                  return users;
                });
}

}  // namespace sluice::sql
