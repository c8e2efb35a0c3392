// Every cap of the HTTP server, with the reason for its value. Those that an option of http.* changes are
// defaults of that option.
#pragma once

#include <chrono>
#include <cstddef>

namespace sluice::server::limits {

using std::chrono::milliseconds;

// Of a request head. An honest client sends a few hundred bytes; browsers with cookies and proxies with their
// own headers stay well below.
inline constexpr std::size_t kRequestLineBytesMax = 4 * 1024;
inline constexpr std::size_t kHeaderBytesMax = 8 * 1024;
inline constexpr std::size_t kHeadBytesMax = 16 * 1024;
inline constexpr std::size_t kHeadersMax = 64;
static_assert(kRequestLineBytesMax < kHeadBytesMax && kHeaderBytesMax < kHeadBytesMax);

// Bodies: an order needs 20 bytes; an operator lists eligible users.
inline constexpr std::size_t kBodyBytesMax = 4 * 1024;
inline constexpr std::size_t kAdminBodyBytesMax = 64 * 1024;

// Requests of one connection. Bounds what a connection that is never closed can do to fairness; a reconnect
// each thousand requests costs nothing that can be measured.
inline constexpr int kRequestsPerConnectionMax = 1000;

// One sleep of a thread that waits for bytes. After each it looks whether other connections wait for a thread
// or the server stops; shorter costs wake-ups of idle threads, longer delays those who wait.
inline constexpr milliseconds kReadSlice{200};
// A connection that has said nothing costs a descriptor and no thread; a crowd that connects early may wait
// this long for the start.
inline constexpr milliseconds kSilentMax{15000};
static_assert(kReadSlice < kSilentMax);

// After an answer that closes a connection with bytes still unread, these are read and thrown away: closing
// at once would make the kernel send a reset, which can overtake the answer.
inline constexpr milliseconds kLinger{500};
inline constexpr std::size_t kLingerBytesMax = 256 * 1024;

// Descriptors left for Redis, queue, store, logs and plugins when connections are counted against the
// process' limit.
inline constexpr std::size_t kDescriptorsReserved = 256;

// Deadlines of one answer. An order is refused or admitted within 3 s whatever happens behind it; what reads
// the store may need its reconnect; bringing a voucher back reads all its rows; the audit reads everything.
inline constexpr milliseconds kOrderDeadline{2500};
inline constexpr milliseconds kReadDeadline{2500};
inline constexpr milliseconds kAdminDeadline{10000};
inline constexpr milliseconds kLoadDeadline{60000};
inline constexpr milliseconds kAuditDeadline{120000};

// The level of durability in an answer is at most this old.
inline constexpr milliseconds kDurabilityAge{500};
// Public lists are answered from memory for this long, so that refreshing browsers ask neither store nor
// Redis for each page.
inline constexpr milliseconds kBoardAge{200};
inline constexpr std::size_t kBoardEntriesMax = 256;

inline constexpr std::size_t kPageDefault = 50;
inline constexpr std::size_t kPageMax = 100;

}  // namespace sluice::server::limits
