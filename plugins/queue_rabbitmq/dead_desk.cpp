// See dead_desk.h.
#include "dead_desk.h"

#include <cinttypes>
#include <cstdio>
#include <thread>

namespace sluice::rabbitmq {

namespace {

constexpr amqp_channel_t kDesk = 1;
constexpr amqp_channel_t kReading = 2;
constexpr std::size_t kIdBytes = 13 + 1 + 8 + 1 + 8;
// A broker that counts letters and does not hand them out for so long is asked no more.
constexpr milliseconds kQuiet{2000};

bool isId(const std::string& id) {
  if (id.size() != kIdBytes || id[13] != '-' || id[22] != '-') return false;
  return id.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

Error gone(const std::string& id) {
  return {ErrorCode::NotFound, "there is no dead letter " + id + "; it was replayed or removed"};
}

DeadLetter letterFrom(const Message& message) {
  DeadLetter letter;
  letter.id = message.id;
  if (auto admission = decodeAdmission(message.bytes)) letter.admission = admission.value();
  letter.journal = message.journal;
  letter.bytes = message.bytes.substr(0, limits::kDeadBytesMax);
  letter.reason = message.reason;
  letter.deliveries = static_cast<std::uint32_t>(message.deliveries);
  letter.failures = static_cast<std::uint32_t>(message.failures);
  letter.deadAt = fromMillis(message.deadAtMs);
  return letter;
}

amqp_bytes_t bytesOf(const std::string& text) { return amqp_cstring_bytes(text.c_str()); }

}  // namespace

// One look at all dead letters: they are ours while it lasts, and back in their queue afterwards.
class DeadDesk::Visit {
 public:
  Visit(Shared& shared, Link& link, Deadline deadline) : shared_(shared), link_(link), deadline_(deadline) {}

  Status begin() {
    if (auto opened = link_.open(deadline_); !opened) return opened;
    if (auto locked = lock(); !locked) return locked;
    amqp_confirm_select(link_.raw(), kDesk);
    if (auto selected = link_.lastCall(); !selected) return selected;
    return link_.openChannel(kReading, deadline_);
  }

  // Shows every letter, and the tag under which remove() knows it.
  Status read(const std::function<void(const Message&, std::uint64_t)>& show) {
    auto there = count();
    if (!there) return there.error();
    left_ = there.value();
    if (left_ == 0) return {};
    link_.limitCalls(deadline_);
    amqp_basic_consume(link_.raw(), kReading, bytesOf(shared_.names.dead), amqp_empty_bytes, 0, 0, 0,
                       amqp_empty_table);
    if (auto consuming = link_.lastCall(); !consuming) return consuming;
    for (std::int64_t seen = 0; seen < left_;) {
      auto event = link_.await(deadline_.orSooner(kQuiet));
      if (!event) return event.error();
      if (event.value().kind == Event::Kind::ChannelClosed) return *event.value().error;
      if (event.value().kind != Event::Kind::Delivered) continue;
      show(event.value().message, event.value().tag);
      ++seen;
    }
    return {};
  }

  Status remove(std::uint64_t tag) {
    amqp_basic_ack_t accept{.delivery_tag = tag, .multiple = 0};
    if (auto sent = link_.send(kReading, AMQP_BASIC_ACK_METHOD, &accept); !sent) return sent;
    --left_;
    amqp_basic_qos_t fence{.prefetch_size = 0, .prefetch_count = 0, .global = 0};
    if (auto sent = link_.send(kReading, AMQP_BASIC_QOS_METHOD, &fence); !sent) return sent;
    while (true) {
      auto event = link_.await(deadline_);
      if (!event) return {ErrorCode::OutcomeUnknown, event.error().text};
      if (event.value().kind == Event::Kind::QosSet) return {};
    }
  }

