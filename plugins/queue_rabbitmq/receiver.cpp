// See receiver.h.
#include "receiver.h"

#include <algorithm>

namespace sluice::rabbitmq {

namespace {

constexpr amqp_channel_t kCountChannel = 1;
constexpr amqp_channel_t kFirstSlot = 2;

amqp_channel_t channelOf(std::size_t slot) { return static_cast<amqp_channel_t>(kFirstSlot + slot); }

amqp_bytes_t bytesOf(const std::string& text) { return amqp_cstring_bytes(text.c_str()); }

}  // namespace

Receiver::Receiver(Shared& shared) : LinkThread(shared, "consuming"), slots_(shared.settings.consumers) {}
Receiver::~Receiver() { stop(); }

Status Receiver::prepare(Link& link, Deadline deadline) { return link.openChannel(kCountChannel, deadline); }

void Receiver::onConnected() {}

void Receiver::onLost(const Error&) {
  // What was out belongs to nobody now; the broker hands it out anew.
  slots_.assign(slots_.size(), Slot());
  settlings_.clear();
  toCount_.clear();
  counting_.clear();
}

// A consumer that is cancelled just when a message is on its way spoils that message's count. So a short wait
// opens none: it looks again and again whether something is there.
Result<std::vector<Received>> Receiver::fetch(std::size_t slot, std::size_t max, Deadline deadline) {
  while (true) {
    const bool look = deadline.remaining() < kShortWait;
    auto fetched = fetchOnce(slot, max, look, deadline);
    if (!fetched || !look || !fetched.value().empty()) return fetched;
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline.orSooner(kLookEvery).at(),
                        [this] { return stopping() || interrupted_; });
    if (deadline.passed() || interrupted_) return fetched;
  }
}

Result<std::vector<Received>> Receiver::fetchOnce(std::size_t slot, std::size_t max, bool look,
                                                  Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (auto there = connectedOr(deadline, lock); !there) return there.error();
  const std::uint64_t epoch = epochLocked();
  if (slots_[slot].phase == Phase::Idle && !interrupted_) {
    slots_[slot].phase = Phase::Wanted;
    slots_[slot].max = max;
    slots_[slot].stop = slots_[slot].filling = false;
    slots_[slot].look = look;
    wake();
  }
  const auto gone = [&] { return stopping() || epochLocked() != epoch || !connectedLocked(); };
  const auto over = [&] { return gone() || slots_[slot].phase == Phase::Idle; };
  changed_.wait_until(lock, deadline.at(),
                      [&] { return over() || interrupted_ || !slots_[slot].arrived.empty(); });
  changed_.wait_for(lock, kLinger, over);
  if (!over()) {
    slots_[slot].stop = true;
    wake();
    // The answer to the cancelling is the proof that the broker is there, and that nothing comes after it.
    changed_.wait_for(lock, kGrace, over);
  }
  if (stopping()) return {ErrorCode::Stopped, "the queue is closed"};
  if (gone()) return away();
  if (slots_[slot].phase != Phase::Idle)
    return {ErrorCode::Unavailable, shared_.settings.text() + " does not answer"};
  return std::exchange(slots_[slot].arrived, {});
}

void Receiver::interrupt() noexcept {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  changed_.notify_all();
}

Status Receiver::settle(std::size_t slot, std::uint64_t epoch, const std::vector<std::uint64_t>& tags,
                        Verdict verdict, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (stopping()) return {ErrorCode::Stopped, "the queue is closed"};
  if (!connectedLocked() || epochLocked() != epoch) return away();
  const std::uint64_t fence = ++lastFence_;
  settlings_.push_back({slot, tags, verdict, fence});
  wake();
  changed_.wait_until(lock, deadline.at(), [&] {
    return stopping() || epochLocked() != epoch || !connectedLocked() || slots_[slot].fencePassed >= fence;
  });
  if (connectedLocked() && epochLocked() == epoch && slots_[slot].fencePassed >= fence) return {};
  return {ErrorCode::OutcomeUnknown, shared_.settings.text() + " did not confirm a settlement"};
}

