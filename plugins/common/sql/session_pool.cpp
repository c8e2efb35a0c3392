// See session_pool.h.
#include "session_pool.h"

namespace sluice::sql {

SessionPool::Lease::~Lease() {
  if (pool_ != nullptr) pool_->giveBack(std::move(session_));
}

Status SessionPool::takePlace(Deadline deadline, std::unique_ptr<Session>& idle) {
  std::unique_lock lock(mutex_);
  const bool free = changed_.wait_until(lock, deadline.at(), [this] { return closed_ || out_ < size_; });
  if (closed_) return {ErrorCode::Stopped, "the store is closed"};
  if (!free || deadline.passed()) {
    return {ErrorCode::Unavailable,
            "no database session came free in time; " + std::to_string(size_) + " are in use"};
  }
  ++out_;
  if (!idle_.empty()) {
    idle = std::move(idle_.back());
    idle_.pop_back();
  }
  return {};
}

Result<SessionPool::Lease> SessionPool::lease(Deadline deadline) {
  std::unique_ptr<Session> session;
  if (const Status taken = takePlace(deadline, session); !taken) return taken.error();
  Lease lease(*this, std::move(session));  // holds the place, also while opening throws
  if (lease.session_ == nullptr) {
    auto opened = open_(deadline);
    if (!opened) return opened.error();
    lease.session_ = std::move(opened).take();
  }
  lease.session_->deadline = deadline;
  return lease;
}

void SessionPool::giveBack(std::unique_ptr<Session> session) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --out_;
    if (session != nullptr && !closed_) idle_.push_back(std::move(session));  // has room since construction
  }
  changed_.notify_all();
}

void SessionPool::dropIdle() noexcept {
  std::vector<std::unique_ptr<Session>> old;
  old.reserve(size_);
  const std::lock_guard lock(mutex_);
  for (auto& session : idle_) {
    old.push_back(std::move(session));
  }
  idle_.clear();  // keeps its room
}

void SessionPool::close() noexcept {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return out_ == 0; });
  idle_.clear();
}

}  // namespace sluice::sql
