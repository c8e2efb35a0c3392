// See shared.h.
#include "shared.h"

namespace sluice::rabbitmq {

namespace {

// RabbitMQ drops CR and LF from the names of some methods and not of others.
std::string plain(const std::string& name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char character : name) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && character != '%') {
      text += character;
      continue;
    }
    text += '%';
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace

std::string Settings::text() const {
  return "RabbitMQ at " + host + ":" + std::to_string(port) + ", vhost " + vhost;
}

Names::Names(const std::string& prefix)
    : exchange(plain(prefix) + ".orders"),
      work(plain(prefix) + ".orders"),
      alone(plain(prefix) + ".alone"),
      dead(plain(prefix) + ".dead"),
      deadLock(plain(prefix) + ".dead.lock") {
  for (std::size_t k = 0; k < kWaitSteps.size(); ++k)
    wait[k] = plain(prefix) + ".wait." + std::to_string(kWaitSteps[k].count()) + "ms";
}

bool Turn::take(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!given_.wait_until(lock, deadline.at(), [this] { return !taken_; })) return false;
  taken_ = true;
  return true;
}

void Turn::give() noexcept {
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
  }
  given_.notify_one();
}

Shared::Shared(Settings given, Log& toLog, const Clock& withClock, Random& withRandom)
    : settings(std::move(given)), names(settings.name), log(toLog), clock(withClock), random(withRandom) {}

void Shared::enter(State state) noexcept {
  State known = state_.load();
  while (known < state && !state_.compare_exchange_weak(known, state)) {
  }
}

Status Shared::refusal() const {
  if (state() == State::Closed) return {ErrorCode::Stopped, "the queue is closed"};
  if (state() == State::Inert) return {ErrorCode::Unavailable, "the queue is not started"};
  return {};
}

}  // namespace sluice::rabbitmq