Result<std::vector<std::int64_t>> Receiver::count(const std::vector<std::string>& queues, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto counting = std::make_shared<Counting>();
  counting->queues = queues;
  const auto done = [&] { return counting->counts.size() == queues.size(); };
  // Asked again on a new connection: a count changes nothing.
  while (!done() && !deadline.passed()) {
    if (auto there = connectedOr(deadline, lock); !there) return there.error();
    const std::uint64_t epoch = epochLocked();
    counting->counts.clear();
    toCount_.push_back(counting);
    wake();
    changed_.wait_until(lock, deadline.at(),
                        [&] { return done() || stopping() || !connectedLocked() || epochLocked() != epoch; });
  }
  if (done()) return counting->counts;
  if (stopping()) return {ErrorCode::Stopped, "the queue is closed"};
  return {ErrorCode::Unavailable, shared_.settings.text() + " does not answer"};
}

Status Receiver::work(Link& link) {
  while (!settlings_.empty()) {
    const Settling next = std::move(settlings_.front());
    settlings_.pop_front();
    if (auto sent = sendSettling(link, next); !sent) return sent;
  }
  while (!toCount_.empty()) {
    counting_.push_back(std::move(toCount_.front()));
    toCount_.pop_front();
    if (auto sent = sendCounting(link, *counting_.back()); !sent) return sent;
  }
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (auto served = serveSlot(link, slot); !served) return served;
  }
  return {};
}

Status Receiver::serveSlot(Link& link, std::size_t slot) {
  Slot& own = slots_[slot];
  if (own.phase == Phase::Wanted) return askDepth(link, slot);
  if (own.phase == Phase::Consuming && own.stop) return cancel(link, slot);
  return {};
}

Status Receiver::askDepth(Link& link, std::size_t slot) {
  if (auto opened = openSlot(link, slot); !opened) return opened;
  slots_[slot].phase = Phase::Counting;
  amqp_queue_declare_t declare{};
  declare.queue = bytesOf(shared_.names.work);
  declare.passive = 1;
  return link.send(channelOf(slot), AMQP_QUEUE_DECLARE_METHOD, &declare);
}

// What waits, shared with our other slots, so that it surely comes; at least one, to wait for.
Status Receiver::onDepth(Link& link, std::size_t slot, std::int64_t waiting) {
  Slot& own = slots_[slot];
  own.wasEmpty = waiting == 0;
  if (own.wasEmpty && (own.filling || own.stop || own.look)) {
    own.phase = Phase::Idle;
    changed_.notify_all();
    return {};
  }
  const auto asking = std::count_if(slots_.begin(), slots_.end(), [](const Slot& one) {
    return one.phase != Phase::Idle && one.phase != Phase::Cancelling;
  });
  const auto share = static_cast<std::size_t>(waiting / std::max<std::int64_t>(asking, 1));
  const std::size_t wanted = std::clamp<std::size_t>(share, 1, own.max - own.arrived.size());
  own.goal = own.arrived.size() + wanted;
  return consume(link, slot, wanted);
}

// Sent together, without waiting for the answers: the broker does them in order.
Status Receiver::consume(Link& link, std::size_t slot, std::size_t wanted) {
  Slot& own = slots_[slot];
  if (auto set = fence(link, slot, 0, wanted); !set) return set;
  amqp_basic_consume_t consume{};
  consume.queue = bytesOf(shared_.names.work);
  // A tag that was used before would count what it still has out against the prefetch.
  own.tag = "c" + std::to_string(++lastConsumer_);
  consume.consumer_tag = bytesOf(own.tag);
  own.phase = Phase::Starting;
  return link.send(channelOf(slot), AMQP_BASIC_CONSUME_METHOD, &consume);
}

// Cancelled not before the broker has said that the consumer is there: RabbitMQ 3.10 closes the whole connection
// (INTERNAL_ERROR) where a consumer is cancelled while it is about to say so.
Status Receiver::onConsumer(Link& link, std::size_t slot) {
  slots_[slot].phase = Phase::Consuming;
  return slots_[slot].stop || isFull(slots_[slot]) ? cancel(link, slot) : Status();
}

Status Receiver::onCancelled(Link& link, std::size_t slot) {
  Slot& own = slots_[slot];
  const bool again = own.wasEmpty && !own.filling && !own.stop && own.arrived.size() < own.max;
  own.phase = again ? Phase::Wanted : Phase::Idle;
  own.filling = again;
  if (again) return askDepth(link, slot);
  changed_.notify_all();
  return {};
}

