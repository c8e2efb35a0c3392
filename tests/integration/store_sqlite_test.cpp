// store_sqlite's own ways: the plugin and its options, the file, the schema's steps, and that every query has
// its index.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <sys/stat.h>

#include "sluice/plugin_loader.h"

#include "integration/sqlite_world.h"
#include "support/places.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kSoon{20};
const UtcTime kNow = fromMillis(1767225600000);

Deadline soon() { return Deadline::in(kSoon); }
unsigned modeOf(const std::string& path) {
  struct stat found {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 07777u;
}

// --- the plugin ---

class SqlitePlugin : public testing::Test {
 protected:
  void SetUp() override {
    const auto loaded = PluginLoader(places::plugins()).load(PluginKind::Store, "sqlite");
    ASSERT_TRUE(loaded) << loaded.error().text;
    plugin_ = loaded.value();
  }
  Result<std::unique_ptr<OrderStore>> make(const std::map<std::string, std::string>& given) {
    std::vector<ConfigFault> faults;
    const OptionMap options =
        checkOptions({plugin_->options, plugin_->optionCount}, given, "store.sqlite.", faults);
    EXPECT_TRUE(faults.empty());
    return plugin_->makeStore({options, noLog(), systemClock(), systemRandom(), folder_.path()});
  }
  const PluginDescriptor* plugin_ = nullptr;
  TempFolder folder_;
};

TEST_F(SqlitePlugin, KeepsItsFileBelowTheDataFolderForItsOwnerOnly) {
  for (const auto& [path, expected] :
       std::map<std::string, std::string>{{"", "/sluice.db"}, {"a/b/x.db", "/a/b/x.db"}}) {
    auto made = make(path.empty() ? std::map<std::string, std::string>()
                                  : std::map<std::string, std::string>{{"path", path}});
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + expected)) << "construction is inert";
    ASSERT_TRUE(made.value()->migrate(soon()));
    ASSERT_TRUE(made.value()->start(soon()));
    ASSERT_TRUE(made.value()->createVoucher(VoucherId(), settingsOf(1, 1), soon()));
    for (const char* part : {"", "-wal", "-shm"}) {
      EXPECT_EQ(modeOf(folder_.path() + expected + part), 0600u) << part;
    }
  }
  EXPECT_EQ(modeOf(folder_.file("a")), 0700u);
  EXPECT_EQ(modeOf(folder_.file("a/b")), 0700u);
}

TEST_F(SqlitePlugin, SaysWhatACommitMeans) {
  for (const auto& [synchronous, expected] : std::map<std::string, std::string>{
           {"full", "WAL, synchronous=FULL"}, {"normal", "WAL, synchronous=NORMAL"}}) {
    const auto made = make({{"synchronous", synchronous}}).take();
    ASSERT_TRUE(made->migrate(soon()));
    ASSERT_TRUE(made->start(soon()));
    EXPECT_THAT(made->durability(soon()).value(), HasSubstr(expected));
  }
}

TEST_F(SqlitePlugin, RefusesPathsThatCannotName) {
  for (const char* path : {"a\"b.db", "folder/"}) {
    const auto made = make({{"path", path}});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::Misconfigured);
    EXPECT_THAT(made.error().text, HasSubstr("store.sqlite.path"));
  }
}

TEST_F(SqlitePlugin, TakesOddCharactersInItsPath) {
  const auto made = make({{"path", "a = b; c 'd' 碗?mode=ro.db"}}).take();
  ASSERT_TRUE(made->migrate(soon()));
  const Status started = made->start(soon());
  ASSERT_TRUE(started) << started.error().text;
  EXPECT_TRUE(std::filesystem::exists(folder_.file("a = b; c 'd' 碗?mode=ro.db")));
}

// --- the schema ---

TEST(SqliteSchema, TablesOfOthersAreRefusedAndLeftAsTheyWere) {
  SqliteWorld world;
  std::filesystem::create_directories(world.folder() + "/data");
  RawDatabase(world.path()).run("CREATE TABLE orders (id INTEGER, drink TEXT)");
  const auto store = world.make();
  for (const Status& refused : {store->start(soon()), store->migrate(soon())}) {
    EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
    EXPECT_THAT(refused.error().text, HasSubstr("another program"));
  }
  EXPECT_EQ(RawDatabase(world.path()).rows("PRAGMA journal_mode").at(0), "delete");
  EXPECT_EQ(RawDatabase(world.path()).rows("SELECT COUNT(*) FROM sqlite_schema").at(0), "1");
}