  // Into the work queue, confirmed.
  Status publish(const Message& message) {
    const Names& names = shared_.names;
    if (auto sent = link_.publish(kDesk, names.exchange, names.work, message, 1); !sent) return sent;
    bool returned = false;
    while (true) {
      auto event = link_.await(deadline_);
      if (!event) return {ErrorCode::OutcomeUnknown, event.error().text};
      if (event.value().kind == Event::Kind::Blocked) {
        return {ErrorCode::OutcomeUnknown,
                "RabbitMQ takes no messages at present; its memory or disk is full"};
      }
      if (event.value().kind == Event::Kind::Refused)
        return {ErrorCode::Overloaded, "RabbitMQ refuses messages; a queue of it is full"};
      returned = returned || event.value().kind == Event::Kind::Returned;
      if (event.value().kind == Event::Kind::Confirmed) break;
    }
    if (returned) return {ErrorCode::Unavailable, "the queue " + names.work + " is missing or not bound"};
    return {};
  }

  // Gives back what was read; the next visit finds all of it.
  void end() {
    link_.limitCalls(deadline_);
    amqp_channel_close(link_.raw(), kReading, AMQP_REPLY_SUCCESS);
    while (!deadline_.passed()) {
      const auto there = count();
      if (!there || there.value() >= left_) break;
      std::this_thread::sleep_for(milliseconds(2));
    }
    link_.closePolitely(deadline_.orSooner(milliseconds(1000)).remaining());
  }

 private:
  Status lock() {
    while (true) {
      if (auto opened = link_.openChannel(kDesk, deadline_); !opened) return opened;
      link_.limitCalls(deadline_);
      amqp_queue_declare(link_.raw(), kDesk, bytesOf(shared_.names.deadLock), 0, 0, 1, 1, amqp_empty_table);
      Status locked = link_.lastCall();
      if (locked || locked.error().code != ErrorCode::Conflict) return locked;
      if (deadline_.passed())
        return {ErrorCode::Unavailable, "somebody else looks through the dead letters; try again"};
      amqp_channel_close_ok_t agreed{};
      if (auto sent = link_.send(kDesk, AMQP_CHANNEL_CLOSE_OK_METHOD, &agreed); !sent) return sent;
      std::this_thread::sleep_for(milliseconds(10));
    }
  }

  Result<std::int64_t> count() {
    link_.limitCalls(deadline_);
    const auto* counted =
        amqp_queue_declare(link_.raw(), kDesk, bytesOf(shared_.names.dead), 1, 0, 0, 0, amqp_empty_table);
    if (counted == nullptr) return link_.lastCall().error();
    return static_cast<std::int64_t>(counted->message_count);
  }

