// XRANGE, XREAD and XDEL. The exclusive range "(id" exists only since Redis 6.2, so the next id is computed here.
#include "qualify/journal.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "sluice/limits.h"

namespace sluice {

namespace {

// "-" is the start; nothing behind the last possible id.
std::optional<std::string> startBehind(JournalId id) {
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  if (id.sequence < kLast) return JournalId{id.ms, id.sequence + 1}.text();
  if (id.ms < kLast) return JournalId{id.ms + 1, 0}.text();
  return std::nullopt;
}

// The qualify script writes one field, "o". Anything else in the stream is a foreign entry.
Result<Admission> readAdmission(RedisValue fields) {
  if (fields.size() != 2 || fields[0].text() != "o") {
    return {ErrorCode::Corrupt, "entry has other fields than the one named o"};
  }
  return decodeAdmission(fields[1].text());
}

Result<std::vector<JournalEntry>> readPage(RedisValue page) {
  std::vector<JournalEntry> entries;
  entries.reserve(page.size());
  for (std::size_t k = 0; k < page.size(); ++k) {
    const auto id = parseJournalId(page[k][0].text());
    if (!id) return Error{ErrorCode::Corrupt, "redis answered an entry without an id"};
    entries.push_back({*id, readAdmission(page[k][1])});
  }
  return entries;
}

// How late the answer of a server may be that was told to wait until the deadline; older ones look at the time only
// now and then.
constexpr milliseconds kGrace{250};

}  // namespace

Result<std::vector<JournalEntry>> readJournalPage(RedisConnection& connection, const std::string& journalKey,
                                                  JournalId after, std::size_t max, Deadline deadline) {
  std::vector<JournalEntry> entries;
  const auto start = after.valid() ? startBehind(after) : std::string("-");
  if (!start) return entries;
  const std::string count = std::to_string(std::min(max, limits::kPageMax));
  if (count == "0") return entries;
  const auto reply = connection.call({"XRANGE", journalKey, *start, "+", "COUNT", count}, deadline);
  if (!reply) return reply.error().during("read the journal");
  return readPage(reply.value().value());
}

Result<std::vector<JournalEntry>> awaitJournalPage(RedisConnection& connection, const std::string& journalKey,
                                                   JournalId after, std::size_t max, Deadline deadline) {
  const std::string start = after.text();
  const std::string count = std::to_string(std::clamp<std::size_t>(max, 1, limits::kPageMax));
  // BLOCK 0 would wait for ever.
  const std::string wait =
      std::to_string(std::max<milliseconds>(deadline.remaining(), milliseconds(1)).count());
  const auto reply = connection.call({"XREAD", "COUNT", count, "BLOCK", wait, "STREAMS", journalKey, start},
                                     Deadline(deadline.at() + kGrace));
  if (!reply) return reply.error().during("wait for the journal");
  return readPage(reply.value().value()[0][1]);
}

Result<std::size_t> deleteEntries(RedisConnection& connection, const std::string& journalKey,
                                  std::span<const JournalId> ids, Deadline deadline) {
  std::size_t existed = 0;
  while (!ids.empty()) {
    const auto page = ids.first(std::min(ids.size(), limits::kPageMax));
    std::vector<std::string> texts;
    std::transform(page.begin(), page.end(), std::back_inserter(texts),
                   [](JournalId id) { return id.text(); });
    RedisArgs words = {"XDEL", journalKey};
    words.insert(words.end(), texts.begin(), texts.end());
    const auto reply = connection.call(words, deadline);
    if (!reply) return reply.error().during("settle journal entries");
    existed += static_cast<std::size_t>(reply.value().value().integer());
    ids = ids.subspan(page.size());
  }
  return existed;
}

Result<bool> journalNames(RedisConnection& connection, const std::string& journalKey, VoucherId voucher,
                          Deadline deadline) {
  JournalId after;
  while (true) {
    const auto page = readJournalPage(connection, journalKey, after, limits::kPageMax, deadline);
    if (!page) return page.error();
    if (page.value().empty()) return false;
    for (const JournalEntry& entry : page.value()) {
      if (entry.admission && entry.admission.value().voucher == voucher) return true;
    }
    after = page.value().back().id;
  }
}

}  // namespace sluice
