// See consumer.h.
#include "consumer.h"

#include <algorithm>

#include "scripts.h"

namespace sluice::stream {

namespace {

constexpr std::array<SettleKind, 3> kKindOrder = {SettleKind::DeadLetter, SettleKind::Done,
                                                  SettleKind::RetryLater};

SteadyTime steadyNow() noexcept { return std::chrono::steady_clock::now(); }

// The caller's deadline with room for the answer to come back.
Deadline graced(Deadline deadline) noexcept {
  return Deadline(std::max(deadline.at(), steadyNow()) + kGrace);
}

// A read changes nothing that the next one does not show again, so its outcome is never unknown.
Error ofRead(const Error& error) {
  return {error.code == ErrorCode::OutcomeUnknown ? ErrorCode::Unavailable : error.code, error.text};
}

// Stream or group are gone, or something else has taken their place.
bool isOfTheKeys(const Error& error) noexcept {
  return error.code == ErrorCode::NotFound || error.code == ErrorCode::Corrupt;
}

}  // namespace

class Consumer::Receiving {
 public:
  explicit Receiving(Consumer& consumer) : consumer_(consumer) { set(true); }
  ~Receiving() {
    set(false);
    consumer_.idle_.notify_all();
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

 private:
  void set(bool value) {
    const std::lock_guard lock(consumer_.mutex_);
    consumer_.receiving_ = value;
  }
  Consumer& consumer_;
};

// The arguments that all settling scripts begin with, and then some for each token.
struct Consumer::Words {
  Words(const Consumer& consumer, std::span<const DeliveryToken> tokens,
        std::initializer_list<std::string> more = {}) {
    const auto byId = [](const DeliveryToken& a, const DeliveryToken& b) {
      return std::pair(a.a, a.b) < std::pair(b.a, b.b);
    };
    const auto [lowest, highest] = std::minmax_element(tokens.begin(), tokens.end(), byId);
    all = {consumer.shared_.settings.group, consumer.name_, entryId(*lowest), entryId(*highest)};
    all.insert(all.end(), more);
    all.reserve(all.size() + tokens.size() * 4);
  }
  void add(const DeliveryToken& token) {
    all.push_back(entryId(token));
    all.push_back(std::to_string(token.epoch));
  }
  std::vector<std::string> all;
};

Consumer::Consumer(Shared& shared, std::size_t slot)
    : shared_(shared), name_(shared.settings.instance + "-" + std::to_string(slot)) {}

void Consumer::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  if (connection_) connection_->interrupt();
}

bool Consumer::waitIdle(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline.at(), [this] { return !receiving_; });
}

