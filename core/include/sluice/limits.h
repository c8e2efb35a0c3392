// Every cap of the core, with the reason for its value. Configurable ones are defaults or bounds of an
// option; the rest are fixed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::limits {

using std::chrono::milliseconds;

// Requests in one call of the qualify script. Redis runs one script at a time: 64 requests keep a call well
// below one millisecond (bench/qualify_bench prints the time per size) while the fixed cost of a call is
// already spread thin; twice as many gain a few per cent and double the longest pause of everybody else.
inline constexpr std::size_t kQualifyBatchMax = 64;

// Pieces in one request, and the limit of a voucher per user: small enough that no sum of them overflows 32
// bits.
inline constexpr std::int32_t kQuantityMax = 1000;
inline constexpr std::int32_t kLimitPerUserMax = 10000;
static_assert(kQuantityMax <= kLimitPerUserMax);

// Pieces of one voucher. Lua counts in doubles, exact to 2^53; this stays far below and is more than anybody
// sells in one evening.
inline constexpr std::int64_t kAllocatedMax = 1'000'000'000'000;

inline constexpr std::size_t kTitleBytesMax = 200;
inline constexpr std::size_t kIdempotencyKeyBytesMin = 16;
inline constexpr std::size_t kIdempotencyKeyBytesMax = 64;

// One packed journal entry: six numbers of at most 20 characters and their separators.
inline constexpr std::size_t kEntryBytesMax = 128;
// Bytes of a foreign entry that a dead letter keeps, and of its reason.
inline constexpr std::size_t kDeadBytesMax = 64 * 1024;
inline constexpr std::size_t kReasonBytesMax = 2 * 1024;
// Entries of the journal that nobody can decode, put aside beside it: more of them are somebody's constant writing,
// and stay in the journal, which has a cap of its own.
inline constexpr std::size_t kAsideMax = 10'000;

// Messages in one receive; one database transaction. 500 rows need 4,000 parameters, below every database's
// limit.
inline constexpr std::size_t kReceiveBatchMax = 500;
// From this delivery on a message is handled alone, so that a poison message does not take its neighbours
// along.
inline constexpr std::uint32_t kIsolateFromDelivery = 3;

// The name of a process in the forwarder's lease: host, port and a number.
inline constexpr std::size_t kOwnerBytesMax = 320;

// Rows, holds, dead letters in one page of any listing; bounds memory and the time of one Redis or database
// call.
inline constexpr std::size_t kPageMax = 1000;

// Dead letters that one filtered call looks at, and in one reply of the queue: each may have kDeadBytesMax.
inline constexpr std::size_t kDeadScanMax = 10'000;
inline constexpr std::size_t kDeadScanPage = 100;
static_assert(kDeadScanPage <= kPageMax && kPageMax <= kDeadScanMax);

// A reply of Redis larger than this is a protocol fault: the largest honest one is a page of holds or journal
// entries.
inline constexpr std::size_t kRedisReplyElementsMax = 65536;

// Difference between our clock and Redis': not ready above the first, no admission above the second.
inline constexpr milliseconds kClockSkewNotReady{250};
inline constexpr milliseconds kClockSkewRefuse{1000};

// Keys of a voucher live this long after its end: longer than any backlog, dispute or long week-end.
inline constexpr std::chrono::hours kKeyRetention{24 * 30};

// Process numbers: 10 bits of the order id.
inline constexpr std::int32_t kProcessNumbers = 1024;

}  // namespace sluice::limits
