// SqlStore::persist: one transaction that decides each order of a batch once.
#include <algorithm>

#include "checks.h"
#include "rows.h"
#include "sql_store.h"
#include "statement.h"

namespace sluice::sql {

namespace {

// Arms of one compound SELECT; SQLite allows 500.
constexpr std::size_t kArmsMax = 100;

std::vector<VoucherId> vouchersOf(std::span<const Admission> admissions) {
  std::vector<VoucherId> ids;
  ids.reserve(admissions.size());
  for (const Admission& admission : admissions) {
    ids.push_back(admission.voucher);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<Order> rowsOf(Session& session, std::span<const Admission> admissions) {
  return selectOrders(session,
                      Text("WHERE id IN ").list(admissions, [](Text& text, const Admission& admission) {
                        text << admission.order;
                      }));
}

void readHoldings(Session& session, const Text& text, BatchFacts& facts) {
  Rows<4> rows(session, text);
  while (rows.next()) {
    Holding& holding = facts.holdings[{VoucherId(rows.number(0)), UserId(rows.number(1))}];
    holding.pieces += rows.number(2);
    holding.slots.push_back(rows.small(3));
  }
}

// One arm a voucher, each served by the unique key; a join over pairs would be planned differently by each
// database.
void readHoldings(Session& session, const std::map<VoucherId, std::vector<UserId>>& users,
                  BatchFacts& facts) {
  Text text;
  std::size_t arms = 0;
  for (const auto& [voucher, ofVoucher] : users) {
    text << (arms == 0 ? "" : " UNION ALL ")
         << "SELECT voucher_id, user_id, quantity, slot FROM orders WHERE slot IS NOT NULL AND voucher_id = "
         << voucher << " AND user_id IN ";
    text.list(ofVoucher);
    if (++arms < kArmsMax) continue;
    readHoldings(session, text, facts);
    text = Text();
    arms = 0;
  }
  if (arms > 0) readHoldings(session, text, facts);
}

void insertRows(Session& session, std::span<const NewRow> rows, UtcTime now, UtcTime payBy) {
  if (rows.empty()) return;
  Text text(
      "INSERT INTO orders (id, user_id, voucher_id, quantity, slot, status, reason, admitted_at, stored_at, "
      "updated_at, pay_by) "
      "VALUES ");
  std::string_view separator;
  for (const NewRow& row : rows) {
    const Admission& admission = *row.admission;
    const bool live = isLive(row.status);
    text << separator << "(" << admission.order << "," << admission.user << "," << admission.voucher << ","
         << std::int64_t{admission.quantity} << ","
         << (live ? std::optional<std::int64_t>(row.slot) : std::nullopt) << ","
         << static_cast<std::int64_t>(row.status) << "," << static_cast<std::int64_t>(row.reason) << ","
         << admission.admittedAt << "," << now << "," << now << ","
         << (live ? std::optional(toMillis(payBy)) : std::nullopt) << ")";
    separator = ",";
  }
  execute(session, text);
}

Status takePieces(Session& session, const std::map<VoucherId, std::int64_t>& taken) {
  for (const auto& [voucher, pieces] : taken) {
    const auto changed =
        execute(session, Text("UPDATE vouchers SET remaining = remaining - ")
                             << pieces << " WHERE id = " << voucher << " AND remaining >= " << pieces);
    if (changed != 1)
      return {ErrorCode::Internal, "the stock of voucher " + voucher.text() + " moved under its lock"};
  }
  return {};
}

std::optional<std::string> faultOfBatch(std::span<const Admission> admissions) {
  if (admissions.empty() || admissions.size() > limits::kReceiveBatchMax) {
    return "a batch has 1 to " + std::to_string(limits::kReceiveBatchMax) + " orders";
  }
  for (std::size_t k = 0; k < admissions.size(); ++k) {
    const auto fault = faultOf(admissions[k]);
    if (fault)
      return "order " + std::to_string(k + 1) + " of " + std::to_string(admissions.size()) + ": " + *fault;
  }
  return std::nullopt;
}

}  // namespace

BatchFacts SqlStore::readFacts(Session& session, std::span<const Admission> admissions) const {
  BatchFacts facts;
  for (const Voucher& voucher : lockVouchers(session, vouchersOf(admissions))) {
    facts.vouchers[voucher.id] = {voucher.settings.limitPerUser, voucher.remaining};
  }
  for (const Order& row : rowsOf(session, admissions)) {
    facts.rows.emplace(row.id, row);
  }
  std::map<VoucherId, std::vector<UserId>> users;  // of orders that are still to be decided
  for (const Admission& admission : admissions) {
    if (facts.vouchers.contains(admission.voucher) && !facts.rows.contains(admission.order)) {
      users[admission.voucher].push_back(admission.user);
    }
  }
  readHoldings(session, users, facts);
  return facts;
}

Result<std::vector<PersistOutcome>> SqlStore::persist(std::span<const Admission> admissions, UtcTime now,
                                                      UtcTime payBy, Deadline deadline) {
  if (const auto fault = faultOfBatch(admissions)) return {ErrorCode::InvalidArgument, "persist: " + *fault};
  return answer(Use::Write, "persist", deadline,
                [&](Session& session) -> Result<std::vector<PersistOutcome>> {
                  BatchDecision decision = decideBatch(admissions, readFacts(session, admissions));
                  insertRows(session, decision.rows, now, payBy);
                  if (const Status taken = takePieces(session, decision.taken); !taken) return taken.error();
                  return std::move(decision.outcomes);
                });
}

}  // namespace sluice::sql
