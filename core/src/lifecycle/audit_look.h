// What the audit sees: the holds of a voucher beside its rows, and all admissions that wait for a row.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_set>
#include <vector>

#include "sluice/operations.h"

namespace sluice::lifecycle {

// All holds of a voucher, and its counters before and after they were read.
struct HoldTable {
  VoucherSnapshot before;
  VoucherSnapshot after;
  std::vector<Hold> holds;        // by order, then user; each once
  std::int64_t pieces = 0;        // their sum
  std::uint64_t fingerprint = 0;  // of the set: equal sets, equal fingerprints
  [[nodiscard]] bool loaded() const noexcept { return before.loaded && after.loaded; }
  [[nodiscard]] bool has(OrderId order) const;
};

[[nodiscard]] Result<HoldTable> readHolds(Parts parts, VoucherId voucher, Deadline deadline);

// How many orders show a fault, and one of them as an example.
struct Found {
  std::int64_t count = 0;
  OrderId first;
  void add(OrderId order) noexcept {
    if (count++ == 0) first = order;
  }
};

// What rows and holds say about each other. Both are read while orders move, so the doubts need a second
// look; the faults do not.
struct Comparison {
  std::vector<Hold> noRow;    // doubt: a hold without a row
  std::vector<Hold> noHold;   // doubt: a live row without a hold
  std::vector<Hold> notGone;  // doubt: a dead row, marked as released, with a hold
  Found otherFacts;           // fault: row and hold of one order name another user or other pieces
  Found heldTwice;            // fault: one order held by two users
  Found liveReleased;         // fault: a live row marked as released
};

[[nodiscard]] Result<Comparison> compareWithRows(Parts parts, VoucherId voucher, const HoldTable& table,
                                                 Deadline deadline);

// Of these orders, those that have a row; with `liveOnly`, a live one.
[[nodiscard]] Result<std::unordered_set<OrderId>> withRow(Parts parts, std::span<const Hold> orders,
                                                          bool liveOnly, Deadline deadline);

// Admissions on their way to the store.
struct Waiting {
  std::unordered_set<OrderId> orders;  // in the journal or a dead letter, and no row
  std::map<VoucherId, std::int64_t> count;
  std::map<VoucherId, std::int64_t> deadLettered;
  bool journalEmpty = true;
  std::int64_t queueDepth = 0;       // ready and in flight
  bool queueHides = false;           // the queue carries what the journal may not have, and cannot be listed
  std::vector<ProcessLease> leases;  // in force, where an admission may be in a process' memory only
  [[nodiscard]] bool mayBeOnItsWay(OrderId order) const;
};

// Journal, dead letters, queue and leases, in the direction in which orders move, so that none slips by.
[[nodiscard]] Result<Waiting> readWaiting(Parts parts, Deadline deadline);

}  // namespace sluice::lifecycle
