// See stream_queue.h. The slots do the work of receiving and settling; here is everything else but the dead
// letters.
#include "stream_queue.h"

#include <algorithm>

#include "scripts.h"

namespace sluice::stream {

namespace {

constexpr QueueTraits kTraits = {.durable = true,
                                 .readsJournal = true,
                                 .delayedRetry = true,
                                 .leaseExtend = true,
                                 .multiProcess = true,
                                 .inspectable = true,
                                 .retriesFirst = true,
                                 .buriesAtOnce = true};
// Publishing, figures, dead letters and drain; none of them is on the hot path.
constexpr std::size_t kPoolSize = 2;
// Entries in one call of the publish script, so that it never holds Redis up for long.
constexpr std::size_t kPublishChunk = 500;

RedisTarget poolTarget(RedisTarget target) {
  target.clientName += "-queue";
  return target;
}

}  // namespace

StreamQueue::StreamQueue(Settings settings, Log& log, const Clock& clock, Random& random)
    : shared_(std::move(settings), log, clock, random),
      pool_(poolTarget(shared_.settings.redis), kPoolSize, random,
            [this](RedisConnection& connection, Deadline deadline) {
              return shared_.check(connection, deadline);
            }) {
  for (std::size_t slot = 0; slot < shared_.settings.consumers; ++slot) {
    consumers_.push_back(std::make_unique<Consumer>(shared_, slot));
  }
}

StreamQueue::~StreamQueue() { StreamQueue::close(); }

const QueueTraits& StreamQueue::traits() const noexcept { return kTraits; }

Status StreamQueue::start(Deadline deadline) {
  if (shared_.state() == State::Closed) return shared_.refusal();
  auto connection = pool_.acquire(deadline);
  if (!connection) return connection.error().during("starting");
  if (auto ready = shared_.ensureGroup(*connection.value(), deadline); !ready) {
    // Asking again is harmless, so the outcome is not worth a word of its own.
    const bool unknown = ready.error().code == ErrorCode::OutcomeUnknown;
    return Error{unknown ? ErrorCode::Unavailable : ready.error().code, "starting: " + ready.error().text};
  }
  shared_.enter(State::Running);
  return {};
}

Result<std::size_t> StreamQueue::reserve(std::size_t) {
  return {ErrorCode::Unsupported,
          "queue_stream reserves nothing: the qualify script checks the journal's cap itself"};
}

void StreamQueue::unreserve(std::size_t) noexcept {}

Result<RedisReply> StreamQueue::run(const RedisScript& script, std::span<const std::string_view> args,
                                    Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  auto connection = pool_.acquire(deadline);
  if (!connection) return connection.error();
  const auto names = shared_.keys.all();
  auto reply = connection.value()->eval(script, names, args, deadline);
  if (!reply && shared_.state() == State::Closed) return {ErrorCode::Stopped, "the queue is closed"};
  return reply;
}

Result<RedisReply> StreamQueue::call(std::span<const std::string_view> args, Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  auto connection = pool_.acquire(deadline);
  if (!connection) return connection.error();
  return connection.value()->call(args, deadline);
}

Status StreamQueue::publishChunk(std::span<const QueueMessage> chunk, std::int64_t max, std::size_t total,
                                 Deadline deadline) {
  std::vector<std::string> words = {std::to_string(max), std::to_string(total)};
  for (const QueueMessage& message : chunk) {
    words.push_back(encodeAdmission(message.admission));
  }
  const std::vector<std::string_view> args(words.begin(), words.end());
  const auto reply = run(scripts().publish, args, deadline);
  if (!reply) return reply.error().during("publishing");
  if (reply.value().value()[0].text() == "full")
    return {ErrorCode::Overloaded, "the journal is full (journal.max)"};
  return {};
}

// The first chunk asks whether there is room for all; the others only append, so that nothing stops half-way
// for want of room.
Status StreamQueue::publish(std::span<const QueueMessage> messages, Deadline deadline) {
  for (std::size_t from = 0; from < messages.size(); from += kPublishChunk) {
    const auto chunk = messages.subspan(from, std::min(kPublishChunk, messages.size() - from));
    const std::int64_t max = from == 0 ? shared_.settings.journalMax : -1;
    if (auto published = publishChunk(chunk, max, messages.size(), deadline); !published) {
      const bool half = from > 0 && published.error().code != ErrorCode::Stopped;
      return half ? Error{ErrorCode::OutcomeUnknown, published.error().text} : published.error();
    }
  }
  return {};
}

Result<Consumer*> StreamQueue::consumerOf(std::size_t slot) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  if (slot >= consumers_.size()) {
    return {ErrorCode::InvalidArgument,
            "slot " + std::to_string(slot) + " of " + std::to_string(consumers_.size())};
  }
  return consumers_[slot].get();
}

