// FaultyQualifier: a real qualifier that fails on command.
#pragma once

#include "sluice/qualifier.h"

#include "support/faults.h"

namespace sluice::test {

// What fails before the call never reaches the real one; what fails after it has happened there.
class FaultyQualifier final : public Qualifier {
 public:
  explicit FaultyQualifier(Qualifier& real) : real_(real) {}

  Faults faults{qualifierCalls()};

  [[nodiscard]] Status start(Deadline deadline) override;
  void stop() noexcept override;
  [[nodiscard]] Result<QualifierHealth> probe(Deadline deadline) override;
  void trust(const std::string& identity) override;
  [[nodiscard]] bool keepsJournal() const noexcept override { return real_.keepsJournal(); }
  [[nodiscard]] Status decide(VoucherId voucher, std::span<const QualifyRequest> requests, UtcTime now,
                              std::span<Decision> decisions, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<ReleaseOutcome>> release(std::span<const Admission> orders,
                                                            Deadline deadline) override;
  [[nodiscard]] Status takeBack(VoucherId voucher, std::span<const QualifyRequest> requests,
                                Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> restore(std::span<const Order> liveOrders, Deadline deadline) override;
  [[nodiscard]] Result<LoadOutcome> load(const VoucherLoad& load, Deadline deadline) override;
  [[nodiscard]] Result<SyncOutcome> sync(const Voucher& voucher, Deadline deadline) override;
  [[nodiscard]] Result<VoucherSnapshot> snapshot(VoucherId voucher, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Hold>> holdsOf(VoucherId voucher, UserId user, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Hold>> scanHolds(VoucherId voucher, std::string& cursor,
                                                    Deadline deadline) override;
  [[nodiscard]] Status addEligible(VoucherId voucher, std::span<const UserId> users,
                                   Deadline deadline) override;
  [[nodiscard]] Result<std::vector<JournalEntry>> readJournal(JournalId after, std::size_t max,
                                                              Deadline deadline) override;
  [[nodiscard]] Result<std::vector<JournalEntry>> awaitJournal(JournalId after, std::size_t max,
                                                               Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> setAside(std::span<const JournalEntry> entries,
                                             Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> settleJournal(std::span<const JournalId> ids, Deadline deadline) override;
  [[nodiscard]] Result<Lead> lead(const std::string& owner, milliseconds lease, Deadline deadline) override;
  [[nodiscard]] Status resign(const std::string& owner, Deadline deadline) override;
  [[nodiscard]] QualifierStats stats() const noexcept override;

 private:
  Qualifier& real_;
};

}  // namespace sluice::test
