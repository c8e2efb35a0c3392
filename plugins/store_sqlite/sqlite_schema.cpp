// See sqlite_schema.h. A released step never changes; a new version is a new step.
//
// Numbers of status, reason and state are those of sluice/order.h and sluice/voucher.h. Times are
// milliseconds since 1970 UTC. Every index ends in the row id by itself: `orders.id` is the row id.
#include "sqlite_schema.h"

namespace sluice::sqlite {

namespace {

constexpr const char* kTables[] = {
    "CREATE TABLE sluice_schema ("
    " version INTEGER PRIMARY KEY,"
    " name TEXT NOT NULL,"
    " applied_at INTEGER NOT NULL"
    ") STRICT",

    "CREATE TABLE vouchers ("
    " id INTEGER PRIMARY KEY CHECK (id > 0),"
    " version INTEGER NOT NULL CHECK (version > 0),"
    " title TEXT NOT NULL,"
    " begin_at INTEGER NOT NULL,"
    " end_at INTEGER NOT NULL CHECK (end_at > begin_at),"
    " limit_per_user INTEGER NOT NULL CHECK (limit_per_user > 0),"
    " allocated INTEGER NOT NULL CHECK (allocated >= 0),"
    " remaining INTEGER NOT NULL CHECK (remaining BETWEEN 0 AND allocated),"
    " state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),"
    " eligible_only INTEGER NOT NULL CHECK (eligible_only IN (0, 1))"
    ") STRICT",

    "CREATE TABLE eligible_users ("
    " voucher_id INTEGER NOT NULL REFERENCES vouchers (id),"
    " user_id INTEGER NOT NULL CHECK (user_id > 0),"
    " PRIMARY KEY (voucher_id, user_id)"
    ") STRICT, WITHOUT ROWID",

    // A live row takes one place (slot) of its user at its voucher and has no reason; a dead row is the
    // opposite.
    "CREATE TABLE orders ("
    " id INTEGER PRIMARY KEY CHECK (id > 0),"
    " user_id INTEGER NOT NULL CHECK (user_id > 0),"
    " voucher_id INTEGER NOT NULL REFERENCES vouchers (id),"
    " quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000),"
    " slot INTEGER CHECK (slot > 0),"
    " status INTEGER NOT NULL CHECK (status BETWEEN 1 AND 5),"
    " reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 6),"
    " admitted_at INTEGER NOT NULL,"
    " stored_at INTEGER NOT NULL,"
    " updated_at INTEGER NOT NULL,"
    " pay_by INTEGER,"
    " released_at INTEGER,"
    " CONSTRAINT live_rows_take_a_place CHECK ((status <= 2) = (slot IS NOT NULL)),"
    " CONSTRAINT dead_rows_have_a_reason CHECK ((status <= 2) = (reason = 0)),"
    " CONSTRAINT pending_rows_have_a_pay_by CHECK ((status = 1) = (pay_by IS NOT NULL)),"
    " CONSTRAINT live_rows_are_not_released CHECK (status >= 3 OR released_at IS NULL)"
    ") STRICT",

    // One order a place: the second line behind the decision in memory. Also finds what a user holds.
    "CREATE UNIQUE INDEX orders_place ON orders (voucher_id, user_id, slot)",
    "CREATE INDEX orders_of_voucher ON orders (voucher_id)",
    "CREATE INDEX orders_changed ON orders (updated_at)",
    "CREATE INDEX orders_due ON orders (pay_by) WHERE pay_by IS NOT NULL",
    "CREATE INDEX orders_unreleased ON orders (updated_at) WHERE released_at IS NULL AND status >= 3",

    "CREATE TABLE processes ("
    " number INTEGER PRIMARY KEY CHECK (number BETWEEN 0 AND 1023),"
    " name TEXT NOT NULL,"
    " token TEXT NOT NULL,"
    " since INTEGER NOT NULL,"
    " expires_at INTEGER NOT NULL"
    ") STRICT",

    "CREATE TABLE admission_counts ("
    " voucher_id INTEGER NOT NULL,"
    " token TEXT NOT NULL,"
    " admitted INTEGER NOT NULL CHECK (admitted >= 0),"
    " PRIMARY KEY (voucher_id, token)"
    ") STRICT, WITHOUT ROWID",
};

constexpr sql::Migration kMigrations[] = {{1, "vouchers, orders, processes", kTables}};

}  // namespace

std::span<const sql::Migration> migrations() noexcept { return kMigrations; }

}  // namespace sluice::sqlite
