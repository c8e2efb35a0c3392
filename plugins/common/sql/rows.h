// Rows of the tables as the contract's values.
#pragma once

#include <vector>

#include "sluice/order.h"
#include "sluice/order_store.h"
#include "sluice/voucher.h"

#include "session.h"
#include "statement.h"

namespace sluice::sql {

// `tail` is what follows "SELECT <columns> FROM <table> ".
[[nodiscard]] std::vector<Order> selectOrders(Session& session, const Text& tail);
[[nodiscard]] std::vector<Voucher> selectVouchers(Session& session, const Text& tail);
[[nodiscard]] std::vector<ProcessLease> selectProcesses(Session& session, const Text& tail);

}  // namespace sluice::sql
