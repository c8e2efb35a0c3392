// SessionPool: a few database sessions, leased with a deadline.
//
// Role:     one pool for each use. A pool of one is a lock with a time-out.
// Threads:  every call from any thread. Blocking: lease() until its deadline; close() until the sessions
//           that are out have come back (their calls are bounded). Hygiene: a session comes back without an
//           open transaction, or is discarded and opened anew by the next lease. SOCI's own pool neither
//           pings nor rolls back, and its sessions keep a dangling pointer after a failed reconnect; hence
//           this one.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sluice/result.h"

#include "session.h"

namespace sluice::sql {

class SessionPool {
 public:
  // May throw soci::soci_error.
  using Open = std::function<Result<std::unique_ptr<Session>>(Deadline)>;

  // A session on loan; gives it back when it goes.
  class Lease {
   public:
    Lease(SessionPool& pool, std::unique_ptr<Session> session) noexcept
        : pool_(&pool), session_(std::move(session)) {}
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), session_(std::move(other.session_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    [[nodiscard]] Session& operator*() const noexcept { return *session_; }
    // Closes the session instead of keeping it.
    void discard() noexcept { session_.reset(); }

   private:
    friend class SessionPool;
    SessionPool* pool_;
    std::unique_ptr<Session> session_;
  };

  SessionPool(std::size_t size, Open open) : size_(size), open_(std::move(open)) { idle_.reserve(size); }
  ~SessionPool() { close(); }
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  // Unavailable where none came free in time, Stopped after close(); else what opening answers or throws.
  [[nodiscard]] Result<Lease> lease(Deadline deadline);
  // Closes the sessions that nobody uses now.
  void dropIdle() noexcept;
  void close() noexcept;

 private:
  [[nodiscard]] Status takePlace(Deadline deadline, std::unique_ptr<Session>& idle);
  void giveBack(std::unique_ptr<Session> session) noexcept;

  const std::size_t size_;
  const Open open_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Session>> idle_;
  std::size_t out_ = 0;
  bool closed_ = false;
};

}  // namespace sluice::sql