Status Receiver::cancel(Link& link, std::size_t slot) {
  amqp_basic_cancel_t cancel{};
  cancel.consumer_tag = bytesOf(slots_[slot].tag);
  slots_[slot].phase = Phase::Cancelling;
  return link.send(channelOf(slot), AMQP_BASIC_CANCEL_METHOD, &cancel);
}

Status Receiver::openSlot(Link& link, std::size_t slot) {
  if (std::exchange(slots_[slot].open, true)) return {};
  amqp_channel_open_t open{};
  return link.send(channelOf(slot), AMQP_CHANNEL_OPEN_METHOD, &open);
}

Status Receiver::fence(Link& link, std::size_t slot, std::uint64_t number, std::size_t prefetch) {
  slots_[slot].fences.push_back(number);
  amqp_basic_qos_t qos{};
  qos.prefetch_count = static_cast<std::uint16_t>(prefetch);
  return link.send(channelOf(slot), AMQP_BASIC_QOS_METHOD, &qos);
}

Status Receiver::sendSettling(Link& link, const Settling& settling) {
  const amqp_channel_t channel = channelOf(settling.slot);
  for (const std::uint64_t tag : settling.tags) {
    amqp_basic_ack_t accept{.delivery_tag = tag, .multiple = 0};
    amqp_basic_nack_t handBack{.delivery_tag = tag, .multiple = 0, .requeue = 1};
    const Status sent = settling.verdict == Verdict::Accept
                            ? link.send(channel, AMQP_BASIC_ACK_METHOD, &accept)
                            : link.send(channel, AMQP_BASIC_NACK_METHOD, &handBack);
    if (!sent) return sent;
  }
  return fence(link, settling.slot, settling.fence, slots_[settling.slot].max);
}

Status Receiver::sendCounting(Link& link, const Counting& counting) {
  for (const std::string& queue : counting.queues) {
    amqp_queue_declare_t declare{};
    declare.queue = bytesOf(queue);
    declare.passive = 1;
    if (auto sent = link.send(kCountChannel, AMQP_QUEUE_DECLARE_METHOD, &declare); !sent) return sent;
  }
  return {};
}

Receiver::Slot* Receiver::slotOf(amqp_channel_t channel) {
  const bool ours = channel >= kFirstSlot && channel < kFirstSlot + slots_.size();
  return ours ? &slots_[channel - kFirstSlot] : nullptr;
}

Status Receiver::onEvent(Link& link, Event& event) {
  Slot* const slot = slotOf(event.channel);
  switch (event.kind) {
    case Event::Kind::Delivered:
      if (slot == nullptr) break;
      onDelivered(event);
      if (slot->phase == Phase::Consuming && isFull(*slot)) return cancel(link, event.channel - kFirstSlot);
      break;
    case Event::Kind::ConsumerThere:
      if (slot != nullptr) return onConsumer(link, event.channel - kFirstSlot);
      break;
    case Event::Kind::CancelDone:
      if (slot != nullptr) return onCancelled(link, event.channel - kFirstSlot);
      break;
    case Event::Kind::QosSet:
      if (slot == nullptr || slot->fences.empty()) break;
      slot->fencePassed = std::max(slot->fencePassed, slot->fences.front());
      slot->fences.pop_front();
      changed_.notify_all();
      break;
    case Event::Kind::Counted:
      if (slot != nullptr) return onDepth(link, event.channel - kFirstSlot, event.count);
      onCounted(event.count);
      break;
    case Event::Kind::Cancelled:
      return {ErrorCode::Unavailable, "the queue was deleted while it was in use"};
    case Event::Kind::ChannelClosed:
      return *event.error;
    default:
      break;
  }
  return {};
}

void Receiver::onDelivered(Event& event) {
  slotOf(event.channel)->arrived.push_back({epochLocked(), event.tag, std::move(event.message)});
  changed_.notify_all();
}

void Receiver::onCounted(std::int64_t count) {
  if (counting_.empty()) return;
  counting_.front()->counts.push_back(count);
  if (counting_.front()->counts.size() < counting_.front()->queues.size()) return;
  counting_.pop_front();
  changed_.notify_all();
}

}  // namespace sluice::rabbitmq