void Consumer::drop() noexcept {
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

Error Consumer::failed(const Error& error, std::string_view doing) {
  if (connection_ && connection_->broken()) drop();
  if (shared_.state() == State::Closed) return {ErrorCode::Stopped, "the queue is closed"};
  shared_.log.repeated(LogLevel::Warning, kComponent, doing, std::string(doing) + ": " + error.text);
  return error.during(doing);
}

Status Consumer::connect(Deadline deadline) {
  if (connection_) return {};
  if (nextAttempt_ > steadyNow()) {
    shared_.pause(Deadline(std::min(deadline.at(), nextAttempt_)), shared_.state());
    if (auto refused = shared_.refusal(); !refused) return refused;
    if (nextAttempt_ > steadyNow()) {
      return {ErrorCode::Unavailable,
              shared_.settings.redis.text() + ": connection lost, waiting before the next attempt"};
    }
  }
  const Status entered = enter(deadline.orSooner(shared_.settings.redis.connectTimeout));
  if (!entered) {
    drop();
    nextAttempt_ = steadyNow() + backoff(failedInRow_++, kBackoffBase, kBackoffMax, shared_.random);
    return failed(ofRead(entered.error()), "connecting");
  }
  if (connectedBefore_) ++shared_.counters.reconnects;
  connectedBefore_ = true;
  failedInRow_ = 0;
  recovering_ = true;
  recoverAfter_.clear();
  return {};
}

Status Consumer::enter(Deadline deadline) {
  RedisTarget target = shared_.settings.redis;
  target.clientName += "-queue";
  auto made = RedisConnection::connect(target, deadline);
  if (!made) return made.error();
  {
    const std::lock_guard lock(mutex_);  // from here on it can be interrupted
    connection_ = std::move(made).take();
  }
  if (auto checked = shared_.check(*connection_, deadline); !checked) return checked;
  return shared_.ensureGroup(*connection_, deadline);
}

Result<std::vector<Delivery>> Consumer::receive(std::size_t max, Deadline deadline) {
  const Receiving receiving(*this);
  while (true) {
    if (auto refused = shared_.refusal(); !refused) return refused.error();
    if (shared_.state() == State::Draining) return std::vector<Delivery>();
    if (auto connected = connect(graced(deadline)); !connected) return connected.error();
    Batch batch;
    auto received = receiveInto(batch, max, deadline);
    if (!received && !connection_->broken() && isOfTheKeys(received.error())) received = rebuild(deadline);
    if (!received) return failed(ofRead(received.error()), "receiving");
    if (!batch.garbage.empty()) buryGarbage(batch, graced(deadline));
    // What came while a drain began stays pending; the drain hands it back.
    if (shared_.state() != State::Running) continue;
    if (!batch.deliveries.empty()) {
      if (batch.deliveries.front().deliveries > 1) shared_.counters.redelivered += batch.deliveries.size();
      return std::move(batch.deliveries);
    }
    if (deadline.passed()) return std::vector<Delivery>();
  }
}

// One step, which ends with a look at what is new even where the deadline has passed. Claimed and new entries
// never share a batch, so that new ones keep their order.
Status Consumer::receiveInto(Batch& batch, std::size_t max, Deadline deadline) {
  while (recovering_) {
    if (auto recovered = recover(batch, max, graced(deadline)); !recovered || !batch.empty())
      return recovered;
  }
  if (letNewPass_) {
    letNewPass_ = false;
    if (auto read = readNew(batch, max, milliseconds(0), graced(deadline)); !read) return read;
    if (!batch.empty()) return {};
  }
  if (pollIsDue()) {
    if (auto polled = poll(batch, max, graced(deadline)); !polled) return polled;
    if (!batch.empty()) return {};
  }
  return readNew(batch, max, blockFor(deadline), graced(deadline));
}

Status Consumer::recover(Batch& batch, std::size_t max, Deadline deadline) {
  const std::string start = recoverAfter_.empty() ? "-" : "(" + recoverAfter_;
  const std::string wanted = std::to_string(max);
  const std::string isolateFrom = std::to_string(limits::kIsolateFromDelivery);
  const auto names = shared_.keys.all();
  const std::array<std::string_view, 5> args = {shared_.settings.group, name_, start, wanted, isolateFrom};
  const auto reply = connection_->eval(scripts().recover, names, args, deadline);
  if (!reply) return reply.error();
  const RedisValue value = reply.value().value();
  if (value[0].text() == "nogroup") return {ErrorCode::NotFound, "the group is gone"};
  recoverAfter_ = value[1].text();
  recovering_ = !recoverAfter_.empty();
  shared_.lostEntries(value[2].integer());
  batch.addClaimed(value[3]);
  return {};
}

bool Consumer::pollIsDue() const noexcept {
  const SteadyTime now = steadyNow();
  return now >= nextPoll_ || now >= shared_.nextRetry();
}

milliseconds Consumer::blockFor(Deadline deadline) const noexcept {
  const SteadyTime until = std::min({deadline.at(), shared_.nextRetry(), nextPoll_, steadyNow() + kBlockMax});
  return Deadline(until).remaining();
}

Status Consumer::poll(Batch& batch, std::size_t max, Deadline deadline) {
  const std::string wanted = std::to_string(max);
  const std::string isolateFrom = std::to_string(limits::kIsolateFromDelivery);
  const std::string lease = std::to_string(shared_.settings.lease.count());
  const std::string orphaned = std::to_string((kDelayMax + shared_.settings.lease).count());
  const std::string retire = std::to_string(shared_.settings.retire.count());
  const std::string_view takeOver = shared_.takeOverIsDue() ? "1" : "0";
  const auto names = shared_.keys.all();
  const std::array<std::string_view, 8> args = {
      shared_.settings.group, name_, wanted, isolateFrom, lease, takeOver, orphaned, retire};
  const auto reply = connection_->eval(scripts().poll, names, args, deadline);
  if (!reply) return reply.error();
  const RedisValue value = reply.value().value();
  if (value[0].text() == "nogroup") return {ErrorCode::NotFound, "the group is gone"};
  nextPoll_ = steadyNow() + kBlockMax;
  shared_.setNextRetry(milliseconds(value[1].integer()));
  if (value[2].integer() != 0) {
    shared_.takeOverSoon();
    nextPoll_ = steadyNow();
  }
  shared_.lostEntries(value[3].integer());
  batch.addClaimed(value[4]);
  // One that had to come alone lets new ones pass before the next, so that a pile of poison slows orders down
  // but never stops them.
  letNewPass_ =
      batch.deliveries.size() == 1 && batch.deliveries[0].deliveries >= limits::kIsolateFromDelivery;
  return {};
}

Status Consumer::readNew(Batch& batch, std::size_t max, milliseconds block, Deadline deadline) {
  const std::string wanted = std::to_string(max);
  const std::string wait = std::to_string(block.count());
  RedisArgs args = {"XREADGROUP", "GROUP", shared_.settings.group, name_, "COUNT", wanted};
  // BLOCK 0 would wait for ever.
  if (block.count() > 0) args.insert(args.end(), {"BLOCK", wait});
  args.insert(args.end(), {"STREAMS", shared_.keys.journal, ">"});
  const auto reply = connection_->call(args, Deadline(std::max(deadline.at(), steadyNow() + block + kGrace)));
  if (!reply) return reply.error();
  rebuiltInRow_ = 0;
  batch.addNew(reply.value().value());
  return {};
}

// FLUSHALL, a restart without its file, somebody's hand: what is gone is made anew, a stranger is named.
Status Consumer::rebuild(Deadline deadline) {
  if (rebuiltInRow_ > 0) {
    const milliseconds wait = backoff(rebuiltInRow_, kBackoffBase, kBackoffMax, shared_.random);
    shared_.pause(deadline.orSooner(wait), State::Running);
  }
  ++rebuiltInRow_;
  return shared_.ensureGroup(*connection_, graced(deadline));
}

// What cannot be put aside now (dead letters full, connection lost) stays pending and comes again after the
// lease.
void Consumer::buryGarbage(Batch& batch, Deadline deadline) {
  const auto verdicts = bury(batch.garbage, false, deadline);
  // Only the log hears of it: the good ones are delivered nevertheless.
  if (!verdicts) (void)failed(verdicts.error(), "putting an undecodable entry aside");
}

Result<std::string> Consumer::run(const RedisScript& script, const Words& words, Deadline deadline) {
  const auto names = shared_.keys.all();
  const std::vector<std::string_view> args(words.all.begin(), words.all.end());
  if (!connection_) return {ErrorCode::Unavailable, "not connected"};
  const auto reply = connection_->eval(script, names, args, deadline);
  if (!reply) return reply.error();
  const RedisValue value = reply.value().value();
  if (value[0].text() == "full") {
    return {ErrorCode::Overloaded, "the dead letters are full (queue.stream.dead.max); replay or drop some"};
  }
  return std::string(value[1].text());
}

Result<std::string> Consumer::bury(std::span<const Garbage> letters, bool decodable, Deadline deadline) {
  std::vector<DeliveryToken> tokens;
  for (const Garbage& letter : letters) {
    tokens.push_back(letter.token);
  }
  Words words(*this, tokens,
              {std::to_string(shared_.settings.deadMax), std::to_string(toMillis(shared_.clock.now())),
               std::to_string(limits::kDeadBytesMax), decodable ? "1" : "0"});
  for (const Garbage& letter : letters) {
    words.add(letter.token);
    words.all.push_back(letter.reason.substr(0, limits::kReasonBytesMax));
  }
  auto verdicts = run(scripts().dead, words, deadline);
  if (verdicts) {
    shared_.counters.deadLettered +=
        static_cast<std::uint64_t>(std::count(verdicts.value().begin(), verdicts.value().end(), '1'));
  }
  return verdicts;
}

Result<std::string> Consumer::settleKind(SettleKind kind, std::span<const Settlement* const> part,
                                         Deadline deadline) {
  if (kind == SettleKind::DeadLetter) {
    std::vector<Garbage> letters;
    for (const Settlement* settlement : part) {
      letters.push_back({settlement->token, settlement->reason});
    }
    return bury(letters, true, deadline);
  }
  std::vector<DeliveryToken> tokens;
  for (const Settlement* settlement : part) {
    tokens.push_back(settlement->token);
  }
  Words words(*this, tokens);
  milliseconds soonest = kDelayMax;
  for (const Settlement* settlement : part) {
    words.add(settlement->token);
    if (kind == SettleKind::Done) continue;
    const milliseconds delay = std::clamp(settlement->delay, milliseconds(0), kDelayMax);
    soonest = std::min(soonest, delay);
    words.all.push_back(std::to_string(delay.count()));
    words.all.push_back(settlement->countsAsFailure ? "1" : "0");
  }
  auto verdicts = run(kind == SettleKind::Done ? scripts().done : scripts().later, words, deadline);
  if (verdicts && kind == SettleKind::RetryLater) shared_.noteRetry(soonest);
  return verdicts;
}

Result<std::vector<SettleOutcome>> Consumer::settle(std::span<const Settlement> settlements,
                                                    Deadline deadline) {
  std::vector<SettleOutcome> outcomes(settlements.size(), SettleOutcome::Stale);
  if (settlements.empty()) return outcomes;
  if (auto connected = connect(deadline); !connected) return connected.error();
  bool anythingDone = false;
  // Dead letters first: they alone may be refused, and then nothing has been done.
  for (const SettleKind kind : kKindOrder) {
    std::vector<const Settlement*> part;
    for (const Settlement& settlement : settlements) {
      if (settlement.kind == kind) part.push_back(&settlement);
    }
    for (std::size_t from = 0; from < part.size(); from += limits::kReceiveBatchMax) {
      const auto chunk =
          std::span(part).subspan(from, std::min(limits::kReceiveBatchMax, part.size() - from));
      const auto verdicts = settleKind(kind, chunk, deadline);
      if (!verdicts) {
        const Error error = failed(verdicts.error(), "settling");
        // "Nothing was done" is no longer true.
        return anythingDone && error.code != ErrorCode::Stopped ? Error{ErrorCode::OutcomeUnknown, error.text}
                                                                : error;
      }
      anythingDone = true;
      for (std::size_t k = 0; k < chunk.size() && k < verdicts.value().size(); ++k) {
        if (verdicts.value()[k] == '1')
          outcomes[static_cast<std::size_t>(chunk[k] - settlements.data())] = SettleOutcome::Settled;
      }
    }
  }
  return outcomes;
}

Status Consumer::extend(std::span<const DeliveryToken> tokens, Deadline deadline) {
  if (tokens.empty()) return {};
  if (auto connected = connect(deadline); !connected) return connected;
  for (std::size_t from = 0; from < tokens.size(); from += limits::kReceiveBatchMax) {
    const auto chunk = tokens.subspan(from, std::min(limits::kReceiveBatchMax, tokens.size() - from));
    Words words(*this, chunk);
    for (const DeliveryToken& token : chunk) {
      words.add(token);
    }
    if (auto renewed = run(scripts().extend, words, deadline); !renewed)
      return failed(renewed.error(), "extending");
  }
  return {};
}

}  // namespace sluice::stream
