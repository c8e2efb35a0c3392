// store_sqlite under faults: locks held by others, killed processes, files that cannot be written, read or
// believed. Each test ends with proof that orders flow again, none lost and none doubled.
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/sqlite_world.h"
#include "sql_store.h"
#include "sqlite_error.h"
#include "support/forked_child.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const UtcTime kNow = fromMillis(1767225600000);
const UtcTime kPayBy = kNow + std::chrono::minutes(15);

Deadline soon() { return Deadline::in(std::chrono::seconds(20)); }

std::vector<Admission> batchOf(std::int64_t first, std::int64_t count, VoucherId voucher) {
  std::vector<Admission> batch;
  for (std::int64_t k = first; k < first + count; ++k) {
    batch.push_back({OrderId(k), UserId(k), voucher, 1, kNow});
  }
  return batch;
}

std::size_t countOf(const Result<std::vector<PersistOutcome>>& outcomes, PersistKind kind) {
  EXPECT_TRUE(outcomes) << outcomes.error().text;
  if (!outcomes) return 0;
  return static_cast<std::size_t>(std::count_if(outcomes.value().begin(), outcomes.value().end(),
                                                [&](const auto& o) { return o.kind == kind; }));
}

VoucherId sell(OrderStore& store, std::int64_t stock) {
  return store.createVoucher(VoucherId(), settingsOf(stock, 1), soon()).value().id;
}

VoucherTotals totalsOf(OrderStore& store) {
  VoucherTotals sums = store.totals(VoucherId(), 1, soon()).value().at(0);
  EXPECT_EQ(sums.voucher.remaining + sums.livePieces, sums.voucher.settings.allocated);
  return sums;
}

TEST(SqliteFaults, TheOptionBusyBoundsTheWaitBelowTheDeadline) {
  sqlite::SqliteOptions options;
  options.busy = milliseconds(50);
  SqliteWorld world(options);
  const auto store = world.open();
  const VoucherId id = sell(*store, 100);
  RawDatabase other(world.path());
  other.run("BEGIN IMMEDIATE");
  const Deadline far = Deadline::in(std::chrono::minutes(5));
  EXPECT_EQ(store->persist(batchOf(1, 1, id), kNow, kPayBy, far).error().code, ErrorCode::Unavailable);
  EXPECT_GT(far.remaining(), std::chrono::minutes(4));
  other.run("ROLLBACK");
  EXPECT_TRUE(store->persist(batchOf(1, 1, id), kNow, kPayBy, soon()));
}

TEST(SqliteFaults, S21_AThreadWaitsForTheWriterOfItsOwnProcessOnlyUntilItsDeadline) {
  SqliteWorld world;
  const auto store = world.open();
  const VoucherId id = sell(*store, 100);
  RawDatabase other(world.path());
  other.run("BEGIN IMMEDIATE");
  std::thread first([&] {  // holds the one writing session and waits for the other program
    EXPECT_EQ(countOf(store->persist(batchOf(1, 1, id), kNow, kPayBy, soon()), PersistKind::Stored), 1u);
  });
  std::optional<ErrorCode> code;
  std::string text;
  while (!code || text.find("session") == std::string::npos) {  // once it is the session that is waited for
    const auto late = store->persist(batchOf(2, 1, id), kNow, kPayBy, Deadline::in(milliseconds(20)));
    ASSERT_FALSE(late);
    code = late.error().code;
    text = late.error().text;
    ASSERT_EQ(code, ErrorCode::Unavailable);
  }
  other.run("COMMIT");
  first.join();
  EXPECT_EQ(totalsOf(*store).rows, 1);
}

