// The Redis client of the house: one connection, a bounded pool, scripts. hiredis underneath, invisible
// here.
//
// Role:     used by the qualifier, queue_stream, the audit and the lab.
// Threads:  RedisConnection: one thread at a time. RedisPool: any thread. Lifetime: a reply owns its
//           memory; views into it live as long as it does. Blocking: every call is bounded by its Deadline:
//           connecting, sending and receiving.
// Errors:   Unavailable where nothing was sent or Redis refused before doing anything (LOADING, READONLY,
//           OOM, BUSY, MISCONF, ...); NotFound (NOGROUP, UNBLOCKED), Conflict (BUSYGROUP); OutcomeUnknown
//           where the command was sent and no whole reply came; Misconfigured (NOAUTH, WRONGPASS, NOPERM,
//           TLS asked for); Corrupt (WRONGTYPE, protocol fault, reply over limits::kRedisReplyElementsMax).
//           After OutcomeUnknown, Unavailable by I/O, or a protocol fault the connection is broken() and
//           must be thrown away; a pool does so by itself.
// Limits:   the host ignores SIGPIPE (hiredis writes with plain write()). No TLS in hiredis 0.14: refused
//           with that reason.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/clock.h"
#include "sluice/result.h"

struct redisContext;
struct redisReply;

namespace sluice {

// Where Redis is and how to enter. A socket path wins over host and port.
struct RedisTarget {
  std::string socketPath;
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string username;
  std::string password;
  std::int32_t database = 0;
  std::string clientName = "sluice";
  milliseconds connectTimeout{1000};
  bool tls = false;

  // "redis at /run/r.sock" or "redis at 127.0.0.1:6379"; never the password.
  [[nodiscard]] std::string text() const;
};

// A view of a reply or of one of its elements.
class RedisValue {
 public:
  RedisValue() = default;
  explicit RedisValue(const redisReply* reply) noexcept : reply_(reply) {}
  [[nodiscard]] bool isNil() const noexcept;
  [[nodiscard]] bool isInteger() const noexcept;
  [[nodiscard]] bool isText() const noexcept;  // bulk or status
  [[nodiscard]] bool isArray() const noexcept;
  [[nodiscard]] bool isError() const noexcept;           // only inside pipelines
  [[nodiscard]] std::int64_t integer() const noexcept;   // 0 where it is none; decimal text is read too
  [[nodiscard]] std::string_view text() const noexcept;  // empty where it is none
  [[nodiscard]] std::size_t size() const noexcept;       // elements; 0 where it is no array
  [[nodiscard]] RedisValue operator[](std::size_t index) const noexcept;  // a nil value beyond the end

 private:
  const redisReply* reply_ = nullptr;
};

class RedisReply {
 public:
  RedisReply() = default;
  explicit RedisReply(redisReply* owned) noexcept;
  [[nodiscard]] RedisValue value() const noexcept { return RedisValue(reply_.get()); }

 private:
  struct Free {
    void operator()(redisReply* reply) const noexcept;
  };
  std::unique_ptr<redisReply, Free> reply_;
};

using RedisArgs = std::vector<std::string_view>;

// A Lua script with its SHA-1, computed once.
class RedisScript {
 public:
  RedisScript(std::string name, std::string source);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  [[nodiscard]] const std::string& sha() const noexcept { return sha_; }

 private:
  std::string name_;
  std::string source_;
  std::string sha_;
};

class RedisConnection {
 public:
  // Connects, sets time-outs and keep-alive, enters (AUTH, SELECT, CLIENT SETNAME).
  [[nodiscard]] static Result<std::unique_ptr<RedisConnection>> connect(const RedisTarget& target,
                                                                        Deadline deadline);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // One command. An error reply becomes an Error.
  [[nodiscard]] Result<RedisReply> call(std::span<const std::string_view> args, Deadline deadline);
  [[nodiscard]] Result<RedisReply> call(std::initializer_list<std::string_view> args, Deadline deadline) {
    return call(std::span<const std::string_view>(args.begin(), args.size()), deadline);
  }
  // Several commands in one write. Error replies stay in place as values (isError), so that one does not hide
  // the others; an I/O failure is an Error for the whole pipeline, OutcomeUnknown once anything was sent.
  [[nodiscard]] Result<std::vector<RedisReply>> pipeline(std::span<const RedisArgs> commands,
                                                         Deadline deadline);
  // EVALSHA; loads the script and asks once more where Redis does not have it.
  [[nodiscard]] Result<RedisReply> eval(const RedisScript& script, std::span<const std::string_view> keys,
                                        std::span<const std::string_view> args, Deadline deadline);

