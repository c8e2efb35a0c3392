// LuaQualifier: the Qualifier over scripts in Redis (contract: sluice/qualifier.h).
//
// Threads:  every call takes a connection of the pool for its length, so as many calls run at one time as
//           there are connections.
// Note:     a connection carries the number of the server it led to when it was made. A call never uses a
//           connection to a server of the past, and decide() only one to a trusted server.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/lua_qualifier.h"

#include "qualify/qualify_call.h"
#include "qualify/scripts.h"
#include "qualify/server_facts.h"
#include "qualify/server_trust.h"

namespace sluice {

class LuaQualifier final : public Qualifier {
 public:
  LuaQualifier(LuaQualifierOptions options, const Clock& clock, Random& random, Log& log);

  Status start(Deadline deadline) override;
  void stop() noexcept override;
  Result<QualifierHealth> probe(Deadline deadline) override;
  void trust(const std::string& identity) override;
  bool keepsJournal() const noexcept override { return options_.journal; }
  Status decide(VoucherId voucher, std::span<const QualifyRequest> requests, UtcTime now,
                std::span<Decision> decisions, Deadline deadline) override;
  Result<std::vector<ReleaseOutcome>> release(std::span<const Admission> orders, Deadline deadline) override;
  Status takeBack(VoucherId voucher, std::span<const QualifyRequest> requests, Deadline deadline) override;
  Result<std::size_t> restore(std::span<const Order> liveOrders, Deadline deadline) override;
  Result<LoadOutcome> load(const VoucherLoad& load, Deadline deadline) override;
  Result<SyncOutcome> sync(const Voucher& voucher, Deadline deadline) override;
  Result<VoucherSnapshot> snapshot(VoucherId voucher, Deadline deadline) override;
  Result<std::vector<Hold>> holdsOf(VoucherId voucher, UserId user, Deadline deadline) override;
  Result<std::vector<Hold>> scanHolds(VoucherId voucher, std::string& cursor, Deadline deadline) override;
  Status addEligible(VoucherId voucher, std::span<const UserId> users, Deadline deadline) override;
  Result<std::vector<JournalEntry>> readJournal(JournalId after, std::size_t max, Deadline deadline) override;
  Result<std::vector<JournalEntry>> awaitJournal(JournalId after, std::size_t max,
                                                 Deadline deadline) override;
  Result<std::size_t> setAside(std::span<const JournalEntry> entries, Deadline deadline) override;
  Result<std::size_t> settleJournal(std::span<const JournalId> ids, Deadline deadline) override;
  Result<Lead> lead(const std::string& owner, milliseconds lease, Deadline deadline) override;
  Status resign(const std::string& owner, Deadline deadline) override;
  QualifierStats stats() const noexcept override;

 private:
  // --- the server behind the connections ---
  Status look(RedisConnection& connection, Deadline deadline);
  Status note(RedisConnection& connection, const ServerFacts& facts);
  Result<RedisPool::Lease> acquire(Deadline deadline) { return acquire(pool_, deadline); }
  Result<RedisPool::Lease> acquire(RedisPool& pool, Deadline deadline);
  template <typename Work>
  auto onConnection(Deadline deadline, Work work) -> decltype(work(std::declval<RedisConnection&>()));
  template <typename Work>
  auto reading(Deadline deadline, Work work) -> decltype(work(std::declval<RedisConnection&>()));
  Result<RedisReply> eval(const RedisScript& script, const RedisArgs& keys,
                          const std::vector<std::string>& args, Deadline deadline);
  std::string scratch(std::string_view what);

  // --- deciding ---
  Status mayAdmit(const RedisConnection& connection) const;
  static void claimOwn(std::span<const QualifyRequest> requests, std::span<Decision> decisions) noexcept;
  Status askOnce(RedisConnection& connection, const QualifyCall& call,
                 std::span<const QualifyRequest> requests, std::span<Decision> decisions, Deadline deadline);
  Status ask(const QualifyCall& call, std::span<const QualifyRequest> requests, std::span<Decision> decisions,
             Deadline deadline);
  void reportFrozen(std::span<const Decision> decisions, std::string_view voucherKey, std::string_view why);

  // --- holds ---
  Status releaseSome(VoucherId voucher, std::span<const Admission> orders, std::span<const std::size_t> which,
                     std::vector<ReleaseOutcome>& outcomes, Deadline deadline);
  Result<std::size_t> restoreSome(VoucherId voucher, std::span<const Order> orders,
                                  std::span<const std::size_t> which, Deadline deadline);

  const LuaQualifierOptions options_;
  const Clock& clock_;
  Random& random_;
  Log& log_;
  const RedisKeys keys_;
  const Scripts scripts_;
  const std::uint64_t instance_;  // tells the keys of several qualifiers in one thread apart

  ServerTrust trust_;
  std::atomic<bool> fit_{false};  // the server's settings passed the last look at them
  std::atomic<std::int64_t> skewMs_{0};

  std::atomic<std::uint64_t> batches_{0};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> scriptNanoseconds_{0};
  std::atomic<std::uint64_t> errors_{0};

  // Last: their connections use the members above.
  RedisPool pool_;
  RedisPool waiting_;  // for awaitJournal, which keeps a connection busy
};

}  // namespace sluice