  Shared& shared_;
  Link& link_;
  const Deadline deadline_;
  std::int64_t left_ = 0;
};

DeadDesk::DeadDesk(Shared& shared, Publisher& publisher, Receiver& receiver)
    : shared_(shared),
      publisher_(publisher),
      receiver_(receiver),
      tag_(static_cast<std::uint32_t>(shared.random.next())) {}

Message DeadDesk::letterOf(const Message& message, std::int64_t deliveries, const std::string& reason) {
  Message letter = again(message, deliveries);
  letter.bytes.resize(std::min(letter.bytes.size(), limits::kDeadBytesMax));
  letter.reason = reason.substr(0, limits::kReasonBytesMax);
  letter.deadAtMs = toMillis(shared_.clock.now());
  std::array<char, kIdBytes + 1> id{};
  std::snprintf(id.data(), id.size(), "%013" PRIu64 "-%08" PRIx32 "-%08" PRIx32,
                static_cast<std::uint64_t>(letter.deadAtMs) % 10'000'000'000'000U, ++serial_, tag_);
  letter.id = id.data();
  return letter;
}

Status DeadDesk::bury(std::vector<Message> letters, Deadline deadline) {
  if (letters.empty()) return {};
  const std::size_t count = letters.size();
  const std::lock_guard lock(burying_);
  auto there = receiver_.count({shared_.names.dead}, deadline);
  if (!there) return there.error();
  if (there.value()[0] + static_cast<std::int64_t>(count) > shared_.settings.deadMax) {
    shared_.log.repeated(LogLevel::Error, kComponent, "dead letters full",
                         "the dead letters are full; replay or drop some, orders wait meanwhile");
    return {ErrorCode::Overloaded,
            "the dead letters are full (queue.rabbitmq.dead.max); replay or drop some"};
  }
  std::vector<Outgoing> outgoing;
  outgoing.reserve(count);
  for (Message& letter : letters)
    outgoing.push_back({shared_.names.dead, std::move(letter)});
  if (auto published = publisher_.publish(std::move(outgoing), deadline); !published) return published;
  shared_.counters.deadLettered += count;
  return {};
}

Status DeadDesk::visit(Deadline deadline, const std::function<Status(Visit&)>& act) {
  const Turn::Guard turn(visiting_, deadline);
  if (!turn) return {ErrorCode::Unavailable, "the dead letters are being looked through; try again"};
  Link link(shared_.settings);
  {
    const std::lock_guard lock(linkMutex_);
    link_ = &link;
  }
  Visit visit(shared_, link, deadline);
  Status done = shared_.refusal();
  if (done) done = visit.begin();
  if (done) {
    done = act(visit);
    visit.end();
  }
  const std::lock_guard lock(linkMutex_);
  link_ = nullptr;
  if (!done && shared_.state() == State::Closed) return shared_.refusal();
  return done;
}

void DeadDesk::abort() noexcept {
  const std::lock_guard lock(linkMutex_);
  if (link_ != nullptr) link_->abort();
}

Result<std::vector<DeadLetter>> DeadDesk::list(const std::string& afterId, std::size_t max,
                                               Deadline deadline) {
  if (!afterId.empty() && !isId(afterId))
    return {ErrorCode::InvalidArgument, "not the id of a dead letter: " + afterId};
  if (max == 0 || max > limits::kPageMax)
    return {ErrorCode::InvalidArgument, "a page has 1 to 1000 dead letters"};
  std::map<std::string, DeadLetter> page;
  const Status done = visit(deadline, [&](Visit& visit) {
    return visit.read([&](const Message& message, std::uint64_t) {
      if (message.id <= afterId) return;
      page.emplace(message.id, letterFrom(message));
      if (page.size() > max) page.erase(std::prev(page.end()));
    });
  });
  if (!done) return done.error();
  std::vector<DeadLetter> letters;
  letters.reserve(page.size());
  for (auto& [id, letter] : page)
    letters.push_back(std::move(letter));
  return letters;
}

Result<std::optional<DeadLetter>> DeadDesk::find(const std::string& id, Deadline deadline) {
  std::optional<DeadLetter> found;
  if (!isId(id)) return found;
  const Status done = visit(deadline, [&](Visit& visit) {
    return visit.read([&](const Message& message, std::uint64_t) {
      if (message.id == id) found = letterFrom(message);
    });
  });
  if (!done) return done.error();
  return found;
}

Status DeadDesk::replay(const std::string& id, Deadline deadline) {
  if (!isId(id)) return gone(id);
  return visit(deadline, [&](Visit& visit) -> Status {
    std::optional<Message> found;
    std::uint64_t tag = 0;
    Status done = visit.read([&](const Message& message, std::uint64_t itsTag) {
      if (message.id != id) return;
      found = message;
      tag = itsTag;
    });
    if (!done) return done;
    if (!found) return gone(id);
    if (auto admission = decodeAdmission(found->bytes); !admission)
      return Error{ErrorCode::Corrupt, "dead letter " + id + ": " + admission.error().text};
    const Message fresh{
        .bytes = found->bytes, .journal = found->journal, .enqueuedMs = toMillis(shared_.clock.now())};
    if (auto published = visit.publish(fresh); !published) return published;
    return visit.remove(tag);
  });
}

Status DeadDesk::remove(const std::string& id, Deadline deadline) {
  if (!isId(id)) return gone(id);
  return visit(deadline, [&](Visit& visit) -> Status {
    std::uint64_t tag = 0;
    Status done = visit.read([&](const Message& message, std::uint64_t itsTag) {
      if (message.id == id) tag = itsTag;
    });
    if (!done) return done;
    return tag == 0 ? Status(gone(id)) : visit.remove(tag);
  });
}

}  // namespace sluice::rabbitmq