  [[nodiscard]] bool broken() const noexcept { return broken_; }
  // Whether an idle connection still is what it seems: open, with nothing to read.
  [[nodiscard]] bool quiet() const noexcept;
  // Its owner does not want it any more, e.g. because it leads to a server of the past: it counts as broken.
  void abandon() noexcept { broken_ = true; }
  // Makes a blocked call on this connection fail at once; from any thread.
  void interrupt() noexcept;

  // A number of the owner's, 0 at first: the qualifier notes here which server it found behind the
  // connection.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }
  void setTag(std::uint64_t tag) noexcept { tag_ = tag; }

 private:
  explicit RedisConnection(redisContext* context, std::string target);
  Status enter(const RedisTarget& target, Deadline deadline);
  [[nodiscard]] Status mayAsk(Deadline deadline) const;
  Status send(Deadline deadline);
  Result<RedisReply> receive(Deadline deadline);
  Result<RedisReply> exchange(std::span<const std::string_view> args, Deadline deadline);
  Error broke(ErrorCode code, std::string_view doing);

  redisContext* context_;
  std::string target_;
  std::uint64_t tag_ = 0;
  bool broken_ = false;
};

// The error that an error reply of Redis means, by its first word (see Errors above).
[[nodiscard]] Error redisError(std::string_view replyText);

// At most `size` connections to one target, made when needed, thrown away when broken. After a failed connect
// further attempts wait for a backoff with jitter (10 ms .. 500 ms); calls that come meanwhile answer
// Unavailable at once.
class RedisPool {
 public:
  // Called for each new connection before its first use, e.g. to look at the server's identity; an error
  // closes it.
  using OnConnect = std::function<Status(RedisConnection&, Deadline)>;

  RedisPool(RedisTarget target, std::size_t size, Random& random, OnConnect onConnect = {});
  ~RedisPool();
  RedisPool(const RedisPool&) = delete;
  RedisPool& operator=(const RedisPool&) = delete;

  class Lease {
   public:
    Lease(RedisPool& pool, std::unique_ptr<RedisConnection> connection) noexcept
        : pool_(&pool), connection_(std::move(connection)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    RedisConnection& operator*() const noexcept { return *connection_; }
    RedisConnection* operator->() const noexcept { return connection_.get(); }

   private:
    RedisPool* pool_;
    std::unique_ptr<RedisConnection> connection_;
  };

  // Waits for a free connection until the deadline (then Overloaded; Unavailable where it had passed before).
  // Stopped after stop().
  [[nodiscard]] Result<Lease> acquire(Deadline deadline);
  // Closes idle connections, interrupts those in use, refuses further ones. Idempotent.
  void stop() noexcept;
  // Connections made after the first `size`; what metrics call reconnects.
  [[nodiscard]] std::uint64_t reconnects() const noexcept;
  [[nodiscard]] const RedisTarget& target() const noexcept { return target_; }

 private:
  Result<std::unique_ptr<RedisConnection>> connectNew(Deadline deadline);
  void giveBack(std::unique_ptr<RedisConnection> connection) noexcept;

  const RedisTarget target_;
  const std::size_t size_;
  Random& random_;
  const OnConnect onConnect_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<RedisConnection>> idle_;  // guarded by mutex_, as is all below
  std::vector<RedisConnection*> inUse_;
  std::size_t connecting_ = 0;
  std::uint64_t made_ = 0;
  std::uint32_t failedInRow_ = 0;
  SteadyTime nextAttempt_{};
  Error lastError_;
  bool stopped_ = false;
};

// The keys of one partition; today there is one, "{0}". Prefix "sluice" gives "sluice:{0}:voucher:17".
class RedisKeys {
 public:
  explicit RedisKeys(std::string_view prefix);
  [[nodiscard]] std::string voucher(std::int64_t id) const { return base_ + "voucher:" + std::to_string(id); }
  [[nodiscard]] std::string holds(std::int64_t id) const { return base_ + "holds:" + std::to_string(id); }
  [[nodiscard]] std::string eligible(std::int64_t id) const {
    return base_ + "eligible:" + std::to_string(id);
  }
  [[nodiscard]] std::string idempotency(std::int64_t id) const {
    return base_ + "keys:" + std::to_string(id);
  }
  [[nodiscard]] std::string journal() const { return base_ + "orders"; }
  [[nodiscard]] std::string dead() const { return base_ + "dead"; }
  // For what a plugin keeps beside them, in the same slot.
  [[nodiscard]] std::string other(std::string_view name) const { return base_ + std::string(name); }

 private:
  std::string base_;
};

}  // namespace sluice
