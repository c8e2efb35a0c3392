// See link_thread.h.
#include "link_thread.h"

#include <stdexcept>

#include <sys/eventfd.h>
#include <unistd.h>

#include "topology.h"

namespace sluice::rabbitmq {

LinkThread::LinkThread(Shared& shared, std::string_view what)
    : shared_(shared), what_(what), wakeUp_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wakeUp_ < 0) throw std::runtime_error("no descriptor is left for queue_rabbitmq");
}

LinkThread::~LinkThread() { ::close(wakeUp_); }

void LinkThread::start() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() || stopping_) return;
  thread_ = std::thread([this] { run(); });
}

void LinkThread::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (link_) link_->abort();
    wake();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status LinkThread::waitConnected(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return connectedOr(deadline, lock);
}

bool LinkThread::isConnected() const {
  const std::lock_guard lock(mutex_);
  return connected_;
}

std::uint64_t LinkThread::epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

Status LinkThread::connectedOr(Deadline deadline, std::unique_lock<std::mutex>& lock) {
  changed_.wait_until(lock, deadline.at(), [this] { return connected_ || stopping_; });
  if (stopping_) return {ErrorCode::Stopped, "the queue is closed"};
  if (!connected_) return away();
  return {};
}

Error LinkThread::away() const {
  if (!lastError_.text.empty()) return {ErrorCode::Unavailable, lastError_.text};
  return {ErrorCode::Unavailable, shared_.settings.text() + " is not connected"};
}

void LinkThread::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wakeUp_, &one, sizeof one);
}

void LinkThread::drainWakeUps() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wakeUp_, &count, sizeof count);
}

void LinkThread::run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    connect();
    Link* connected = nullptr;  // this thread alone replaces it
    {
      const std::lock_guard lock(mutex_);
      if (connected_) connected = link_.get();
    }
    if (connected != nullptr) {
      const Status ended = serve(*connected);
      lose(ended ? Error{ErrorCode::Stopped, "the queue is closed"} : ended.error());
    } else {
      pause();
    }
  }
}

void LinkThread::connect() {
  auto fresh = std::make_unique<Link>(shared_.settings);
  Link& link = *fresh;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    link_ = std::move(fresh);
  }
  const Status opened = open(link);
  const std::lock_guard lock(mutex_);
  if (!opened) {
    link_.reset();
    lastError_ = opened.error();
    ++failedInRow_;
    shared_.log.repeated(LogLevel::Warning, kComponent, "no connection",
                         what_ + ": " + lastError_.text + "; tried again");
    return;
  }
  if (epoch_ > 0) ++shared_.counters.reconnects;
  ++epoch_;
  failedInRow_ = 0;
  connected_ = true;
  onConnected();
  changed_.notify_all();
}

Status LinkThread::open(Link& link) {
  const Deadline deadline = Deadline::in(kConnectWithin);
  if (auto opened = link.open(deadline); !opened) return opened;
  if (auto declared = ensureTopology(shared_, link, deadline); !declared) return declared;
  return prepare(link, deadline);
}

Status LinkThread::serve(Link& link) {
  const milliseconds beat = milliseconds(shared_.settings.heartbeat) / 3;
  while (true) {
    drainWakeUps();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return {};
    }
    if (auto done = workWatched(link); !done) return done;
    const auto read = readSome(link);
    if (!read) return read.error();
    if (read.value()) continue;
    if (auto waited = link.wait(wakeUp_, beat); !waited) return waited;
  }
}

Status LinkThread::workWatched(Link& link) {
  const Watchdog::Watch watch(watchdog_, link.descriptor(), Deadline::in(kWriteWithin));
  Status done = work(link);
  if (!done && watch.cut())
    return {ErrorCode::Unavailable, shared_.settings.text() + " takes nothing; the connection was cut"};
  return done;
}

// Whether something was there. Those who have something to send get their turn, however much comes in.
Result<bool> LinkThread::readSome(Link& link) {
  constexpr std::size_t kMost = 256;
  std::vector<Event> events;
  Status ended;
  while (events.size() < kMost) {
    auto event = link.next();
    if (!event) ended = event.error();
    if (!event || !event.value()) break;
    events.push_back(*std::move(event).take());
  }
  const std::lock_guard lock(mutex_);
  // What came before the end still counts.
  for (Event& event : events) {
    if (auto done = onEvent(event); !done) return done.error();
  }
  if (!ended) return ended.error();
  return !events.empty();
}

void LinkThread::lose(const Error& why) {
  std::unique_ptr<Link> gone;
  {
    const std::lock_guard lock(mutex_);
    connected_ = false;
    lastError_ = why;
    gone = std::move(link_);
    onLost(why);
    if (!stopping_)
      shared_.log.repeated(LogLevel::Warning, kComponent, "connection lost", what_ + ": " + why.text);
  }
  changed_.notify_all();
}

void LinkThread::pause() {
  std::unique_lock lock(mutex_);
  const milliseconds wait = backoff(std::min(failedInRow_, 10U), kBackoffBase, kBackoffMax, shared_.random);
  changed_.wait_for(lock, wait, [this] { return stopping_; });
}

}  // namespace sluice::rabbitmq
