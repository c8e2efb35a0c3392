// See mysql_schema.h. A released step never changes; a new version is a new step.
//
// Numbers of status, reason and state are those of sluice/order.h and sluice/voucher.h. Times are
// milliseconds since 1970 UTC. Each DDL statement commits by itself here, so a step that was stopped in the
// middle is resumed by running all of it again: every statement must do nothing where its work is done.
#include "mysql_schema.h"

namespace sluice::mysql {

namespace {

#define SLUICE_TABLE_END ") ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin"

constexpr const char* kTables[] = {
    "CREATE TABLE IF NOT EXISTS sluice_schema ("
    " version INTEGER NOT NULL PRIMARY KEY,"
    " name VARCHAR(200) NOT NULL,"
    " applied_at BIGINT NOT NULL" SLUICE_TABLE_END,

    "CREATE TABLE IF NOT EXISTS vouchers ("
    " id BIGINT NOT NULL PRIMARY KEY CHECK (id > 0),"
    " version BIGINT NOT NULL CHECK (version > 0),"
    " title VARCHAR(200) NOT NULL,"
    " begin_at BIGINT NOT NULL,"
    " end_at BIGINT NOT NULL,"
    " limit_per_user INTEGER NOT NULL CHECK (limit_per_user > 0),"
    " allocated BIGINT NOT NULL CHECK (allocated >= 0),"
    " remaining BIGINT NOT NULL CHECK (remaining >= 0),"
    " state SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 2),"
    " eligible_only SMALLINT NOT NULL CHECK (eligible_only IN (0, 1)),"
    " CONSTRAINT vouchers_end_after_begin CHECK (end_at > begin_at),"
    " CONSTRAINT vouchers_remaining CHECK (remaining <= allocated)" SLUICE_TABLE_END,

    "CREATE TABLE IF NOT EXISTS eligible_users ("
    " voucher_id BIGINT NOT NULL,"
    " user_id BIGINT NOT NULL CHECK (user_id > 0),"
    " PRIMARY KEY (voucher_id, user_id),"
    " CONSTRAINT eligible_users_voucher FOREIGN KEY (voucher_id) REFERENCES vouchers (id)" SLUICE_TABLE_END,

    // A live row takes one place (slot) of its user at its voucher and has no reason; a dead row is the
    // opposite. `orders_place`: one order a place, the second line behind the decision in memory; it also
    // finds what a user holds. `owed_since` is set while a dead row's hold is not released, since there are
    // no partial indexes. Orders name their voucher without a foreign key: every transaction that inserts
    // one holds the voucher's lock, and vouchers are never deleted.
    "CREATE TABLE IF NOT EXISTS orders ("
    " id BIGINT NOT NULL PRIMARY KEY CHECK (id > 0),"
    " user_id BIGINT NOT NULL CHECK (user_id > 0),"
    " voucher_id BIGINT NOT NULL CHECK (voucher_id > 0),"
    " quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000),"
    " slot INTEGER NULL CHECK (slot > 0),"
    " status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 5),"
    " reason SMALLINT NOT NULL CHECK (reason BETWEEN 0 AND 6),"
    " admitted_at BIGINT NOT NULL,"
    " stored_at BIGINT NOT NULL,"
    " updated_at BIGINT NOT NULL,"
    " pay_by BIGINT NULL,"
    " released_at BIGINT NULL,"
    " owed_since BIGINT GENERATED ALWAYS AS"
    "  (CASE WHEN status >= 3 AND released_at IS NULL THEN updated_at END) VIRTUAL,"
    " CONSTRAINT live_rows_take_a_place CHECK ((status <= 2) = (slot IS NOT NULL)),"
    " CONSTRAINT dead_rows_have_a_reason CHECK ((status <= 2) = (reason = 0)),"
    " CONSTRAINT pending_rows_have_a_pay_by CHECK ((status = 1) = (pay_by IS NOT NULL)),"
    " CONSTRAINT live_rows_are_not_released CHECK (status >= 3 OR released_at IS NULL),"
    " UNIQUE INDEX orders_place (voucher_id, user_id, slot),"
    " INDEX orders_of_voucher (voucher_id, id),"
    " INDEX orders_changed (updated_at, id),"
    " INDEX orders_due (pay_by),"
    " INDEX orders_unreleased (owed_since, id)" SLUICE_TABLE_END,

    "CREATE TABLE IF NOT EXISTS processes ("
    " number INTEGER NOT NULL PRIMARY KEY CHECK (number BETWEEN 0 AND 1023),"
    " name VARCHAR(200) NOT NULL,"
    " token VARCHAR(64) NOT NULL,"
    " since BIGINT NOT NULL,"
    " expires_at BIGINT NOT NULL" SLUICE_TABLE_END,

    "CREATE TABLE IF NOT EXISTS admission_counts ("
    " voucher_id BIGINT NOT NULL,"
    " token VARCHAR(64) NOT NULL,"
    " admitted BIGINT NOT NULL CHECK (admitted >= 0),"
    " PRIMARY KEY (voucher_id, token),"
    " INDEX admission_counts_token (token)" SLUICE_TABLE_END,
};

constexpr sql::Migration kMigrations[] = {{1, "vouchers, orders, processes", kTables}};

}  // namespace

std::span<const sql::Migration> migrations() noexcept { return kMigrations; }

}  // namespace sluice::mysql
