// SqlStore: opening, migrating, closing, and how a call runs its transaction.
#include "sql_store.h"

#include "schema.h"

namespace sluice::sql {

Dialect::~Dialect() = default;

SqlStore::SqlStore(std::unique_ptr<Dialect> dialect, Log& log, const Clock& clock, Random& random)
    : dialect_(std::move(dialect)),
      log_(log),
      clock_(clock),
      random_(random),
      transactions_(*dialect_, log, random) {}

Status SqlStore::start(Deadline deadline) {
  if (pools() != nullptr) return {};
  auto opened = std::make_shared<Pools>(Pools{transactions_.pool(Use::Read), transactions_.pool(Use::Write)});
  Status done = transactions_.run(*opened->writers, Use::Read, deadline,
                                  [this](Session& session) { return checkSchema(session, *dialect_); });
  if (done) {
    done = transactions_.outside(*opened->writers, deadline,
                                 [this](Session& session) { return dialect_->adopt(session); });
  }
  if (done) done = keepIfOpen(std::move(opened));
  return done ? done : done.error().during("open the store");
}

Status SqlStore::migrate(Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return {ErrorCode::Stopped, "the store is closed"};
  }
  if (const Status prepared = dialect_->prepare(deadline); !prepared)
    return prepared.error().during("migrate");
  const auto pool = transactions_.pool(Use::Migrate);
  int step = 0;
  do {
    const Status done = transactions_.run(*pool, Use::Migrate, deadline, [&](Session& session) -> Status {
      const auto applied = migrateStep(session, *dialect_, clock_.now());
      if (!applied) return applied.error();
      step = applied.value();
      return {};
    });
    if (!done) return done.error().during("migrate");
    if (step != 0) log_.info(dialect_->name(), "the schema now has version " + std::to_string(step));
  } while (step != 0);
  return {};
}

void SqlStore::close() noexcept {
  std::shared_ptr<Pools> old;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    old = std::move(pools_);
  }
  if (old == nullptr) return;
  old->readers->close();
  old->writers->close();
}

Result<std::string> SqlStore::durability(Deadline deadline) {
  return answer(Use::Read, "read the settings", deadline,
                [this](Session& session) -> Result<std::string> { return dialect_->durability(session); });
}

Status SqlStore::run(Use use, const char* doing, Deadline deadline, const Transactions::Body& body) {
  const std::shared_ptr<Pools> held = pools();
  if (held == nullptr) return {ErrorCode::Stopped, std::string(doing) + ": the store is not open"};
  SessionPool& pool = use == Use::Read ? *held->readers : *held->writers;
  const Status done = transactions_.run(pool, use, deadline, body);
  return done ? done : done.error().during(doing);
}

std::shared_ptr<SqlStore::Pools> SqlStore::pools() const {
  const std::lock_guard lock(mutex_);
  return pools_;
}

Status SqlStore::keepIfOpen(std::shared_ptr<Pools> pools) {
  const std::lock_guard lock(mutex_);
  if (closed_) return {ErrorCode::Stopped, "the store is closed"};
  if (pools_ == nullptr) pools_ = std::move(pools);
  return {};
}

}  // namespace sluice::sql