TEST(SqliteSchema, ALedgerThatIsNotOursIsRefused) {
  SqliteWorld world;
  (void)world.open();
  RawDatabase(world.path()).run("UPDATE sluice_schema SET name = 'something else'");
  const Status refused = world.make()->start(soon());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(refused.error().text, HasSubstr("version 1"));
}

TEST(SqliteSchema, HoldsTheLawsEvenAgainstStatementsByHand) {
  SqliteWorld world;
  const auto store = world.open();
  const VoucherId id = store->createVoucher(VoucherId(), settingsOf(10, 2), soon()).value().id;
  const std::vector<Admission> batch = {{OrderId(1), UserId(1), id, 1, kNow},
                                        {OrderId(2), UserId(1), id, 1, kNow}};
  ASSERT_TRUE(store->persist(batch, kNow, kNow, soon()));
  sqlite_api::sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite_api::sqlite3_open(world.path().c_str(), &raw), SQLITE_OK);
  for (const char* wrong :
       {"UPDATE vouchers SET remaining = -1", "UPDATE vouchers SET remaining = 11",
        "UPDATE orders SET slot = 1", "UPDATE orders SET slot = NULL", "UPDATE orders SET status = 9",
        "UPDATE orders SET status = 4", "UPDATE orders SET quantity = 0", "UPDATE orders SET user_id = 'me'",
        "UPDATE orders SET pay_by = NULL", "UPDATE orders SET released_at = 1",
        "UPDATE orders SET reason = 3"}) {
    EXPECT_EQ(sqlite_api::sqlite3_exec(raw, wrong, nullptr, nullptr, nullptr) & 0xFF, SQLITE_CONSTRAINT)
        << wrong;
  }
  sqlite_api::sqlite3_close(raw);
}

// --- the plans ---

// Notes every statement that the store runs.
class ListeningDialect final : public sqlite::SqliteDialect {
 public:
  ListeningDialect(sqlite::SqliteOptions options, std::set<std::string>& heard)
      : SqliteDialect(std::move(options)), heard_(heard) {}
  Result<std::unique_ptr<sql::Session>> open(sql::Use use, Deadline deadline) override {
    auto session = SqliteDialect::open(use, deadline);
    if (!session) return session;
    sqlite_api::sqlite3_trace_v2(sqlite::connectionOf(session.value()->soci), SQLITE_TRACE_STMT, note,
                                 &heard_);
    return session;
  }

 private:
  static int note(unsigned, void* heard, void*, void* text) {
    static_cast<std::set<std::string>*>(heard)->insert(static_cast<const char*>(text));
    return 0;
  }
  std::set<std::string>& heard_;
};

void fill(OrderStore& store, int vouchers, int batches) {
  for (int k = 0; k < vouchers; ++k) {
    ASSERT_TRUE(store.createVoucher(VoucherId(), settingsOf(1'000'000, 5), soon()));
  }
  std::int64_t order = 0;
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<Admission> admissions;
    for (int k = 0; k < 500; ++k) {
      ++order;
      admissions.push_back(
          {OrderId(order), UserId(1 + order % 5000), VoucherId(1 + order % vouchers), 1, kNow});
    }
    ASSERT_TRUE(
        store.persist(admissions, kNow + milliseconds(batch), kNow + milliseconds(batch + 10), soon()));
  }
}

