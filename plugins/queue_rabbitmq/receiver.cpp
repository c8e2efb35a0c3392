// See receiver.h.
#include "receiver.h"

#include <algorithm>

namespace sluice::rabbitmq {

namespace {

using std::chrono::steady_clock;

constexpr amqp_channel_t kCountChannel = 1;
constexpr amqp_channel_t kFirstSource = 2;
constexpr std::array kSources = {Source::Work, Source::Alone};
constexpr std::size_t kPrefetchMax = 65535;

amqp_channel_t channelOf(Source source) {
  return static_cast<amqp_channel_t>(kFirstSource + static_cast<unsigned>(source));
}

amqp_bytes_t bytesOf(const std::string& text) { return amqp_cstring_bytes(text.c_str()); }

}  // namespace

// Somebody fetches, as long as this lives. Under mutex_.
class Receiver::Waiting {
 public:
  Waiting(Receiver& receiver, std::size_t max) : receiver_(receiver) {
    receiver_.enough_ = receiver_.fetching_ == 0 ? max : std::min(receiver_.enough_, max);
    ++receiver_.fetching_;
  }
  ~Waiting() {
    --receiver_.fetching_;
    receiver_.fetchedAt_ = steady_clock::now();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Receiver& receiver_;
};

Receiver::Receiver(Shared& shared) : LinkThread(shared, "consuming") {
  consumers_.emplace_back(shared.names.work);
  consumers_.emplace_back(shared.names.alone);
}
Receiver::~Receiver() { stop(); }

Status Receiver::prepare(Link& link, Deadline deadline) {
  if (auto opened = link.openChannel(kCountChannel, deadline); !opened) return opened;
  for (const Source source : kSources) {
    if (auto opened = link.openChannel(channelOf(source), deadline); !opened) return opened;
  }
  return {};
}

void Receiver::onConnected() {}

void Receiver::onLost(const Error&) {
  // What was out belongs to nobody now; the broker hands it out anew.
  for (Consumer& consumer : consumers_)
    consumer = Consumer(consumer.queue);
  settlings_.clear();
  askedFences_.clear();
  toCount_.clear();
  counting_.clear();
}

Result<std::vector<Received>> Receiver::fetch(std::size_t max, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (auto there = connectedOr(deadline, lock); !there) return there.error();
  const Waiting waiting(*this, max);
  const std::uint64_t epoch = epochLocked();
  // An answer of the broker, asked for when the consumer was there: what waited then has come before it, and
  // the broker is alive.
  std::uint64_t proof = 0;
  const Deadline end(deadline.at() + kGrace);
  while (true) {
    if (stopping()) return {ErrorCode::Stopped, "the queue is closed"};
    if (!connectedLocked() || epochLocked() != epoch) return away();
    if (interrupted_) return std::vector<Received>();
    const bool proven = proof != 0 && of(Source::Work).fencePassed >= proof;
    const bool late = deadline.passed();
    if (auto batch = takeStock(max, proven || late); !batch.empty()) return batch;
    if (late && proven) return std::vector<Received>();
    if (end.passed()) return {ErrorCode::Unavailable, shared_.settings.text() + " does not answer"};
    if (wishFor(max)) {
      proof = 0;
    } else if (proof == 0) {
      proof = askFence();
    }
    changed_.wait_until(lock, late ? end.at() : deadline.at());
  }
}

// Whether what there is does not do, and another consumer is on its way. Everything that the old one may bring
// has come when it is ended: what is under way to a consumer that ends would come back as delivered before.
bool Receiver::wishFor(std::size_t max) {
  const auto wish = [this](Consumer& own, std::size_t wanted, std::size_t prefetch) {
    const bool spent = own.phase == Phase::Standing && own.out >= own.prefetch && own.stock.size() < wanted;
    if (own.wish > 0 || (own.phase != Phase::None && !spent)) return;
    own.wish = std::min(prefetch, kPrefetchMax);
    wake();
  };
  Consumer& work = of(Source::Work);
  wish(of(Source::Alone), 1, 1);
  wish(work, max, 2 * max + work.unsettled.size());
  return work.wish > 0 || work.phase != Phase::Standing;
}

std::uint64_t Receiver::askFence() {
  askedFences_.push_back(++lastFence_);
  wake();
  return lastFence_;
}

std::vector<Received> Receiver::takeStock(std::size_t max, bool nothingElseComes) {
  std::deque<Received>& alone = of(Source::Alone).stock;
  std::deque<Received>& work = of(Source::Work).stock;
  const bool ready = work.size() >= max || (nothingElseComes && !work.empty());
  std::vector<Received> batch;
  // In turn, so that neither waits for the end of the other.
  const bool single = !alone.empty() && (aloneTurn_ || !ready);
  if (!single && !ready) return batch;
  aloneTurn_ = !single;
  std::deque<Received>& from = single ? alone : work;
  const auto count = static_cast<std::ptrdiff_t>(single ? 1 : std::min(max, work.size()));
  batch.assign(std::move_iterator(from.begin()), std::move_iterator(from.begin() + count));
  from.erase(from.begin(), from.begin() + count);
  return batch;
}

void Receiver::interrupt() noexcept {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  changed_.notify_all();
}

Result<std::vector<Received>> Receiver::rest(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (stopping()) return {ErrorCode::Stopped, "the queue is closed"};
  if (!connectedLocked()) return std::vector<Received>();
  const std::uint64_t epoch = epochLocked();
  for (Consumer& consumer : consumers_) {
    consumer.wish = 0;
    consumer.stop = consumer.phase != Phase::None;
  }
  wake();
  const auto gone = [&] { return stopping() || !connectedLocked() || epochLocked() != epoch; };
  const auto ended = [&] { return !of(Source::Work).stop && !of(Source::Alone).stop; };
  changed_.wait_until(lock, deadline.at(), [&] { return gone() || ended(); });
  if (gone()) return std::vector<Received>();
  if (!ended()) return {ErrorCode::Unavailable, shared_.settings.text() + " does not answer"};
  std::vector<Received> left;
  for (Consumer& consumer : consumers_) {
    std::move(consumer.stock.begin(), consumer.stock.end(), std::back_inserter(left));
    consumer.stock.clear();
  }
  return left;
}

milliseconds Receiver::idleFor() const {
  const std::lock_guard lock(mutex_);
  const bool none = std::all_of(consumers_.begin(), consumers_.end(),
                                [](const Consumer& one) { return one.phase == Phase::None; });
  if (fetching_ > 0 || none) return milliseconds(0);
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - fetchedAt_);
}

std::size_t Receiver::inStock() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const Consumer& consumer : consumers_)
    count += consumer.stock.size();
  return count;
}

