// See rabbit_queue.h.
#include "rabbit_queue.h"

#include <algorithm>
#include <thread>

#include "topology.h"

namespace sluice::rabbitmq {

namespace {

using std::chrono::steady_clock;

constexpr QueueTraits kTraits = {
    .durable = true, .delayedRetry = true, .multiProcess = true, .inspectable = true, .prefetches = true};

// Other processes publish too; so long their messages may go uncounted.
constexpr milliseconds kCountedFor{1000};

// Others may take what was handed back at once, so that it is never seen waiting.
constexpr milliseconds kHandedBackWithin{200};
constexpr milliseconds kAttendWithin{2000};

}  // namespace

RabbitQueue::RabbitQueue(Settings settings, Log& log, const Clock& clock, Random& random)
    : shared_(std::move(settings), log, clock, random),
      publisher_(shared_),
      receiver_(shared_),
      desk_(shared_, publisher_, receiver_),
      intake_(shared_, receiver_, publisher_, desk_) {
  for (std::size_t k = 0; k < shared_.settings.consumers; ++k)
    slots_.push_back(std::make_unique<Slot>(shared_, intake_, receiver_, publisher_, desk_));
}

RabbitQueue::~RabbitQueue() { RabbitQueue::close(); }

const QueueTraits& RabbitQueue::traits() const noexcept { return kTraits; }

Status RabbitQueue::start(Deadline deadline) {
  if (shared_.state() == State::Closed) return shared_.refusal();
  if (shared_.state() == State::Inert) {
    // On a connection of its own, so that what is wrong is said once, here.
    if (auto tried = tryOut(deadline); !tried) return tried;
    shared_.enter(State::Running);
    publisher_.start();
    receiver_.start();
    const std::lock_guard lock(mutex_);
    if (!attendant_.joinable() && shared_.state() != State::Closed)
      attendant_ = std::thread([this] { attend(); });
  }
  if (auto there = publisher_.waitConnected(deadline); !there) return there;
  return receiver_.waitConnected(deadline);
}

Status RabbitQueue::tryOut(Deadline deadline) {
  Link link(shared_.settings);
  {
    const std::lock_guard lock(mutex_);
    trial_ = &link;
  }
  Status done = link.open(deadline);
  if (done) done = ensureTopology(shared_, link, deadline);
  if (done) link.closePolitely(deadline.orSooner(milliseconds(1000)).remaining());
  const std::lock_guard lock(mutex_);
  trial_ = nullptr;
  return done;
}

Result<std::size_t> RabbitQueue::reserve(std::size_t) {
  return {ErrorCode::Unsupported, "queue_rabbitmq has no places to reserve: other processes publish too"};
}
void RabbitQueue::unreserve(std::size_t) noexcept {}

Status RabbitQueue::extend(std::size_t, std::span<const DeliveryToken>, Deadline) {
  return {ErrorCode::Unsupported,
          "queue_rabbitmq has no lease: what is handed out stays so until it is settled or "
          "its connection ends"};
}

Status RabbitQueue::checkRoom(std::size_t messages, Deadline deadline) {
  const auto more = static_cast<std::int64_t>(messages);
  {
    const std::lock_guard lock(mutex_);
    const bool recent = steady_clock::now() - countedAt_ < kCountedFor;
    if (recent && filled_ + more <= shared_.settings.capacity) {
      filled_ += more;
      return {};
    }
  }
  const auto now = depth(deadline);
  if (!now) return now.error();
  const std::lock_guard lock(mutex_);
  filled_ = now.value().ready + now.value().inFlight;
  countedAt_ = steady_clock::now();
  if (filled_ + more > shared_.settings.capacity)
    return {ErrorCode::Overloaded, "the queue is full (queue.rabbitmq.capacity)"};
  filled_ += more;
  return {};
}

Status RabbitQueue::publish(std::span<const QueueMessage> messages, Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused;
  if (auto room = checkRoom(messages.size(), deadline); !room) return room;
  const std::int64_t now = toMillis(shared_.clock.now());
  std::vector<Outgoing> outgoing;
  outgoing.reserve(messages.size());
  for (const QueueMessage& message : messages) {
    outgoing.push_back(
        {shared_.names.work,
         {.bytes = encodeAdmission(message.admission), .journal = message.journal, .enqueuedMs = now}});
  }
  return publisher_.publish(std::move(outgoing), deadline);
}

Result<Slot*> RabbitQueue::slotOf(std::size_t slot) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  if (slot >= slots_.size()) return {ErrorCode::InvalidArgument, "there is no slot " + std::to_string(slot)};
  return slots_[slot].get();
}

Result<std::vector<Delivery>> RabbitQueue::receive(std::size_t slot, std::size_t max, Deadline deadline) {
  if (max == 0 || max > limits::kReceiveBatchMax)
    return {ErrorCode::InvalidArgument, "receive takes 1 to 500 messages"};
  auto own = slotOf(slot);
  if (!own) return own.error();
  return own.value()->receive(max, deadline);
}

Result<std::vector<SettleOutcome>> RabbitQueue::settle(std::size_t slot,
                                                       std::span<const Settlement> settlements,
                                                       Deadline deadline) {
  auto own = slotOf(slot);
  if (!own) return own.error();
  return own.value()->settle(settlements, deadline);
}

Result<std::size_t> RabbitQueue::drain(Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  shared_.enter(State::Draining);
  receiver_.interrupt();
  const auto before = receiver_.count({shared_.names.work, shared_.names.alone}, deadline);
  if (!before) return before.error();
  // First the consumers end: what goes back is not to come here again.
  const auto left = intake_.handBack(deadline);
  if (!left) return left.error();
  std::size_t count = 0;
  for (const auto& slot : slots_) {
    const auto back = slot->handBack(deadline);
    if (!back) return back.error();
    count += back.value();
  }
  // What a receive that was under way has put aside.
  const auto late = intake_.handBack(deadline);
  if (!late) return late.error();
  const std::int64_t there = before.value()[0] + before.value()[1];
  const auto all = static_cast<std::int64_t>(count + left.value() + late.value());
  if (all > 0) awaitReady(there + all, deadline.orSooner(kHandedBackWithin));
  return count;
}

