// See faulty_qualifier.h.
#include "support/faulty_qualifier.h"

#include <algorithm>

namespace sluice::test {

Status FaultyQualifier::start(Deadline deadline) {
  return faults.run("start", [&] { return real_.start(deadline); });
}

void FaultyQualifier::stop() noexcept { real_.stop(); }

Result<QualifierHealth> FaultyQualifier::probe(Deadline deadline) {
  return faults.run("probe", [&] { return real_.probe(deadline); });
}

void FaultyQualifier::trust(const std::string& identity) { real_.trust(identity); }

Status FaultyQualifier::decide(VoucherId voucher, std::span<const QualifyRequest> requests, UtcTime now,
                               std::span<Decision> decisions, Deadline deadline) {
  std::vector<Decision> made(decisions.size());
  Status decided = faults.run("decide", [&] { return real_.decide(voucher, requests, now, made, deadline); });
  // With a lost answer the caller has no decision, although there is one.
  if (decided) std::copy(made.begin(), made.end(), decisions.begin());
  return decided;
}

Result<std::vector<ReleaseOutcome>> FaultyQualifier::release(std::span<const Admission> orders,
                                                             Deadline deadline) {
  return faults.run("release", [&] { return real_.release(orders, deadline); });
}

Status FaultyQualifier::takeBack(VoucherId voucher, std::span<const QualifyRequest> requests,
                                 Deadline deadline) {
  return faults.run("takeBack", [&] { return real_.takeBack(voucher, requests, deadline); });
}

Result<std::size_t> FaultyQualifier::restore(std::span<const Order> liveOrders, Deadline deadline) {
  return faults.run("restore", [&] { return real_.restore(liveOrders, deadline); });
}

Result<LoadOutcome> FaultyQualifier::load(const VoucherLoad& load, Deadline deadline) {
  return faults.run("load", [&] { return real_.load(load, deadline); });
}

Result<SyncOutcome> FaultyQualifier::sync(const Voucher& voucher, Deadline deadline) {
  return faults.run("sync", [&] { return real_.sync(voucher, deadline); });
}

Result<VoucherSnapshot> FaultyQualifier::snapshot(VoucherId voucher, Deadline deadline) {
  return faults.run("snapshot", [&] { return real_.snapshot(voucher, deadline); });
}

Result<std::vector<Hold>> FaultyQualifier::holdsOf(VoucherId voucher, UserId user, Deadline deadline) {
  return faults.run("holdsOf", [&] { return real_.holdsOf(voucher, user, deadline); });
}

Result<std::vector<Hold>> FaultyQualifier::scanHolds(VoucherId voucher, std::string& cursor,
                                                     Deadline deadline) {
  return faults.run("scanHolds", [&] { return real_.scanHolds(voucher, cursor, deadline); });
}

Status FaultyQualifier::addEligible(VoucherId voucher, std::span<const UserId> users, Deadline deadline) {
  return faults.run("addEligible", [&] { return real_.addEligible(voucher, users, deadline); });
}

Result<std::vector<JournalEntry>> FaultyQualifier::readJournal(JournalId after, std::size_t max,
                                                               Deadline deadline) {
  return faults.run("readJournal", [&] { return real_.readJournal(after, max, deadline); });
}

Result<std::vector<JournalEntry>> FaultyQualifier::awaitJournal(JournalId after, std::size_t max,
                                                                Deadline deadline) {
  return faults.run("awaitJournal", [&] { return real_.awaitJournal(after, max, deadline); });
}

Result<std::size_t> FaultyQualifier::setAside(std::span<const JournalEntry> entries, Deadline deadline) {
  return faults.run("setAside", [&] { return real_.setAside(entries, deadline); });
}

Result<std::size_t> FaultyQualifier::settleJournal(std::span<const JournalId> ids, Deadline deadline) {
  return faults.run("settleJournal", [&] { return real_.settleJournal(ids, deadline); });
}

Result<Lead> FaultyQualifier::lead(const std::string& owner, milliseconds lease, Deadline deadline) {
  return faults.run("lead", [&] { return real_.lead(owner, lease, deadline); });
}

Status FaultyQualifier::resign(const std::string& owner, Deadline deadline) {
  return faults.run("resign", [&] { return real_.resign(owner, deadline); });
}

QualifierStats FaultyQualifier::stats() const noexcept { return real_.stats(); }

}  // namespace sluice::test