std::uint64_t Receiver::arrivals() const {
  const std::lock_guard lock(mutex_);
  return arrivals_;
}

bool Receiver::hasPassed(const std::vector<Ticket>& tickets, std::uint64_t fence) {
  return std::all_of(tickets.begin(), tickets.end(),
                     [&](const Ticket& ticket) { return of(ticket.source).fencePassed >= fence; });
}

Status Receiver::settle(const std::vector<Ticket>& tickets, Verdict verdict, Deadline deadline) {
  if (tickets.empty()) return {};
  std::unique_lock lock(mutex_);
  const std::uint64_t epoch = tickets.front().epoch;
  if (stopping()) return {ErrorCode::Stopped, "the queue is closed"};
  if (!connectedLocked() || epochLocked() != epoch) return away();
  const std::uint64_t fence = ++lastFence_;
  settlings_.push_back({tickets, verdict, fence});
  wake();
  const auto gone = [&] { return stopping() || !connectedLocked() || epochLocked() != epoch; };
  changed_.wait_until(lock, deadline.at(), [&] { return gone() || hasPassed(tickets, fence); });
  if (!gone() && hasPassed(tickets, fence)) return {};
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
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    addSettlings(commands);
    addFences(commands);
    addCountings(commands);
    for (const Source source : kSources)
      addConsumer(commands, source);
  }
  for (const Command& command : commands) {
    if (auto sent = send(link, command); !sent) return sent;
  }
  return {};
}

void Receiver::addSettlings(std::vector<Command>& commands) {
  for (const Settling& settling : settlings_) {
    for (const Source source : kSources)
      addSettled(commands, source, settling);
  }
  settlings_.clear();
}

// As few methods as possible: one for all that are settled without a gap from the oldest that is out, then one
// for each.
void Receiver::addSettled(std::vector<Command>& commands, Source source, const Settling& settling) {
  const auto kind = settling.verdict == Verdict::Accept ? Command::Kind::Accept : Command::Kind::HandBack;
  const amqp_channel_t channel = channelOf(source);
  Consumer& own = of(source);
  std::vector<std::uint64_t> tags;
  for (const Ticket& ticket : settling.tickets) {
    if (ticket.source == source && own.unsettled.count(ticket.tag) > 0) tags.push_back(ticket.tag);
  }
  std::sort(tags.begin(), tags.end());
  std::size_t gapless = 0;
  for (auto out = own.unsettled.begin(); gapless < tags.size() && *out == tags[gapless]; ++out)
    ++gapless;
  if (gapless > 1) commands.push_back({kind, channel, tags[gapless - 1], true});
  for (std::size_t k = gapless > 1 ? gapless : 0; k < tags.size(); ++k)
    commands.push_back({kind, channel, tags[k]});
  for (const std::uint64_t tag : tags) {
    own.unsettled.erase(tag);
    if (tag >= own.since) --own.out;
  }
  own.fences.push_back(settling.fence);
  commands.push_back({.kind = Command::Kind::Fence, .channel = channel, .prefetch = own.prefetch});
}

void Receiver::addFences(std::vector<Command>& commands) {
  Consumer& work = of(Source::Work);
  for (const std::uint64_t number : askedFences_) {
    work.fences.push_back(number);
    commands.push_back(
        {.kind = Command::Kind::Fence, .channel = channelOf(Source::Work), .prefetch = work.prefetch});
  }
  askedFences_.clear();
}

