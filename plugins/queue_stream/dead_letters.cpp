// The dead letters of StreamQueue: a stream of their own beside the journal, visible to every process.
#include "scripts.h"
#include "stream_queue.h"

namespace sluice::stream {

namespace {

Error gone(const std::string& id) {
  return {ErrorCode::NotFound, "there is no dead letter " + id + "; it was replayed or removed"};
}

}  // namespace

Result<std::vector<DeadLetter>> StreamQueue::deadLetters(const std::string& afterId, std::size_t max,
                                                         Deadline deadline) {
  if (max == 0 || max > limits::kPageMax)
    return {ErrorCode::InvalidArgument, "a page has 1 to 1000 dead letters"};
  if (!afterId.empty() && !parseEntryId(afterId)) {
    return {ErrorCode::InvalidArgument, "not the id of a dead letter: " + afterId};
  }
  const std::string start = afterId.empty() ? "-" : "(" + afterId;
  const std::string count = std::to_string(max);
  const std::array<std::string_view, 6> args = {"XRANGE", shared_.keys.dead, start, "+", "COUNT", count};
  const auto reply = call(args, deadline);
  if (!reply) return reply.error().during("listing dead letters");
  std::vector<DeadLetter> page;
  for (std::size_t k = 0; k < reply.value().value().size(); ++k) {
    page.push_back(readDeadLetter(reply.value().value()[k]));
  }
  return page;
}

Result<std::optional<DeadLetter>> StreamQueue::findDeadLetter(const std::string& id, Deadline deadline) {
  if (!parseEntryId(id)) return std::optional<DeadLetter>();
  const std::array<std::string_view, 4> args = {"XRANGE", shared_.keys.dead, id, id};
  const auto reply = call(args, deadline);
  if (!reply) return reply.error().during("finding a dead letter");
  const RedisValue found = reply.value().value();
  return found.size() == 0 ? std::optional<DeadLetter>() : std::optional(readDeadLetter(found[0]));
}

Status StreamQueue::replayDeadLetter(const std::string& id, Deadline deadline) {
  const auto letter = findDeadLetter(id, deadline);
  if (!letter) return letter.error();
  if (!letter.value()) return gone(id);
  if (!letter.value()->admission) {
    return {ErrorCode::Corrupt,
            "dead letter " + id + " does not decode; it cannot be replayed, only removed"};
  }
  const std::string max = std::to_string(shared_.settings.journalMax);
  const std::array<std::string_view, 2> args = {id, max};
  const auto reply = run(scripts().replay, args, deadline);
  if (!reply) return reply.error().during("replaying a dead letter");
  const std::string_view outcome = reply.value().value()[0].text();
  if (outcome == "gone") return gone(id);
  if (outcome == "full") return {ErrorCode::Overloaded, "the journal is full (journal.max)"};
  return {};
}

Status StreamQueue::removeDeadLetter(const std::string& id, Deadline deadline) {
  if (!parseEntryId(id)) return gone(id);
  const std::array<std::string_view, 3> args = {"XDEL", shared_.keys.dead, id};
  const auto reply = call(args, deadline);
  if (!reply) return reply.error().during("removing a dead letter");
  return reply.value().value().integer() == 1 ? Status() : Status(gone(id));
}

}  // namespace sluice::stream
