// See pg_schema.h. A released step never changes; a new version is a new step.
//
// Numbers of status, reason and state are those of sluice/order.h and sluice/voucher.h. Times are
// milliseconds since 1970 UTC.
#include "pg_schema.h"

namespace sluice::pg {

namespace {

constexpr const char* kTables[] = {
    "CREATE TABLE sluice_schema ("
    " version INTEGER PRIMARY KEY,"
    " name TEXT NOT NULL,"
    " applied_at BIGINT NOT NULL"
    ")",

    "CREATE TABLE vouchers ("
    " id BIGINT PRIMARY KEY CHECK (id > 0),"
    " version BIGINT NOT NULL CHECK (version > 0),"
    " title TEXT NOT NULL,"
    " begin_at BIGINT NOT NULL,"
    " end_at BIGINT NOT NULL CHECK (end_at > begin_at),"
    " limit_per_user INTEGER NOT NULL CHECK (limit_per_user > 0),"
    " allocated BIGINT NOT NULL CHECK (allocated >= 0),"
    " remaining BIGINT NOT NULL CHECK (remaining BETWEEN 0 AND allocated),"
    " state SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 2),"
    " eligible_only SMALLINT NOT NULL CHECK (eligible_only IN (0, 1))"
    // Room on each page, so that the stock of a voucher changes in place.
    ") WITH (fillfactor = 50)",

    "CREATE TABLE eligible_users ("
    " voucher_id BIGINT NOT NULL REFERENCES vouchers (id),"
    " user_id BIGINT NOT NULL CHECK (user_id > 0),"
    " PRIMARY KEY (voucher_id, user_id)"
    ")",

    // A live row takes one place (slot) of its user at its voucher and has no reason; a dead row is the
    // opposite. Orders name their voucher without a foreign key: every transaction that inserts one holds
    // the voucher's lock, and vouchers are never deleted.
    "CREATE TABLE orders ("
    " id BIGINT PRIMARY KEY CHECK (id > 0),"
    " user_id BIGINT NOT NULL CHECK (user_id > 0),"
    " voucher_id BIGINT NOT NULL CHECK (voucher_id > 0),"
    " quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000),"
    " slot INTEGER CHECK (slot > 0),"
    " status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 5),"
    " reason SMALLINT NOT NULL CHECK (reason BETWEEN 0 AND 6),"
    " admitted_at BIGINT NOT NULL,"
    " stored_at BIGINT NOT NULL,"
    " updated_at BIGINT NOT NULL,"
    " pay_by BIGINT,"
    " released_at BIGINT,"
    " CONSTRAINT live_rows_take_a_place CHECK ((status <= 2) = (slot IS NOT NULL)),"
    " CONSTRAINT dead_rows_have_a_reason CHECK ((status <= 2) = (reason = 0)),"
    " CONSTRAINT pending_rows_have_a_pay_by CHECK ((status = 1) = (pay_by IS NOT NULL)),"
    " CONSTRAINT live_rows_are_not_released CHECK (status >= 3 OR released_at IS NULL)"
    ")",

    // One order a place: the second line behind the decision in memory. Also finds what a user holds.
    "CREATE UNIQUE INDEX orders_place ON orders (voucher_id, user_id, slot)",
    "CREATE INDEX orders_of_voucher ON orders (voucher_id, id)",
    "CREATE INDEX orders_changed ON orders (updated_at, id)",
    "CREATE INDEX orders_due ON orders (pay_by) WHERE pay_by IS NOT NULL",
    "CREATE INDEX orders_unreleased ON orders (updated_at, id) WHERE released_at IS NULL AND status >= 3",

    "CREATE TABLE processes ("
    " number INTEGER PRIMARY KEY CHECK (number BETWEEN 0 AND 1023),"
    " name TEXT NOT NULL,"
    " token TEXT NOT NULL,"
    " since BIGINT NOT NULL,"
    " expires_at BIGINT NOT NULL"
    ") WITH (fillfactor = 50)",

    "CREATE TABLE admission_counts ("
    " voucher_id BIGINT NOT NULL,"
    " token TEXT NOT NULL,"
    " admitted BIGINT NOT NULL CHECK (admitted >= 0),"
    " PRIMARY KEY (voucher_id, token)"
    ") WITH (fillfactor = 50)",
};

constexpr sql::Migration kMigrations[] = {{1, "vouchers, orders, processes", kTables}};

}  // namespace

std::span<const sql::Migration> migrations() noexcept { return kMigrations; }

}  // namespace sluice::pg