void Receiver::addCountings(std::vector<Command>& commands) {
  for (const auto& counting : toCount_) {
    for (const std::string& queue : counting->queues)
      commands.push_back({.kind = Command::Kind::Count, .channel = kCountChannel, .queue = queue});
    counting_.push_back(counting);
  }
  toCount_.clear();
}

// Ended not before the broker has said that it is there: RabbitMQ 3.10 closes the whole connection
// (INTERNAL_ERROR) where a consumer is cancelled while it is about to say so.
void Receiver::addConsumer(std::vector<Command>& commands, Source source) {
  Consumer& own = of(source);
  const amqp_channel_t channel = channelOf(source);
  if (own.phase == Phase::Standing && (own.stop || own.wish > 0)) {
    own.phase = Phase::Ending;
    commands.push_back({.kind = Command::Kind::Cancel, .channel = channel, .name = own.tag});
  }
  if (own.phase != Phase::None || own.wish == 0) return;
  own.phase = Phase::Starting;
  own.prefetch = std::exchange(own.wish, 0);
  own.since = own.next;
  own.out = 0;
  // A tag that was used before would count what it still has out against the prefetch.
  own.tag = "c" + std::to_string(++lastConsumer_);
  own.fences.push_back(0);
  commands.push_back({.kind = Command::Kind::Fence, .channel = channel, .prefetch = own.prefetch});
  commands.push_back(
      {.kind = Command::Kind::Consume, .channel = channel, .name = own.tag, .queue = own.queue});
}

Status Receiver::send(Link& link, const Command& command) {
  switch (command.kind) {
    case Command::Kind::Accept: {
      amqp_basic_ack_t accept{.delivery_tag = command.tag, .multiple = command.multiple};
      return link.send(command.channel, AMQP_BASIC_ACK_METHOD, &accept);
    }
    case Command::Kind::HandBack: {
      amqp_basic_nack_t handBack{.delivery_tag = command.tag, .multiple = command.multiple, .requeue = 1};
      return link.send(command.channel, AMQP_BASIC_NACK_METHOD, &handBack);
    }
    case Command::Kind::Fence: {
      amqp_basic_qos_t qos{};
      qos.prefetch_count = static_cast<std::uint16_t>(std::max<std::size_t>(command.prefetch, 1));
      return link.send(command.channel, AMQP_BASIC_QOS_METHOD, &qos);
    }
    case Command::Kind::Consume: {
      amqp_basic_consume_t consume{};
      consume.queue = bytesOf(command.queue);
      consume.consumer_tag = bytesOf(command.name);
      return link.send(command.channel, AMQP_BASIC_CONSUME_METHOD, &consume);
    }
    case Command::Kind::Cancel: {
      amqp_basic_cancel_t cancel{};
      cancel.consumer_tag = bytesOf(command.name);
      return link.send(command.channel, AMQP_BASIC_CANCEL_METHOD, &cancel);
    }
    case Command::Kind::Count:
      break;
  }
  amqp_queue_declare_t declare{};
  declare.queue = bytesOf(command.queue);
  declare.passive = 1;
  return link.send(command.channel, AMQP_QUEUE_DECLARE_METHOD, &declare);
}

Status Receiver::onEvent(Event& event) {
  if (event.kind == Event::Kind::ChannelClosed) return *event.error;
  if (event.kind == Event::Kind::Cancelled)
    return {ErrorCode::Unavailable, "the queue was deleted while it was in use"};
  if (event.kind == Event::Kind::Counted) onCounted(event.count);
  if (event.channel < kFirstSource || event.channel >= kFirstSource + consumers_.size()) return {};
  Consumer& own = consumers_[event.channel - kFirstSource];
  switch (event.kind) {
    case Event::Kind::Delivered:
      onDelivered(event);
      break;
    case Event::Kind::ConsumerThere:
      own.phase = Phase::Standing;
      changed_.notify_all();
      break;
    case Event::Kind::CancelDone:
      own.phase = Phase::None;
      own.stop = false;
      changed_.notify_all();
      break;
    case Event::Kind::QosSet:
      if (own.fences.empty()) break;
      own.fencePassed = std::max(own.fencePassed, own.fences.front());
      own.fences.pop_front();
      changed_.notify_all();
      break;
    default:
      break;
  }
  return {};
}

// Wakes those who wait when there is a first message, and when there is enough.
void Receiver::onDelivered(Event& event) {
  const auto source = static_cast<Source>(event.channel - kFirstSource);
  Consumer& own = of(source);
  own.unsettled.insert(own.unsettled.end(), event.tag);
  own.next = event.tag + 1;
  ++arrivals_;
  if (event.tag >= own.since) ++own.out;
  own.stock.push_back({{epochLocked(), source, event.tag}, std::move(event.message)});
  const bool tells = source == Source::Alone || own.stock.size() == 1 || own.stock.size() >= enough_;
  if (fetching_ > 0 && tells) changed_.notify_all();
}

void Receiver::onCounted(std::int64_t count) {
  if (counting_.empty()) return;
  counting_.front()->counts.push_back(count);
  if (counting_.front()->counts.size() < counting_.front()->queues.size()) return;
  counting_.pop_front();
  changed_.notify_all();
}

}  // namespace sluice::rabbitmq
