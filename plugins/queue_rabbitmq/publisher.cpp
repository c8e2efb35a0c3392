// See publisher.h.
#include "publisher.h"

#include <algorithm>

namespace sluice::rabbitmq {

namespace {

constexpr amqp_channel_t kChannel = 1;
// A broker that has just confirmed something is not full.
constexpr milliseconds kSilence{100};

Error blockedError() {
  return {ErrorCode::Overloaded, "RabbitMQ takes no messages at present: its memory or its disk is full"};
}

}  // namespace

Publisher::Publisher(Shared& shared) : LinkThread(shared, "publishing") {}
Publisher::~Publisher() { stop(); }

Status Publisher::prepare(Link& link, Deadline deadline) {
  if (auto opened = link.openChannel(kChannel, deadline); !opened) return opened;
  amqp_confirm_select(link.raw(), kChannel);
  return link.lastCall();
}

void Publisher::onConnected() {
  open_.clear();
  firstOpen_ = 1;
  unsettled_ = 0;
  openBytes_ = 0;
  blocked_ = false;
}

Status Publisher::mayTake(std::size_t messages) const {
  if (blocked_) return blockedError();
  if (handedOver_ > 0 && handedOver_ + messages > kHandOverMax)
    return {ErrorCode::Overloaded, "too many messages wait for being confirmed"};
  return {};
}

Status Publisher::publish(std::vector<Outgoing> messages, Deadline deadline) {
  if (messages.empty()) return {};
  std::unique_lock lock(mutex_);
  if (auto there = connectedOr(deadline, lock); !there) return there;
  if (auto may = mayTake(messages.size()); !may) return may;
  const auto job = std::make_shared<Job>();
  job->messages = std::move(messages);
  handedOver_ += job->messages.size();
  waiting_.push_back(job);
  wake();
  changed_.wait_until(lock, deadline.at(),
                      [&] { return job->done() || stopping() || (blocked_ && job->sent == 0); });
  handedOver_ -= job->messages.size();
  if (!job->done()) withdraw(job);
  return outcomeOf(*job, deadline);
}

Status Publisher::outcomeOf(const Job& job, Deadline) {
  if (job.sent == 0) {
    if (stopping()) return {ErrorCode::Stopped, "the queue is closed"};
    if (blocked_) return blockedError();
    return {ErrorCode::Unavailable, shared_.settings.text() + ": nothing was sent in time"};
  }
  const std::size_t all = job.messages.size();
  if (!job.done() || job.lost) {
    return {ErrorCode::OutcomeUnknown, shared_.settings.text() + " confirmed " + std::to_string(job.settled) +
                                           " of " + std::to_string(all) + " messages"};
  }
  if (job.returned == 0 && job.refused == 0) return {};
  if (job.returned == all)
    return {ErrorCode::Unavailable, "a queue of " + shared_.names.exchange + " is missing or not bound"};
  if (job.refused == all) return {ErrorCode::Overloaded, "RabbitMQ refuses messages; a queue of it is full"};
  return {ErrorCode::OutcomeUnknown, "RabbitMQ took a part of the messages"};
}

void Publisher::withdraw(const std::shared_ptr<Job>& job) {
  const auto found = std::find(waiting_.begin(), waiting_.end(), job);
  if (found != waiting_.end()) waiting_.erase(found);
}

bool Publisher::windowIsOpen() const noexcept { return unsettled_ < kWindow && openBytes_ < kWindowBytes; }

bool Publisher::mustProbe() const {
  return !waiting_.empty() && unsettled_ == 0 && std::chrono::steady_clock::now() - confirmedAt_ > kSilence;
}

Status Publisher::work(Link& link) {
  std::vector<Sending> burst;
  {
    const std::lock_guard lock(mutex_);
    burst = whatMayBeSent();
  }
  for (const Sending& one : burst) {
    const Outgoing& next = one.job->messages[one.place];
    if (auto sent =
            link.publish(kChannel, shared_.names.exchange, next.routingKey, next.message, one.sequence);
        !sent)
      return sent;
  }
  return {};
}

std::vector<Publisher::Sending> Publisher::whatMayBeSent() {
  std::vector<Sending> burst;
  if (blocked_ || (probe_ && !probe_->done())) return burst;
  probe_.reset();
  if (mustProbe()) {
    probe_ = std::make_shared<Job>();
    probe_->messages.push_back({shared_.names.exchange + ".probe", {}});
    burst.push_back(sendNext(probe_));
    return burst;
  }
  while (!waiting_.empty() && windowIsOpen()) {
    const std::shared_ptr<Job> job = waiting_.front();
    burst.push_back(sendNext(job));
    if (job->sent == job->messages.size()) waiting_.pop_front();
  }
  return burst;
}

Publisher::Sending Publisher::sendNext(const std::shared_ptr<Job>& job) {
  Sending next{job, job->sent++, firstOpen_ + open_.size()};
  const Message& message = job->messages[next.place].message;
  const std::size_t bytes = message.bytes.size() + message.reason.size() + 256;
  open_.push_back({job, bytes});
  ++unsettled_;
  openBytes_ += bytes;
  return next;
}

Status Publisher::onEvent(Event& event) {
  switch (event.kind) {
    case Event::Kind::Returned:
      // Comes before its confirm, which then says yes all the same.
      if (event.sequence >= firstOpen_ && event.sequence - firstOpen_ < open_.size())
        open_[event.sequence - firstOpen_].returned = true;
      break;
    case Event::Kind::Confirmed:
    case Event::Kind::Refused:
      settle(event.tag, event.multiple, event.kind == Event::Kind::Refused);
      break;
    case Event::Kind::Blocked:
      blocked_ = true;
      changed_.notify_all();
      break;
    case Event::Kind::Unblocked:
      blocked_ = false;
      break;
    case Event::Kind::ChannelClosed:
      return *event.error;
    default:
      break;
  }
  return {};
}

void Publisher::settle(std::uint64_t tag, bool multiple, bool refused) {
  const std::uint64_t end = firstOpen_ + open_.size();
  if (tag == 0 && multiple) tag = end - 1;  // AMQP: all that are open
  if (tag < firstOpen_ || tag >= end) return;
  for (std::uint64_t one = multiple ? firstOpen_ : tag; one <= tag; ++one)
    settleOne(open_[one - firstOpen_], refused);
  while (!open_.empty() && !open_.front().job) {
    open_.pop_front();
    ++firstOpen_;
  }
}

void Publisher::settleOne(Open& open, bool refused) {
  if (!open.job) return;
  Job& job = *open.job;
  ++job.settled;
  if (refused) {
    ++job.refused;
  } else if (open.returned) {
    ++job.returned;
  }
  if (job.done()) changed_.notify_all();
  confirmedAt_ = std::chrono::steady_clock::now();
  --unsettled_;
  openBytes_ -= open.bytes;
  open.job.reset();
}

void Publisher::onLost(const Error&) {
  for (Open& open : open_) {
    if (open.job) open.job->lost = true;
  }
  open_.clear();
  firstOpen_ = 1;
  unsettled_ = 0;
  openBytes_ = 0;
  blocked_ = false;
  probe_.reset();
  // What was sent in part must not go on with its second half.
  for (const std::shared_ptr<Job>& job : waiting_)
    job->lost = job->sent > 0;
  std::erase_if(waiting_, [](const std::shared_ptr<Job>& job) { return job->lost; });
}

}  // namespace sluice::rabbitmq
