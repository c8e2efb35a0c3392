// See transactions.h.
#include "transactions.h"

#include <thread>

namespace sluice::sql {

namespace {

constexpr milliseconds kRepeatBase{2};
constexpr milliseconds kRepeatCap{50};

}  // namespace

std::unique_ptr<SessionPool> Transactions::pool(Use use) {
  return std::make_unique<SessionPool>(
      dialect_.sessions(use), [this, use](Deadline deadline) { return dialect_.open(use, deadline); });
}

Status Transactions::run(SessionPool& pool, Use use, Deadline deadline, const Body& body) {
  for (std::uint32_t k = 0;; ++k) {
    const auto failure = attempt(pool, use, deadline, body);
    if (!failure) return {};
    if (!failure->repeat || k + 1 == kAttempts) return failure->error;
    const milliseconds pause = backoff(k, kRepeatBase, kRepeatCap, random_);
    if (deadline.remaining() <= pause) return failure->error;
    log_.repeated(LogLevel::Info, dialect_.name(), "repeated transaction",
                  "a transaction is repeated: " + failure->error.text);
    std::this_thread::sleep_for(pause);  // jitter: the two that met must not meet again
  }
}

std::optional<Failure> Transactions::attempt(SessionPool& pool, Use use, Deadline deadline,
                                             const Body& body) {
  std::optional<SessionPool::Lease> lease;
  try {
    auto leased = pool.lease(deadline);
    if (!leased) return Failure{leased.error()};
    lease.emplace(std::move(leased).take());
  } catch (...) {
    return caught(Stage::Begin);
  }
  std::optional<Failure> failure;
  bool keep = true;
  bool cut = false;
  {
    const Watchdog::Watch watch(watchdog_, (**lease).socket, deadline);
    failure = work(**lease, use, body);
    if (failure) keep = !failure->connectionLost && dialect_.rollback(**lease);
    cut = watch.cut();
  }
  if (cut) dialect_.abandon(**lease);
  if (cut && failure && failure->error.code == ErrorCode::Unavailable) {
    failure->error.text = "the database did not answer by the deadline";
  }
  if (!keep || cut) lease->discard();
  // Those as old as a connection that broke by itself are suspect.
  if (failure && failure->connectionLost && !cut) pool.dropIdle();
  return failure;
}

std::optional<Failure> Transactions::work(Session& session, Use use, const Body& body) {
  Stage stage = Stage::Begin;
  try {
    dialect_.begin(session, use);
    stage = Stage::Work;
    if (const Status done = body(session); !done) return Failure{done.error()};
    stage = Stage::Commit;
    dialect_.commit(session);
    return std::nullopt;
  } catch (...) {
    return caught(stage);
  }
}

Status Transactions::outside(SessionPool& pool, Deadline deadline, const Body& body) {
  try {
    auto lease = pool.lease(deadline);
    if (!lease) return lease.error();
    const Watchdog::Watch watch(watchdog_, (*lease.value()).socket, deadline);
    return body(*lease.value());
  } catch (...) {
    return caught(Stage::Begin).error;
  }
}

Failure Transactions::caught(Stage stage) const {
  try {
    throw;
  } catch (const soci::soci_error& error) {
    return dialect_.translate(error, stage);
  } catch (const std::exception& error) {
    return {{ErrorCode::Internal, std::string("unexpected: ") + error.what()}, false};
  }
}

}  // namespace sluice::sql
