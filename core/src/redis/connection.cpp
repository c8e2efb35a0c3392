// One connection over hiredis: own connect routine, non-blocking socket, a deadline on every step.
#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>

#include "sluice/limits.h"
#include "sluice/redis.h"

namespace sluice {

namespace {

timeval toTimeval(milliseconds wait) noexcept {
  // hiredis reads zero as "for ever".
  const auto ms = std::max(wait, milliseconds(1)).count();
  return {static_cast<time_t>(ms / 1000), static_cast<suseconds_t>(ms % 1000 * 1000)};
}

// The reader's own functions with one difference: an array that announces more elements than any honest reply
// is refused before memory is taken for it.
redisReplyObjectFunctions* cappedFunctions(redisReplyObjectFunctions* original) noexcept {
  static auto* const createArray = original->createArray;
  static redisReplyObjectFunctions capped = [&] {
    redisReplyObjectFunctions copy = *original;
    copy.createArray = [](const redisReadTask* task, int elements) -> void* {
      if (elements > static_cast<int>(limits::kRedisReplyElementsMax)) return nullptr;
      return createArray(task, elements);
    };
    return copy;
  }();
  return &capped;
}

// 1 when ready, 0 when the deadline passed, -1 on failure.
int waitFor(int descriptor, short events, Deadline deadline) noexcept {
  pollfd watched{descriptor, events, 0};
  while (true) {
    const auto left = static_cast<int>(std::min<std::int64_t>(deadline.remaining().count(), 60000));
    const int ready = ::poll(&watched, 1, left);
    if (ready > 0) return 1;
    if (ready < 0 && errno != EINTR) return -1;
    if (deadline.passed()) return 0;
  }
}

void append(redisContext* context, std::span<const std::string_view> args) {
  thread_local std::vector<const char*> pointers;
  thread_local std::vector<std::size_t> lengths;
  pointers.clear();
  lengths.clear();
  for (const std::string_view arg : args) {
    pointers.push_back(arg.data() != nullptr ? arg.data() : "");
    lengths.push_back(arg.size());
  }
  if (redisAppendCommandArgv(context, static_cast<int>(args.size()), pointers.data(), lengths.data()) !=
      REDIS_OK) {
    throw std::bad_alloc();  // its only cause
  }
}

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> words) noexcept {
  for (const std::string_view word : words) {
    if (text.substr(0, word.size()) == word) return true;
  }
  return false;
}

}  // namespace

std::string RedisTarget::text() const {
  return "redis at " + (socketPath.empty() ? host + ":" + std::to_string(port) : socketPath);
}

Error redisError(std::string_view replyText) {
  std::string text = "redis: " + std::string(replyText.substr(0, 300));
  // Before 7.0 an error inside a script comes wrapped: "ERR Error running script (...): -OOM command not
  // allowed ...".
  const bool wrappedMemory = replyText.find("-OOM ") != std::string_view::npos ||
                             replyText.find("-MISCONF ") != std::string_view::npos;
  if (wrappedMemory ||
      startsWithAny(replyText, {"LOADING", "READONLY", "MASTERDOWN", "OOM", "BUSY ", "MISCONF", "TRYAGAIN",
                                "CLUSTERDOWN", "NOREPLICAS", "UNKILLABLE"})) {
    return {ErrorCode::Unavailable, std::move(text)};
  }
  if (startsWithAny(replyText, {"NOAUTH", "WRONGPASS", "NOPERM", "DENIED", "ERR invalid password", "ERR AUTH",
                                "ERR Client sent AUTH", "ERR DB index", "ERR invalid DB index"})) {
    return {ErrorCode::Misconfigured, std::move(text)};
  }
  if (startsWithAny(replyText, {"NOGROUP", "UNBLOCKED"})) return {ErrorCode::NotFound, std::move(text)};
  if (startsWithAny(replyText, {"BUSYGROUP", "BUSYKEY"})) return {ErrorCode::Conflict, std::move(text)};
  if (startsWithAny(replyText, {"WRONGTYPE"})) return {ErrorCode::Corrupt, std::move(text)};
  return {ErrorCode::Internal, std::move(text)};
}

Result<std::unique_ptr<RedisConnection>> RedisConnection::connect(const RedisTarget& target,
                                                                  Deadline deadline) {
  if (target.tls) {
    return {ErrorCode::Misconfigured,
            "redis.tls: this build speaks to Redis through hiredis 0.14, which has no TLS; use a unix "
            "socket, a private link or a local "
            "tunnel (stunnel) and leave redis.tls off"};
  }
  const timeval wait = toTimeval(deadline.orSooner(target.connectTimeout).remaining());
  redisContext* context = target.socketPath.empty()
                              ? redisConnectWithTimeout(target.host.c_str(), target.port, wait)
                              : redisConnectUnixWithTimeout(target.socketPath.c_str(), wait);
  if (context == nullptr) throw std::bad_alloc();  // its only cause
  std::unique_ptr<RedisConnection> connection(new RedisConnection(context, target.text()));
  if (context->err != 0)
    return connection->broke(ErrorCode::Unavailable, std::string("cannot connect: ") + context->errstr);
  if (target.socketPath.empty()) redisEnableKeepAlive(context);
  // From here on every wait is ours: hiredis' own time-out covers one read, not a call.
  fcntl(context->fd, F_SETFL, fcntl(context->fd, F_GETFL) | O_NONBLOCK);
  context->flags &= ~REDIS_BLOCK;
  context->reader->maxbuf = 0;  // keep the spare buffer: batches are large, and reallocating each time costs
  context->reader->fn = cappedFunctions(context->reader->fn);
  if (auto entered = connection->enter(target, deadline); !entered) return entered.error();
  return connection;
}

