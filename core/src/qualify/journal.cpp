// XRANGE and XDEL. The exclusive range "(id" exists only since Redis 6.2, so the next id is computed here.
#include "qualify/journal.h"

#include <charconv>
#include <limits>
#include <optional>

#include "sluice/limits.h"

namespace sluice {

namespace {

struct EntryId {
  std::uint64_t ms = 0;
  std::uint64_t sequence = 0;
};

std::optional<std::uint64_t> readNumber(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<EntryId> readEntryId(std::string_view text) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto ms = readNumber(text.substr(0, dash));
  const auto sequence = readNumber(text.substr(dash + 1));
  if (!ms || !sequence) return std::nullopt;
  return EntryId{*ms, *sequence};
}

// "-" is the start; nothing behind the last possible id.
std::optional<std::string> startBehind(EntryId id) {
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  if (id.sequence < kLast) return std::to_string(id.ms) + "-" + std::to_string(id.sequence + 1);
  if (id.ms < kLast) return std::to_string(id.ms + 1) + "-0";
  return std::nullopt;
}

// The qualify script writes one field, "o". Anything else in the stream is a foreign entry.
Result<Admission> readAdmission(RedisValue fields) {
  if (fields.size() != 2 || fields[0].text() != "o") {
    return {ErrorCode::Corrupt, "entry has other fields than the one named o"};
  }
  return decodeAdmission(fields[1].text());
}

Error noEntryId(std::string_view wrong) {
  return {ErrorCode::InvalidArgument, "no journal entry id: '" + std::string(wrong.substr(0, 64)) +
                                          "'; it has the form <milliseconds>-<number>"};
}

}  // namespace

Result<std::vector<JournalEntry>> readJournalPage(RedisConnection& connection, const std::string& journalKey,
                                                  const std::string& afterId, std::size_t max,
                                                  Deadline deadline) {
  std::vector<JournalEntry> entries;
  std::string start = "-";
  if (!afterId.empty()) {
    const auto after = readEntryId(afterId);
    if (!after) return noEntryId(afterId);
    const auto next = startBehind(*after);
    if (!next) return entries;
    start = *next;
  }
  const std::string count = std::to_string(std::min(max, limits::kPageMax));
  if (count == "0") return entries;
  const auto reply = connection.call({"XRANGE", journalKey, start, "+", "COUNT", count}, deadline);
  if (!reply) return reply.error().during("read the journal");
  const RedisValue page = reply.value().value();
  entries.reserve(page.size());
  for (std::size_t k = 0; k < page.size(); ++k) {
    entries.push_back({std::string(page[k][0].text()), readAdmission(page[k][1])});
  }
  return entries;
}

Result<std::size_t> deleteEntries(RedisConnection& connection, const std::string& journalKey,
                                  std::span<const std::string> ids, Deadline deadline) {
  for (const std::string& id : ids) {
    if (!readEntryId(id)) return noEntryId(id);
  }
  std::size_t existed = 0;
  while (!ids.empty()) {
    const auto page = ids.first(std::min(ids.size(), limits::kPageMax));
    RedisArgs words = {"XDEL", journalKey};
    words.insert(words.end(), page.begin(), page.end());
    const auto reply = connection.call(words, deadline);
    if (!reply) return reply.error().during("settle journal entries");
    existed += static_cast<std::size_t>(reply.value().value().integer());
    ids = ids.subspan(page.size());
  }
  return existed;
}

Result<bool> journalNames(RedisConnection& connection, const std::string& journalKey, VoucherId voucher,
                          Deadline deadline) {
  std::string after;
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
