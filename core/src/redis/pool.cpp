// A bounded pool: connections are made when needed, thrown away when broken, and made again with backoff.
#include <algorithm>

#include "sluice/redis.h"

namespace sluice {

namespace {

// A server that comes back is found within half a second, one that stays away is asked twice a second.
constexpr milliseconds kBackoffBase{10};
constexpr milliseconds kBackoffCap{500};

}  // namespace

RedisPool::RedisPool(RedisTarget target, std::size_t size, Random& random, OnConnect onConnect)
    : target_(std::move(target)), size_(size), random_(random), onConnect_(std::move(onConnect)) {}

RedisPool::~RedisPool() { stop(); }

RedisPool::Lease::~Lease() {
  if (connection_) pool_->giveBack(std::move(connection_));
}

Result<RedisPool::Lease> RedisPool::acquire(Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stopped_) return {ErrorCode::Stopped, target_.text() + ": the connection pool is closed"};
    // Late callers must not cost the others a connection, nor make them wait as if the server were away.
    if (deadline.passed()) return {ErrorCode::Unavailable, target_.text() + ": asked too late"};
    if (!idle_.empty()) {
      std::unique_ptr<RedisConnection> connection = std::move(idle_.back());
      idle_.pop_back();
      inUse_.push_back(connection.get());
      lock.unlock();
      // One that was closed meanwhile would swallow the request and leave its outcome unknown. Asked without
      // the lock: it is a system call, and everybody passes here.
      if (connection->quiet()) return Lease(*this, std::move(connection));
      lock.lock();
      std::erase(inUse_, connection.get());
      continue;
    }
    if (inUse_.size() + connecting_ < size_) break;
    if (freed_.wait_until(lock, deadline.at()) == std::cv_status::timeout) {
      return {ErrorCode::Overloaded,
              target_.text() + ": all " + std::to_string(size_) + " connections are in use"};
    }
  }
  if (std::chrono::steady_clock::now() < nextAttempt_) return lastError_;
  ++connecting_;
  lock.unlock();
  auto connection = connectNew(deadline);
  lock.lock();
  --connecting_;
  freed_.notify_one();
  if (!connection) {
    nextAttempt_ =
        std::chrono::steady_clock::now() + backoff(failedInRow_++, kBackoffBase, kBackoffCap, random_);
    lastError_ = connection.error();
    return lastError_;
  }
  if (stopped_) return {ErrorCode::Stopped, target_.text() + ": the connection pool is closed"};
  failedInRow_ = 0;
  ++made_;
  inUse_.push_back(connection.value().get());
  return Lease(*this, std::move(connection).take());
}

Result<std::unique_ptr<RedisConnection>> RedisPool::connectNew(Deadline deadline) {
  auto connection = RedisConnection::connect(target_, deadline);
  if (connection && onConnect_) {
    if (auto looked = onConnect_(*connection.value(), deadline); !looked) {
      // Nothing of the caller's was asked yet.
      const bool unknown = looked.error().code == ErrorCode::OutcomeUnknown;
      return Error{unknown ? ErrorCode::Unavailable : looked.error().code, looked.error().text};
    }
  }
  return connection;
}

void RedisPool::giveBack(std::unique_ptr<RedisConnection> connection) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(inUse_, connection.get());
  if (connection->broken()) {
    idle_.clear();  // whatever broke this one has most likely broken the others
  } else if (!stopped_) {
    idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

void RedisPool::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  idle_.clear();
  for (RedisConnection* connection : inUse_) {
    connection->interrupt();
  }
  freed_.notify_all();
}

std::uint64_t RedisPool::reconnects() const noexcept {
  const std::lock_guard lock(mutex_);
  return made_ > size_ ? made_ - size_ : 0;
}

}  // namespace sluice
