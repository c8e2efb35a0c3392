// SqlStore::totals: what the audit compares, summed up for each voucher in one snapshot.
#include "checks.h"
#include "rows.h"
#include "sql_store.h"
#include "statement.h"

namespace sluice::sql {

namespace {

struct Sums {
  VoucherTotals totals;
  std::int64_t largestOrder = 0;  // pieces of the largest live order
};

using SumsByVoucher = std::map<VoucherId, Sums>;

SumsByVoucher selectPage(Session& session, VoucherId after, std::size_t max) {
  SumsByVoucher sums;
  for (Voucher& voucher : selectVouchers(session, Text("WHERE id > ") << after << " ORDER BY id LIMIT "
                                                                      << static_cast<std::int64_t>(max))) {
    const VoucherId id = voucher.id;
    sums[id].totals.voucher = std::move(voucher);
  }
  return sums;
}

// One pass over the vouchers' rows.
void addOrders(Session& session, const std::string& ids, SumsByVoucher& sums) {
  Rows<5> rows(session,
               Text("SELECT voucher_id, COUNT(*), SUM(CASE WHEN slot IS NOT NULL THEN quantity ELSE 0 END), "
                    "MAX(CASE WHEN slot IS NOT NULL THEN quantity ELSE 0 END), "
                    "SUM(CASE WHEN status >= 3 AND released_at IS NULL THEN 1 ELSE 0 END) FROM orders WHERE "
                    "voucher_id IN ")
                   << ids << " GROUP BY voucher_id");
  while (rows.next()) {
    Sums& ofVoucher = sums[VoucherId(rows.number(0))];
    ofVoucher.totals.rows = rows.number(1);
    ofVoucher.totals.livePieces = rows.number(2);
    ofVoucher.largestOrder = rows.number(3);
    ofVoucher.totals.unreleasedRows = rows.number(4);
  }
}

// `from` names the table orders, or joins it to the users that come into question.
void addUsersOverLimit(Session& session, const std::string& from, const std::string& ids,
                       SumsByVoucher& sums) {
  Rows<2> rows(session,
               Text("SELECT above.voucher_id, COUNT(*) FROM (SELECT orders.voucher_id, orders.user_id FROM ")
                   << from
                   << " JOIN vouchers ON vouchers.id = orders.voucher_id WHERE orders.slot IS NOT NULL AND "
                      "orders.voucher_id IN "
                   << ids
                   << " GROUP BY orders.voucher_id, orders.user_id HAVING SUM(orders.quantity) > "
                      "MAX(vouchers.limit_per_user)) above GROUP BY above.voucher_id");
  while (rows.next()) {
    sums[VoucherId(rows.number(0))].totals.usersOverLimit = rows.number(1);
  }
}

// Where no single order is above the limit, a user above it has two live orders, and so one in a place beyond
// the first: the unique key finds these users without looking at any row. Else (the limit was lowered) all
// rows are summed by user.
void addUsersOverLimit(Session& session, SumsByVoucher& sums) {
  std::vector<VoucherId> usual;
  std::vector<VoucherId> lowered;
  for (const auto& [id, ofVoucher] : sums) {
    const bool above = ofVoucher.largestOrder > ofVoucher.totals.voucher.settings.limitPerUser;
    (above ? lowered : usual).push_back(id);
  }
  if (!usual.empty()) {
    const std::string ids = Text().list(usual).str();
    addUsersOverLimit(session,
                      "(SELECT DISTINCT voucher_id, user_id FROM orders WHERE slot > 1 AND voucher_id IN " +
                          ids +
                          ") several JOIN orders ON orders.voucher_id = several.voucher_id AND "
                          "orders.user_id = several.user_id",
                      ids, sums);
  }
  if (!lowered.empty()) addUsersOverLimit(session, "orders", Text().list(lowered).str(), sums);
}

void addCounts(Session& session, const std::string& ids, SumsByVoucher& sums) {
  Rows<2> rows(session, Text("SELECT voucher_id, SUM(admitted) FROM admission_counts WHERE voucher_id IN ")
                            << ids << " GROUP BY voucher_id");
  while (rows.next()) {
    sums[VoucherId(rows.number(0))].totals.countedAdmissions = rows.number(1);
  }
}

}  // namespace

Result<std::vector<VoucherTotals>> SqlStore::totals(VoucherId after, std::size_t max, Deadline deadline) {
  if (const auto fault = faultOfPage(max)) return {ErrorCode::InvalidArgument, "sum up: " + *fault};
  return answer(Use::Read, "sum up", deadline, [&](Session& session) -> Result<std::vector<VoucherTotals>> {
    SumsByVoucher sums = selectPage(session, after, max);
    std::vector<VoucherTotals> page;
    if (sums.empty()) return page;
    const std::string ids =
        Text().list(sums, [](Text& text, const auto& entry) { text << entry.first; }).str();
    addOrders(session, ids, sums);
    addUsersOverLimit(session, sums);
    addCounts(session, ids, sums);
    for (auto& [id, ofVoucher] : sums) {
      page.push_back(std::move(ofVoucher.totals));
    }
    return page;
  });
}

}  // namespace sluice::sql