void useEveryCall(OrderStore& store) {
  const VoucherId id(2);
  const UserId user(17);
  const std::vector<UserId> users = {UserId(1), UserId(2)};
  const std::vector<OrderId> orders = {OrderId(7), OrderId(8), OrderId(9)};
  const std::vector<AdmissionCount> counts = {{id, 3}};
  const std::vector<Admission> batch = {{OrderId(900001), user, id, 1, kNow},
                                        {OrderId(900002), user, VoucherId(3), 1, kNow}};
  EXPECT_TRUE(store.persist(batch, kNow, kNow, soon()));
  EXPECT_TRUE(store.pay(OrderId(3), kNow, soon()));
  EXPECT_TRUE(store.refund(OrderId(3), kNow, soon()));
  EXPECT_TRUE(store.cancel({batch[0], DeadReason::ByUser}, kNow, soon()));
  EXPECT_TRUE(store.cancel({{OrderId(900003), user, id, 1, kNow}, DeadReason::ByUser}, kNow, soon()));
  EXPECT_GT(store.expire(kNow + milliseconds(11), 500, soon()).value(), 0u);
  EXPECT_TRUE(store.unreleased(100, soon()));
  EXPECT_TRUE(store.markReleased(orders, kNow, soon()));
  EXPECT_TRUE(store.findOrder(OrderId(5), soon()));
  EXPECT_TRUE(store.findOrders(orders, soon()));
  for (const auto& status : {std::optional<OrderStatus>(), std::optional(OrderStatus::Paid)}) {
    EXPECT_TRUE(store.listOrders(id, UserId(), status, OrderId(5), 100, soon()));
    EXPECT_TRUE(store.listOrders(id, user, status, OrderId(5), 100, soon()));
  }
  EXPECT_TRUE(store.recentOrders(milliseconds(5), {}, 100, soon()));
  EXPECT_TRUE(store.recentOrders(milliseconds(5), {kNow, OrderId(5)}, 100, soon()));
  EXPECT_TRUE(store.totals(VoucherId(), 100, soon()));
  EXPECT_TRUE(store.updateVoucher(id, 1, settingsOf(2'000'000, 5), soon()));
  EXPECT_TRUE(store.listVouchers(VoucherId(), 100, soon()));
  EXPECT_TRUE(store.addEligible(id, users, soon()));
  EXPECT_TRUE(store.listEligible(id, UserId(1), 100, soon()));
  const auto lease = store.leaseProcess("plans", kSoon, kNow, soon());
  EXPECT_TRUE(store.renewProcess(lease.value(), kSoon, kNow, counts, soon()));
}

// Full scans that are right: they stop at a LIMIT or walk a table of at most 1024 rows.
bool isWanted(const std::string& plan) {
  return plan.find("SCAN orders USING INDEX orders_unreleased") != std::string::npos ||
         plan.find("SCAN processes") != std::string::npos ||
         plan.find("SCAN vouchers") != std::string::npos || plan.find("SCAN above") != std::string::npos ||
         plan.find("SCAN several") != std::string::npos || plan.find("CONSTANT ROW") != std::string::npos;
}

void expectIndexes(const std::string& path, const std::set<std::string>& statements) {
  RawDatabase raw(path);
  std::size_t searches = 0;
  for (const std::string& statement : statements) {
    if (statement.starts_with("BEGIN") || statement.starts_with("COMMIT") || statement.starts_with("PRAGMA"))
      continue;
    if (statement.starts_with("--")) continue;  // what a foreign key's check runs
    for (const std::string& plan : raw.rows("EXPLAIN QUERY PLAN " + statement)) {
      searches += plan.find("SEARCH") != std::string::npos;
      EXPECT_TRUE(plan.find("SCAN") == std::string::npos || isWanted(plan))
          << plan << "\n in " << statement.substr(0, 300);
    }
  }
  EXPECT_GT(searches, 20u);
}

TEST(SqlitePlans, NoQueryScansTheOrders) {
  sqlite::SqliteOptions options;
  options.synchronousFull = false;
  SqliteWorld world(options);
  ASSERT_TRUE(world.make()->migrate(soon()));
  std::set<std::string> heard;
  const auto store = world.makeWith(std::make_unique<ListeningDialect>(world.options(), heard));
  ASSERT_TRUE(store->start(soon()));
  fill(*store, 3, 40);
  heard.clear();
  useEveryCall(*store);
  expectIndexes(world.path(), heard);
  RawDatabase(world.path()).run("ANALYZE");  // an operator's: the plans must hold with statistics too
  expectIndexes(world.path(), heard);
}

}  // namespace
}  // namespace sluice::test
