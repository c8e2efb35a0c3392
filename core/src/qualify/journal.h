// The journal as a stream of Redis: reads entries in order, deletes settled ones, tells whether a voucher
// is drained.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sluice/qualifier.h"
#include "sluice/redis.h"

namespace sluice {

// See Qualifier::readJournal; at most limits::kPageMax entries.
[[nodiscard]] Result<std::vector<JournalEntry>> readJournalPage(RedisConnection& connection,
                                                                const std::string& journalKey,
                                                                JournalId after, std::size_t max,
                                                                Deadline deadline);

// See Qualifier::awaitJournal.
[[nodiscard]] Result<std::vector<JournalEntry>> awaitJournalPage(RedisConnection& connection,
                                                                 const std::string& journalKey,
                                                                 JournalId after, std::size_t max,
                                                                 Deadline deadline);

// See Qualifier::settleJournal.
[[nodiscard]] Result<std::size_t> deleteEntries(RedisConnection& connection, const std::string& journalKey,
                                                std::span<const JournalId> ids, Deadline deadline);

// Whether any entry admits an order of the voucher. Pages through the whole journal.
[[nodiscard]] Result<bool> journalNames(RedisConnection& connection, const std::string& journalKey,
                                        VoucherId voucher, Deadline deadline);

}  // namespace sluice