// The broker agrees to have it back before it has put it in its place.
void RabbitQueue::awaitReady(std::int64_t messages, Deadline deadline) {
  while (!deadline.passed()) {
    const auto there = receiver_.count({shared_.names.work, shared_.names.alone}, deadline);
    if (!there || there.value()[0] + there.value()[1] >= messages) return;
    std::this_thread::sleep_for(milliseconds(2));
  }
}

void RabbitQueue::attend() {
  // Often enough for the shorter of the two.
  const milliseconds every = std::clamp(std::min(shared_.settings.lease, shared_.settings.idle) / 8,
                                        milliseconds(20), milliseconds(1000));
  std::unique_lock lock(mutex_);
  while (!closed_.wait_for(lock, every, [this] { return shared_.state() == State::Closed; })) {
    lock.unlock();
    attendOnce();
    lock.lock();
  }
}

void RabbitQueue::attendOnce() {
  const milliseconds lease = shared_.settings.lease;
  const bool old =
      std::any_of(slots_.begin(), slots_.end(), [&](auto& slot) { return slot->holdsOld(lease); });
  const milliseconds idle = receiver_.idleFor();
  // What a worker that has stopped receiving gives back is not to come to it again.
  if (idle >= shared_.settings.idle || (old && idle >= lease))
    (void)intake_.handBack(Deadline::in(kAttendWithin));
  if (!old) return;
  for (const auto& slot : slots_)
    slot->handBackOld(lease, Deadline::in(kAttendWithin));
  intake_.handBackOld(lease, Deadline::in(kAttendWithin));
}

void RabbitQueue::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    shared_.enter(State::Closed);
    if (trial_ != nullptr) trial_->abort();
  }
  closed_.notify_all();
  desk_.abort();
  receiver_.stop();
  publisher_.stop();
  if (attendant_.joinable()) attendant_.join();
}

Result<RabbitQueue::Depth> RabbitQueue::depth(Deadline deadline) {
  std::vector<std::string> queues(shared_.names.wait.begin(), shared_.names.wait.end());
  queues.push_back(shared_.names.work);
  queues.push_back(shared_.names.alone);
  queues.push_back(shared_.names.dead);
  const auto counts = receiver_.count(queues, deadline);
  if (!counts) return counts.error();
  Depth depth;
  depth.dead = counts.value().back();
  for (std::size_t k = 0; k + 1 < queues.size(); ++k)
    depth.ready += counts.value()[k];
  const auto add = [&](const Intake::Figures& figures, std::int64_t& to) {
    to += static_cast<std::int64_t>(figures.count);
    if (figures.oldestMs)
      depth.oldestMs = std::min(*figures.oldestMs, depth.oldestMs.value_or(*figures.oldestMs));
  };
  add(intake_.figures(), depth.ready);
  for (const auto& slot : slots_)
    add(slot->figures(), depth.inFlight);
  return depth;
}

// Messages come here while the broker counts; what is at rest is counted when none did.
Result<RabbitQueue::Depth> RabbitQueue::restingDepth(Deadline deadline) {
  constexpr int kTries = 5;
  for (int k = 1;; ++k) {
    const std::uint64_t before = receiver_.arrivals();
    auto now = depth(deadline);
    if (!now || k == kTries || receiver_.arrivals() == before) return now;
  }
}

Result<QueueStats> RabbitQueue::stats(Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  const auto now = restingDepth(deadline);
  if (!now) return now.error().during("reading figures");
  QueueStats stats;
  stats.ready = now.value().ready;
  stats.inFlight = now.value().inFlight;
  stats.deadLetters = now.value().dead;
  stats.deadMax = static_cast<std::int64_t>(shared_.settings.deadMax);
  stats.redelivered = shared_.counters.redelivered;
  stats.deadLettered = shared_.counters.deadLettered;
  stats.reconnects = shared_.counters.reconnects;
  stats.dataLost = shared_.counters.dataLost;
  const std::lock_guard lock(mutex_);
  // The broker tells the age of nothing that waits: since when something waits is what we know.
  const SteadyTime at = steady_clock::now();
  if (stats.ready == 0) {
    readySince_.reset();
  } else if (!readySince_) {
    readySince_ = at;
  }
  stats.oldestAge = std::chrono::duration_cast<milliseconds>(at - readySince_.value_or(at));
  if (now.value().oldestMs) {
    const milliseconds age(toMillis(shared_.clock.now()) - *now.value().oldestMs);
    stats.oldestAge = std::max(stats.oldestAge, age);
  }
  return stats;
}

Result<std::vector<DeadLetter>> RabbitQueue::deadLetters(const std::string& afterId, std::size_t max,
                                                         Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  return desk_.list(afterId, max, deadline);
}

Result<std::optional<DeadLetter>> RabbitQueue::findDeadLetter(const std::string& id, Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused.error();
  return desk_.find(id, deadline);
}

Status RabbitQueue::replayDeadLetter(const std::string& id, Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused;
  if (auto room = checkRoom(1, deadline); !room) return room;
  return desk_.replay(id, deadline);
}

Status RabbitQueue::removeDeadLetter(const std::string& id, Deadline deadline) {
  if (auto refused = shared_.refusal(); !refused) return refused;
  return desk_.remove(id, deadline);
}

}  // namespace sluice::rabbitmq