Result<std::vector<Delivery>> StreamQueue::receive(std::size_t slot, std::size_t max, Deadline deadline) {
  if (max == 0 || max > limits::kReceiveBatchMax)
    return {ErrorCode::InvalidArgument, "receive takes 1 to 500 messages"};
  auto consumer = consumerOf(slot);
  if (!consumer) return consumer.error();
  return consumer.value()->receive(max, deadline);
}

Result<std::vector<SettleOutcome>> StreamQueue::settle(std::size_t slot,
                                                       std::span<const Settlement> settlements,
                                                       Deadline deadline) {
  auto consumer = consumerOf(slot);
  if (!consumer) return consumer.error();
  return consumer.value()->settle(settlements, deadline);
}

Status StreamQueue::extend(std::size_t slot, std::span<const DeliveryToken> tokens, Deadline deadline) {
  auto consumer = consumerOf(slot);
  if (!consumer) return consumer.error();
  return consumer.value()->extend(tokens, deadline);
}

Result<std::size_t> StreamQueue::handBack(const Consumer& consumer, Deadline deadline) {
  std::size_t count = 0;
  while (true) {
    const std::array<std::string_view, 2> args = {shared_.settings.group, consumer.name()};
    const auto reply = run(scripts().handBack, args, deadline);
    if (!reply) return reply.error().during("handing back");
    const auto moved = static_cast<std::size_t>(reply.value().value()[1].integer());
    if (moved == 0) return count;
    count += moved;
  }
}

Result<std::size_t> StreamQueue::drain(Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  shared_.enter(State::Draining);
  std::size_t count = 0;
  for (const auto& consumer : consumers_) {
    // A read under way may still bring something; what it brings is handed back below.
    if (!consumer->waitIdle(deadline)) consumer->interrupt();
    auto moved = handBack(*consumer, deadline);
    if (!moved) return moved;
    count += moved.value();
  }
  return count;
}

void StreamQueue::close() noexcept {
  shared_.enter(State::Closed);
  for (const auto& consumer : consumers_) {
    consumer->interrupt();
  }
  pool_.stop();
}

Result<QueueStats> StreamQueue::stats(Deadline deadline) {
  const std::array<std::string_view, 1> args = {shared_.settings.group};
  const auto reply = run(scripts().stats, args, deadline);
  if (!reply) return reply.error().during("reading figures");
  const RedisValue found = reply.value().value();
  const std::int64_t pending = found[2].integer();
  const std::int64_t waiting = found[3].integer();
  QueueStats stats;
  stats.inFlight = pending - waiting;
  stats.ready = std::max<std::int64_t>(0, found[1].integer() - stats.inFlight);
  stats.deadLetters = found[4].integer();
  stats.deadMax = shared_.settings.deadMax;
  stats.oldestAge = milliseconds(found[5].integer());
  stats.redelivered = shared_.counters.redelivered;
  stats.deadLettered = shared_.counters.deadLettered;
  stats.reconnects = shared_.counters.reconnects + pool_.reconnects();
  stats.dataLost = shared_.counters.dataLost;
  stats.vanished = shared_.counters.vanished;
  return stats;
}

}  // namespace sluice::stream
