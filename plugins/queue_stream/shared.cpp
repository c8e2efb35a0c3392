// See shared.h.
#include "shared.h"

#include <charconv>
#include <limits>

#include "scripts.h"

namespace sluice::stream {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t steadyNowMs() noexcept {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// "7.0.15" of "...redis_version:7.0.15\r\n...".
std::string_view versionIn(std::string_view info) noexcept {
  constexpr std::string_view kKey = "redis_version:";
  const std::size_t at = info.find(kKey);
  if (at == std::string_view::npos) return {};
  info.remove_prefix(at + kKey.size());
  return info.substr(0, info.find_first_of("\r\n"));
}

Error strangeKey(RedisValue answer) {
  const auto part = [&](std::size_t k) { return std::string(answer[k].text()); };
  return {ErrorCode::Misconfigured, "the key " + part(1) + " holds a " + part(2) +
                                        ", where queue = stream keeps a " + part(3) +
                                        "; is redis.prefix used by something else?"};
}

}  // namespace

bool isSupported(std::string_view version) noexcept {
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc()) return false;
  if (first.ptr != end) std::from_chars(first.ptr + 1, end, minor);
  return major > 6 || (major == 6 && minor >= 2);
}

StreamKeys::StreamKeys(const std::string& prefix) {
  const RedisKeys names(prefix);
  journal = names.journal();
  failures = names.other("failures");
  retry = names.other("retry");
  dead = names.dead();
}

Shared::Shared(Settings given, Log& toLog, const Clock& withClock, Random& withRandom)
    : settings(std::move(given)),
      keys(settings.keyPrefix),
      log(toLog),
      clock(withClock),
      random(withRandom),
      nextRetry_(kNever) {}

void Shared::enter(State state) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (state_.load() < state) state_ = state;
  }
  changed_.notify_all();
}

Status Shared::refusal() const {
  if (state() == State::Closed) return {ErrorCode::Stopped, "the queue is closed"};
  if (state() == State::Inert) return {ErrorCode::Unavailable, "the queue is not started"};
  return {};
}

void Shared::pause(Deadline deadline, State during) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.at(), [this, during] { return state_.load() != during; });
}

Status Shared::check(RedisConnection& connection, Deadline deadline) const {
  const auto info = connection.call({"INFO", "server"}, deadline);
  if (!info) return info.error();
  const std::string_view version = versionIn(info.value().value().text());
  if (isSupported(version)) return {};
  return {ErrorCode::Misconfigured, settings.redis.text() + " has version " + std::string(version) +
                                        "; queue = stream needs Redis 6.2 or newer (XPENDING with IDLE)"};
}

Status Shared::ensureGroup(RedisConnection& connection, Deadline deadline) {
  const auto names = keys.all();
  const std::array<std::string_view, 1> args = {settings.group};
  const auto reply = connection.eval(scripts().ensure, names, args, deadline);
  if (!reply) return reply.error();
  const RedisValue answer = reply.value().value();
  if (answer[0].text() == "strange") return strangeKey(answer);
  const bool created = answer[0].text() == "created";
  if (groupSeen_.exchange(true) && created) {
    ++counters.dataLost;
    log.repeated(LogLevel::Error, kComponent, "group gone",
                 "the journal or its group \"" + settings.group +
                     "\" was gone and is created anew; admissions that Redis no longer has are lost, the "
                     "audit shows which");
  }
  return {};
}

void Shared::noteRetry(milliseconds wait) noexcept {
  const std::int64_t at = steadyNowMs() + wait.count();
  std::int64_t known = nextRetry_.load();
  while (at < known && !nextRetry_.compare_exchange_weak(known, at)) {
  }
}

void Shared::setNextRetry(milliseconds wait) noexcept {
  nextRetry_ = wait.count() < 0 ? kNever : steadyNowMs() + wait.count();
}

SteadyTime Shared::nextRetry() const noexcept {
  const std::int64_t at = nextRetry_.load();
  return at == kNever ? SteadyTime::max() : SteadyTime(milliseconds(at));
}

bool Shared::takeOverIsDue() noexcept {
  std::int64_t due = nextTakeOver_.load();
  const std::int64_t now = steadyNowMs();
  return due <= now && nextTakeOver_.compare_exchange_strong(
                           due, now + std::max<std::int64_t>(settings.lease.count() / 4, 50));
}

void Shared::lostEntries(std::int64_t count) noexcept {
  if (count <= 0) return;
  counters.vanished += static_cast<std::uint64_t>(count);
  log.repeated(
      LogLevel::Error, kComponent, "entries vanished",
      std::to_string(count) +
          " journal entries were deleted by somebody else while they were pending; the audit shows which");
}

}  // namespace sluice::stream