Status RedisConnection::enter(const RedisTarget& target, Deadline deadline) {
  std::vector<RedisArgs> commands;
  if (!target.password.empty()) {
    commands.push_back(target.username.empty() ? RedisArgs{"AUTH", target.password}
                                               : RedisArgs{"AUTH", target.username, target.password});
  }
  const std::string database = std::to_string(target.database);
  if (target.database != 0) commands.push_back({"SELECT", database});
  commands.push_back({"CLIENT", "SETNAME", target.clientName});
  auto replies = pipeline(commands, deadline);
  if (!replies) {
    // Nothing of ours was asked yet, so whatever happened did nothing.
    return Error{
        replies.error().code == ErrorCode::OutcomeUnknown ? ErrorCode::Unavailable : replies.error().code,
        replies.error().text};
  }
  for (const RedisReply& reply : replies.value()) {
    if (reply.value().isError()) return redisError(reply.value().text()).during(target_);
  }
  return {};
}

RedisConnection::RedisConnection(redisContext* context, std::string target)
    : context_(context), target_(std::move(target)) {}

RedisConnection::~RedisConnection() { redisFree(context_); }

void RedisConnection::interrupt() noexcept { shutdown(context_->fd, SHUT_RDWR); }

bool RedisConnection::quiet() const noexcept {
  pollfd watched{context_->fd, POLLIN, 0};
  return !broken_ && ::poll(&watched, 1, 0) == 0;
}

Error RedisConnection::broke(ErrorCode code, std::string_view doing) {
  broken_ = true;
  return {code, target_ + ": " + std::string(doing)};
}

// What is asked after its deadline would be done, and its answer thrown away together with the connection.
Status RedisConnection::mayAsk(Deadline deadline) const {
  if (broken_) return {ErrorCode::Unavailable, target_ + ": connection was lost before"};
  if (deadline.passed()) return {ErrorCode::Unavailable, target_ + ": asked too late"};
  return {};
}

// OutcomeUnknown from the first byte that left on: Redis may have run what reached it.
Status RedisConnection::send(Deadline deadline) {
  bool anySent = false;
  int done = 0;
  while (done == 0) {
    const std::size_t before = sdslen(context_->obuf);
    if (redisBufferWrite(context_, &done) != REDIS_OK) {
      return broke(anySent ? ErrorCode::OutcomeUnknown : ErrorCode::Unavailable,
                   std::string("sending failed: ") + context_->errstr);
    }
    anySent = anySent || done != 0 || sdslen(context_->obuf) != before;
    if (done == 0 && waitFor(context_->fd, POLLOUT, deadline) != 1) {
      return broke(anySent ? ErrorCode::OutcomeUnknown : ErrorCode::Unavailable,
                   "does not take the request in time");
    }
  }
  return {};
}

Result<RedisReply> RedisConnection::receive(Deadline deadline) {
  while (true) {
    void* reply = nullptr;
    if (redisGetReplyFromReader(context_, &reply) != REDIS_OK) {
      return broke(ErrorCode::Corrupt, std::string("protocol fault: ") + context_->errstr);
    }
    if (reply != nullptr) return RedisReply(static_cast<redisReply*>(reply));
    const int ready = waitFor(context_->fd, POLLIN, deadline);
    if (ready == 0) return broke(ErrorCode::OutcomeUnknown, "no answer in time");
    if (ready < 0 || redisBufferRead(context_) != REDIS_OK) {
      return broke(ErrorCode::OutcomeUnknown, std::string("connection lost: ") + context_->errstr);
    }
  }
}

Result<RedisReply> RedisConnection::exchange(std::span<const std::string_view> args, Deadline deadline) {
  if (auto ready = mayAsk(deadline); !ready) return ready.error();
  append(context_, args);
  if (auto sent = send(deadline); !sent) return sent.error();
  return receive(deadline);
}

Result<RedisReply> RedisConnection::call(std::span<const std::string_view> args, Deadline deadline) {
  auto reply = exchange(args, deadline);
  if (reply && reply.value().value().isError()) return redisError(reply.value().value().text());
  return reply;
}

Result<std::vector<RedisReply>> RedisConnection::pipeline(std::span<const RedisArgs> commands,
                                                          Deadline deadline) {
  if (auto ready = mayAsk(deadline); !ready) return ready.error();
  for (const RedisArgs& command : commands) {
    append(context_, command);
  }
  if (auto sent = send(deadline); !sent) return sent.error();
  std::vector<RedisReply> replies;
  replies.reserve(commands.size());
  while (replies.size() < commands.size()) {
    auto reply = receive(deadline);
    if (!reply) return reply.error();
    replies.push_back(std::move(reply).take());
  }
  return replies;
}

Result<RedisReply> RedisConnection::eval(const RedisScript& script, std::span<const std::string_view> keys,
                                         std::span<const std::string_view> args, Deadline deadline) {
  thread_local std::vector<std::string_view> words;
  const std::string count = std::to_string(keys.size());
  words.assign({"EVALSHA", script.sha(), count});
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), args.begin(), args.end());
  auto reply = exchange(words, deadline);
  if (reply && reply.value().value().isError() && startsWithAny(reply.value().value().text(), {"NOSCRIPT"})) {
    // SCRIPT FLUSH, or a restarted server. EVAL runs the script and keeps it in one step, so that no flush can
    // come between.
    words[0] = "EVAL";
    words[1] = script.source();
    reply = exchange(words, deadline);
  }
  if (reply && reply.value().value().isError())
    return redisError(reply.value().value().text()).during("script " + script.name());
  return reply;
}

}  // namespace sluice
