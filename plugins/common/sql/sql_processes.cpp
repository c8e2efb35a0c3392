// SqlStore: process numbers held by lease, and what each process counted.
#include <algorithm>

#include "sluice/printable.h"

#include "checks.h"
#include "rows.h"
#include "sql_store.h"
#include "statement.h"

namespace sluice::sql {

namespace {

constexpr std::size_t kNameBytesMax = 200;

std::optional<std::string> faultOfName(const std::string& name) {
  if (!name.empty() && name.size() <= kNameBytesMax && isPrintable(name)) return std::nullopt;
  return "a process name has 1 to " + std::to_string(kNameBytesMax) +
         " bytes of UTF-8 without control characters";
}

// 128 bits: no two leases share one, whoever drew it.
std::string newToken(Random& random) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (int word = 0; word < 2; ++word) {
    std::uint64_t bits = random.next();
    for (int digit = 0; digit < 16; ++digit, bits >>= 4u) {
      token += kDigits[bits & 0xFu];
    }
  }
  return token;
}

std::optional<ProcessLease> selectProcess(Session& session, std::int32_t number, std::string_view lock) {
  auto rows = selectProcesses(session, Text("WHERE number = ") << std::int64_t{number} << lock);
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

// The lowest number that nobody holds at `now`, and the row of its last holder where there was one.
struct FreeNumber {
  std::int32_t number = 0;
  std::optional<ProcessLease> last;
};

std::optional<FreeNumber> findFree(const std::vector<ProcessLease>& leases, UtcTime now) {
  std::int32_t expected = 0;
  for (const ProcessLease& lease : leases) {
    if (lease.number != expected) break;
    if (lease.expiresAt <= now) return FreeNumber{lease.number, lease};
    ++expected;
  }
  if (expected >= limits::kProcessNumbers) return std::nullopt;
  return FreeNumber{expected, std::nullopt};
}

void writeProcess(Session& session, const ProcessLease& lease, bool exists) {
  const Text text =
      exists ? Text("UPDATE processes SET name = :name, token = :token, since = ")
                   << lease.since << ", expires_at = " << lease.expiresAt
                   << " WHERE number = " << std::int64_t{lease.number}
             : Text("INSERT INTO processes (name, token, number, since, expires_at) VALUES (:name, :token, ")
                   << std::int64_t{lease.number} << "," << lease.since << "," << lease.expiresAt << ")";
  execute(session, text, {lease.name, lease.token});
}

// Counts are absolute within a lease and only grow: a late, repeated call must not take them back.
void recordCounts(Session& session, const std::string& token, std::span<const AdmissionCount> counts) {
  std::map<VoucherId, std::int64_t> wanted;
  for (const AdmissionCount& count : counts) {
    wanted[count.voucher] = std::max(wanted[count.voucher], count.admitted);
  }
  if (wanted.empty()) return;
  const std::string where =
      " WHERE token = :token AND voucher_id IN " +
      Text().list(wanted, [](Text& text, const auto& entry) { text << entry.first; }).str();
  {
    Rows<2> rows(session, Text("SELECT voucher_id, admitted FROM admission_counts") << where, {token});
    while (rows.next()) {
      std::int64_t& admitted = wanted[VoucherId(rows.number(0))];
      admitted = std::max(admitted, rows.number(1));
    }
  }
  execute(session, Text("DELETE FROM admission_counts") << where, {token});
  for (const auto& [voucher, admitted] : wanted) {
    execute(session,
            Text("INSERT INTO admission_counts (voucher_id, token, admitted) VALUES (")
                << voucher << ", :token, " << admitted << ")",
            {token});
  }
}

std::optional<std::string> faultOfCounts(std::span<const AdmissionCount> counts) {
  if (auto fault = faultOfPage(counts.size())) return fault;
  for (const AdmissionCount& count : counts) {
    if (!count.voucher.valid() || count.admitted < 0)
      return "a count needs a voucher and must not be negative";
  }
  return std::nullopt;
}

}  // namespace

Result<ProcessLease> SqlStore::leaseProcess(const std::string& name, milliseconds duration, UtcTime now,
                                            Deadline deadline) {
  if (const auto fault = faultOfName(name))
    return {ErrorCode::InvalidArgument, "lease a process number: " + *fault};
  return answer(
      Use::Write, "lease a process number", deadline, [&](Session& session) -> Result<ProcessLease> {
        const auto held = selectProcesses(session, Text("ORDER BY number") << dialect_->lockRows());
        const auto free = findFree(held, now);
        if (!free) {
          return {ErrorCode::Overloaded, "all " + std::to_string(limits::kProcessNumbers) +
                                             " process numbers are held; wait for a lease to run out"};
        }
        const UtcTime since = free->last ? std::max(now, free->last->expiresAt + milliseconds(1)) : now;
        const ProcessLease lease{free->number, name, newToken(random_), since,
                                 std::max(since, now + duration)};
        writeProcess(session, lease, free->last.has_value());
        return lease;
      });
}

Result<ProcessLease> SqlStore::renewProcess(const ProcessLease& lease, milliseconds duration, UtcTime now,
                                            std::span<const AdmissionCount> counts, Deadline deadline) {
  if (const auto fault = faultOfCounts(counts))
    return {ErrorCode::InvalidArgument, "renew process: " + *fault};
  return answer(Use::Write, "renew process", deadline, [&](Session& session) -> Result<ProcessLease> {
    auto held = selectProcess(session, lease.number, dialect_->lockRows());
    if (!held || held->token != lease.token) {
      return {ErrorCode::Conflict, "process number " + std::to_string(lease.number) + " has another holder"};
    }
    // Never earlier than promised before, even if the clock was set back: ids up to then may exist.
    held->expiresAt = std::max(held->expiresAt, now + duration);
    writeProcess(session, *held, true);
    recordCounts(session, lease.token, counts);
    return *held;
  });
}

Status SqlStore::endProcess(const ProcessLease& lease, UtcTime now, std::span<const AdmissionCount> counts,
                            Deadline deadline) {
  if (const auto fault = faultOfCounts(counts)) return {ErrorCode::InvalidArgument, "end process: " + *fault};
  return run(Use::Write, "end process", deadline, [&](Session& session) -> Status {
    auto held = selectProcess(session, lease.number, dialect_->lockRows());
    // Counts belong to the lease's token, so they count even where the number has gone to another holder.
    recordCounts(session, lease.token, counts);
    if (!held || held->token != lease.token) return {};
    held->expiresAt = std::max(now, held->since);
    writeProcess(session, *held, true);
    return {};
  });
}

Result<std::vector<ProcessLease>> SqlStore::listProcesses(Deadline deadline) {
  return answer(Use::Read, "list processes", deadline,
                [](Session& session) -> Result<std::vector<ProcessLease>> {
                  return selectProcesses(session, Text("ORDER BY number"));
                });
}

}  // namespace sluice::sql