TEST(SqliteFaults, AStatementThatTakesTooLongIsCutOff) {
  SqliteWorld world;
  const auto store = world.open();
  const VoucherId id = sell(*store, 1000);
  RawDatabase(world.path())
      .run(
          "CREATE TRIGGER slow AFTER INSERT ON orders BEGIN SELECT COUNT(*) FROM (WITH RECURSIVE n(k) AS "
          "(SELECT 1 UNION ALL "
          "SELECT k + 1 FROM n LIMIT 1000000000) SELECT k FROM n); END");
  const auto cut = store->persist(batchOf(1, 1, id), kNow, kPayBy, Deadline::in(milliseconds(100)));
  EXPECT_EQ(cut.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(cut.error().text, HasSubstr("deadline"));
  RawDatabase(world.path()).run("DROP TRIGGER slow");
  EXPECT_EQ(totalsOf(*store).rows, 0);
  EXPECT_EQ(countOf(store->persist(batchOf(1, 1, id), kNow, kPayBy, soon()), PersistKind::Stored), 1u);
}

TEST(SqliteFaults, ASchemaChangedBeneathIsNamed) {
  SqliteWorld world;
  const auto store = world.open();
  RawDatabase(world.path()).run("ALTER TABLE processes RENAME TO elsewhere");
  const auto lost = store->listProcesses(soon());
  EXPECT_EQ(lost.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(lost.error().text, HasSubstr("processes"));
  RawDatabase(world.path()).run("ALTER TABLE elsewhere RENAME TO processes");
  EXPECT_TRUE(store->listProcesses(soon()));
}

TEST(SqliteFaults, AFileThatSomebodySwitchedBackFromWalIsSwitchedOnceItIsFree) {
  SqliteWorld world;
  world.open()->close();
  RawDatabase other(world.path());
  other.run("PRAGMA journal_mode = DELETE");
  other.run("BEGIN");
  ASSERT_EQ(other.rows("SELECT COUNT(*) FROM orders").at(0), "0");  // reads on, so the file is not free
  const auto store = world.make();
  const Status busy = store->start(Deadline::in(milliseconds(200)));
  EXPECT_EQ(busy.error().code, ErrorCode::Unavailable);
  std::thread reader([&] {
    std::this_thread::sleep_for(milliseconds(100));
    other.run("COMMIT");
  });
  const Status started = store->start(soon());
  reader.join();
  ASSERT_TRUE(started) << started.error().text;
  EXPECT_THAT(store->durability(soon()).value(), HasSubstr("WAL"));
}

TEST(SqliteFaults, WhatIsNoDatabaseIsRefused) {
  SqliteWorld world;
  std::filesystem::create_directories(world.folder() + "/data");
  std::ofstream(world.path()) << std::string(20000, 'x');
  const auto store = world.make();
  for (const Status& refused : {store->start(soon()), store->migrate(soon())}) {
    EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
    EXPECT_THAT(refused.error().text, HasSubstr("not an SQLite database"));
  }
}

TEST(SqliteFaults, ADamagedFileIsRefused) {
  SqliteWorld world;
  world.open()->close();
  const auto size = std::filesystem::file_size(world.path());
  ASSERT_GT(size, 8192u);
  std::fstream file(world.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(size - 4096, '\xAA');
  file.close();
  const Status refused = world.make()->start(soon());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(refused.error().text, HasSubstr("damaged"));
}

// What a restart of a server would be: another program has the file for itself again and again.
TEST(SqliteFaults, S19_WritersShutOutAgainAndAgainUnderLoadLoseAndDoubleNothing) {
  SqliteWorld world;
  const auto store = world.open();
  const VoucherId id = sell(*store, 1'000'000);
  std::atomic<bool> done{false};
  std::array<std::int64_t, 4> told{};
  std::vector<std::thread> writers;
  for (std::size_t k = 0; k < told.size(); ++k) {
    writers.emplace_back([&, k] {
      while (!done) {
        const std::int64_t first = 1 + static_cast<std::int64_t>(k) * 1'000'000 + told[k];
        const auto outcomes =
            store->persist(batchOf(first, 10, id), kNow, kPayBy, Deadline::in(milliseconds(20)));
        if (outcomes) {
          told[k] += 10;
        } else {
          EXPECT_EQ(outcomes.error().code, ErrorCode::Unavailable) << outcomes.error().text;
        }
      }
    });
  }
  for (int k = 0; k < 8; ++k) {
    std::this_thread::sleep_for(milliseconds(30));
    const auto alone = world.keepWritersOut();
    ASSERT_NE(alone, nullptr);
    std::this_thread::sleep_for(milliseconds(60));
  }
  done = true;
  for (std::thread& writer : writers) {
    writer.join();
  }
  const VoucherTotals sums = totalsOf(*store);
  EXPECT_EQ(sums.rows, told[0] + told[1] + told[2] + told[3]);
  EXPECT_EQ(sums.livePieces, sums.rows);
  EXPECT_EQ(countOf(store->persist(batchOf(9'000'001, 10, id), kNow, kPayBy, soon()), PersistKind::Stored),
            10u);
}

TEST(SqliteFaults, S20_AFileLockedAwayIsSaidInTimeAndOpensLater) {
  SqliteWorld world;
  world.open()->close();
  auto other = std::make_unique<RawDatabase>(world.path());
  other->run("PRAGMA locking_mode = EXCLUSIVE");
  other->run("BEGIN EXCLUSIVE");
  const auto store = world.make();
  const Deadline bound = Deadline::in(scaled(milliseconds(15000)));
  const Status refused = store->start(Deadline::in(scaled(milliseconds(200))));
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(refused.error().text, HasSubstr("locked by another program"));
  EXPECT_FALSE(bound.passed());
  other.reset();
  EXPECT_TRUE(store->start(soon()));
}

TEST(SqliteFaults, S20_AMissingFileIsNotCreatedByStarting) {
  SqliteWorld world;
  const Status refused = world.make()->start(soon());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(refused.error().text, HasSubstr(world.path()));
  EXPECT_FALSE(std::filesystem::exists(world.path()));
}

// In a process without root's privilege to write everywhere: opens the store and tries a batch.
int persistUnprivileged(SqliteWorld& world, VoucherId id) {
  if (::getuid() == 0 && ::setuid(65534) != 0) return 10;
  const auto store = world.make();
  if (!store->start(soon())) return 11;
  if (!store->findVoucher(id, soon())) return 12;
  const auto refused = store->persist(batchOf(1, 10, id), kNow, kPayBy, soon());
  if (refused) return 13;
  if (refused.error().code != ErrorCode::Unavailable) return 14;
  return refused.error().text.find("read-only") == std::string::npos ? 15 : 0;
}

TEST(SqliteFaults, S28_AReadOnlyFilePausesWritingAndKeepsReading) {
  SqliteWorld world;
  VoucherId id;
  {
    const auto store = world.open();
    id = sell(*store, 100);
  }
  ASSERT_EQ(::chmod(world.folder().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((world.folder() + "/data").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(world.path().c_str(), 0444), 0);
  ForkedChild reader([&] { return persistUnprivileged(world, id); });
  EXPECT_EQ(reader.wait(), 0);
  ASSERT_EQ(::chmod(world.path().c_str(), 0600), 0);
  for (const char* part : {"-wal", "-shm"}) {
    std::filesystem::remove(world.path() + part);  // left by the other user; empty
  }
  const auto store = world.open();
  EXPECT_EQ(countOf(store->persist(batchOf(1, 10, id), kNow, kPayBy, soon()), PersistKind::Stored), 10u);
}

// The disk "ends": no file may grow. Afterwards there is room again.
int persistUntilFull(SqliteWorld& world, VoucherId id) {
  std::signal(SIGXFSZ, SIG_IGN);
  const auto store = world.open();
  rlimit room{};
  ::getrlimit(RLIMIT_FSIZE, &room);
  const rlimit full{300'000, room.rlim_max};
  if (::setrlimit(RLIMIT_FSIZE, &full) != 0) return 10;
  std::int64_t next = 1;
  while (true) {
    const auto outcomes = store->persist(batchOf(next, 100, id), kNow, kPayBy, soon());
    if (!outcomes) {
      if (outcomes.error().code != ErrorCode::Unavailable) return 11;
      break;
    }
    if (next > 100'000) return 12;
    next += 100;
  }
  if (store->findOrders(std::vector<OrderId>{OrderId(next)}, soon()).value().size() != 0) return 13;
  if (::setrlimit(RLIMIT_FSIZE, &room) != 0) return 14;
  return countOf(store->persist(batchOf(next, 100, id), kNow, kPayBy, soon()), PersistKind::Stored) == 100
             ? 0
             : 15;
}

TEST(SqliteFaults, S28_AFullDiskPausesAndLosesNothing) {
  SqliteWorld world;
  VoucherId id;
  {
    const auto store = world.open();
    id = sell(*store, 1'000'000);
  }
  ForkedChild writer([&] { return persistUntilFull(world, id); });
  EXPECT_EQ(writer.wait(), 0);
  const auto store = world.open();
  const VoucherTotals sums = totalsOf(*store);
  EXPECT_EQ(sums.rows % 100, 0);
  EXPECT_GT(sums.rows, 100);
}

int persistOverlapping(SqliteWorld& world, VoucherId id, unsigned seed) {
  const auto store = world.open();
  std::mt19937 chance(seed);
  for (int k = 0; k < 40; ++k) {
    const auto outcomes =
        store->persist(batchOf(1 + static_cast<std::int64_t>(chance() % 900), 100, id), kNow, kPayBy, soon());
    if (!outcomes) return 1;
    for (const PersistOutcome& outcome : outcomes.value()) {
      if (outcome.kind != PersistKind::Stored && outcome.kind != PersistKind::Already && outcome != kNoStock)
        return 2;
    }
  }
  return 0;
}

TEST(SqliteFaults, S12_ThreeProcessesWriteTheSameOrdersAndSellNotOneTooMany) {
  SqliteWorld world;
  VoucherId id;
  {
    const auto store = world.open();
    id = sell(*store, 500);
  }
  const auto write = [&](int number) {
    return persistOverlapping(world, id, static_cast<unsigned>(number) + 1);
  };
  EXPECT_THAT(inProcesses(3, write), testing::Each(0));
  const auto store = world.open();
  const VoucherTotals sums = totalsOf(*store);
  EXPECT_EQ(sums.livePieces, 500);
  EXPECT_EQ(sums.voucher.remaining, 0);
  EXPECT_GT(sums.rows, 500);
}

// Fails at COMMIT as often as told, before or after the commit really happened.
class StumblingDialect final : public sqlite::SqliteDialect {
 public:
  StumblingDialect(sqlite::SqliteOptions options, int times, int code, bool committed)
      : SqliteDialect(std::move(options)), left_(times), code_(code), committed_(committed) {}
  void commit(sql::Session& session) override {
    const bool stumble = left_ > 0 && !isRead(session);
    if (!stumble || committed_) SqliteDialect::commit(session);
    if (!stumble) return;
    --left_;
    throw soci::sqlite3_soci_error("stumbled", code_);
  }

 private:
  static bool isRead(sql::Session& session) {
    return sqlite_api::sqlite3_txn_state(sqlite::connectionOf(session.soci), nullptr) != SQLITE_TXN_WRITE;
  }
  int left_;
  const int code_;
  const bool committed_;
};

// Counts what is drawn: one number for each jittered pause.
class CountingRandom final : public Random {
 public:
  [[nodiscard]] std::uint64_t next() noexcept override {
    ++drawn;
    return systemRandom().next();
  }
  std::atomic<std::uint64_t> drawn{0};
};

TEST(SqliteFaults, S13_ALostRaceIsRepeatedAsAWholeWithJitterAndThenGivenUp) {
  for (const int times : {3, 1000}) {
    SqliteWorld world;
    const VoucherId id = sell(*world.open(), 100);
    CountingRandom random;
    const auto store = std::make_unique<sql::SqlStore>(
        std::make_unique<StumblingDialect>(world.options(), times, SQLITE_BUSY_SNAPSHOT, false), noLog(),
        systemClock(), random);
    ASSERT_TRUE(store->start(soon()));
    const auto outcomes = store->persist(batchOf(1, 10, id), kNow, kPayBy, soon());
    if (times == 3) {
      EXPECT_EQ(countOf(outcomes, PersistKind::Stored), 10u);
    } else {
      EXPECT_EQ(outcomes.error().code, ErrorCode::Unavailable);
    }
    EXPECT_EQ(random.drawn, times == 3 ? 3u : sql::Transactions::kAttempts - 1);
    EXPECT_EQ(totalsOf(*store).rows, times == 3 ? 10 : 0);
  }
}

TEST(SqliteFaults, S18_ALostAnswerToCommitIsSaidAndRepeatingIsSafe) {
  for (const bool committed : {true, false}) {
    SqliteWorld world;
    const VoucherId id = sell(*world.open(), 100);
    const auto store =
        world.makeWith(std::make_unique<StumblingDialect>(world.options(), 1, SQLITE_IOERR_FSYNC, committed));
    ASSERT_TRUE(store->start(soon()));
    EXPECT_EQ(store->persist(batchOf(1, 10, id), kNow, kPayBy, soon()).error().code,
              ErrorCode::OutcomeUnknown);
    const auto again = store->persist(batchOf(1, 10, id), kNow, kPayBy, soon());
    EXPECT_EQ(countOf(again, committed ? PersistKind::Already : PersistKind::Stored), 10u);
    EXPECT_EQ(totalsOf(*store).rows, 10);
  }
}

TEST(SqliteErrors, SayWhetherItMayHaveHappened) {
  using sql::Stage;
  const auto codeOf = [](int native, Stage stage) {
    return sqlite::failureOf(native, "text", stage).error.code;
  };
  for (const int native : {SQLITE_BUSY, SQLITE_LOCKED, SQLITE_READONLY, SQLITE_FULL, SQLITE_IOERR_WRITE,
                           SQLITE_NOMEM, SQLITE_INTERRUPT, SQLITE_CANTOPEN, SQLITE_PROTOCOL}) {
    EXPECT_EQ(codeOf(native, Stage::Work), ErrorCode::Unavailable) << native;
    EXPECT_EQ(codeOf(native, Stage::Commit), ErrorCode::Unavailable) << native;
  }
  for (const int native : {SQLITE_IOERR_FSYNC, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_READ}) {
    EXPECT_EQ(codeOf(native, Stage::Work), ErrorCode::Unavailable) << native;
    EXPECT_EQ(codeOf(native, Stage::Commit), ErrorCode::OutcomeUnknown) << native;
  }
  EXPECT_EQ(codeOf(SQLITE_CORRUPT, Stage::Work), ErrorCode::Misconfigured);
  EXPECT_EQ(codeOf(SQLITE_NOTADB, Stage::Begin), ErrorCode::Misconfigured);
  EXPECT_EQ(codeOf(SQLITE_CONSTRAINT_CHECK, Stage::Work), ErrorCode::Internal);
  EXPECT_EQ(codeOf(SQLITE_MISUSE, Stage::Work), ErrorCode::Internal);
  EXPECT_TRUE(sqlite::failureOf(SQLITE_BUSY_SNAPSHOT, "text", Stage::Work).repeat);
  EXPECT_FALSE(sqlite::failureOf(SQLITE_BUSY, "text", Stage::Begin).repeat);
}

}  // namespace
}  // namespace sluice::test
