// The journal as its readers use it, and the forwarder's lease.
#include "sluice/limits.h"

#include "qualify/journal.h"
#include "qualify/lua_qualifier.h"
#include "qualify/lua_qualifier_calls.h"

namespace sluice {

namespace {

Status checkOwner(const std::string& owner) {
  if (!owner.empty() && owner.size() <= limits::kOwnerBytesMax) return {};
  return {ErrorCode::InvalidArgument,
          "an owner has 1 to " + std::to_string(limits::kOwnerBytesMax) + " bytes"};
}

}  // namespace

Result<std::vector<JournalEntry>> LuaQualifier::readJournal(JournalId after, std::size_t max,
                                                            Deadline deadline) {
  const std::string key = keys_.journal();
  return reading(deadline, [&](RedisConnection& connection) {
    return readJournalPage(connection, key, after, max, deadline);
  });
}

Result<std::size_t> LuaQualifier::settleJournal(std::span<const JournalId> ids, Deadline deadline) {
  const std::string key = keys_.journal();
  return onConnection(
      deadline, [&](RedisConnection& connection) { return deleteEntries(connection, key, ids, deadline); });
}

// Whatever happened to it, it changed nothing.
Result<std::vector<JournalEntry>> LuaQualifier::awaitJournal(JournalId after, std::size_t max,
                                                             Deadline deadline) {
  auto lease = acquire(waiting_, deadline);
  if (!lease) return lease.error();
  auto page = awaitJournalPage(*lease.value(), keys_.journal(), after, max, deadline);
  if (!page && page.error().code == ErrorCode::OutcomeUnknown)
    return Error{ErrorCode::Unavailable, page.error().text};
  return page;
}

Result<std::size_t> LuaQualifier::setAside(std::span<const JournalEntry> entries, Deadline deadline) {
  std::vector<std::string> words = {std::to_string(limits::kAsideMax), std::to_string(limits::kDeadBytesMax),
                                    std::to_string(toMillis(clock_.now()))};
  for (const JournalEntry& entry : entries) {
    if (entry.admission) continue;
    words.push_back(entry.id.text());
    words.push_back("undecodable: " + entry.admission.error().text);
  }
  const std::string journal = keys_.journal();
  const std::string dead = keys_.dead();
  const auto reply = eval(scripts_.setAside, {journal, dead}, words, deadline);
  if (!reply) return reply.error().during("put journal entries aside");
  const RedisValue answer = reply.value().value();
  if (answer.isArray()) return {ErrorCode::Corrupt, std::string(answer[0].text())};
  return static_cast<std::size_t>(answer.integer());
}

Result<Lead> LuaQualifier::lead(const std::string& owner, milliseconds lease, Deadline deadline) {
  if (Status sound = checkOwner(owner); !sound) return sound.error();
  if (lease.count() < 1) return {ErrorCode::InvalidArgument, "a lease lasts a millisecond or longer"};
  const std::string key = keys_.other("forwarder");
  const std::string last = keys_.other("forwarder:last");
  const auto reply = eval(scripts_.lead, {key, last}, {owner, std::to_string(lease.count())}, deadline);
  if (!reply) return reply.error().during("take the forwarder's lease");
  const RedisValue answer = reply.value().value();
  if (answer.size() != 2) return {ErrorCode::Corrupt, std::string(answer[0].text())};
  const std::string_view word = answer[0].text();
  return Lead{word != "other", word == "taken", std::string(answer[1].text())};
}

Status LuaQualifier::resign(const std::string& owner, Deadline deadline) {
  if (Status sound = checkOwner(owner); !sound) return sound;
  const std::string key = keys_.other("forwarder");
  const auto reply = eval(scripts_.resign, {key}, {owner}, deadline);
  if (!reply) return reply.error().during("give the forwarder's lease up");
  const RedisValue answer = reply.value().value();
  if (answer.isArray()) return {ErrorCode::Corrupt, std::string(answer[0].text())};
  return {};
}

}  // namespace sluice
