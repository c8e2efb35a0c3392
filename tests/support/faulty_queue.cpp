// See faulty_queue.h.
#include "support/faulty_queue.h"

#include <algorithm>
#include <utility>

namespace sluice::test {

const QueueTraits& FaultyQueue::traits() const noexcept { return real_.traits(); }

Status FaultyQueue::start(Deadline deadline) {
  return faults.run("start", [&] { return real_.start(deadline); });
}

Result<std::size_t> FaultyQueue::reserve(std::size_t wanted) {
  return faults.run("reserve", [&] { return real_.reserve(wanted); });
}

void FaultyQueue::unreserve(std::size_t places) noexcept { real_.unreserve(places); }

Status FaultyQueue::publish(std::span<const QueueMessage> messages, Deadline deadline) {
  return faults.run("publish", [&] { return real_.publish(messages, deadline); });
}

Result<std::vector<Delivery>> FaultyQueue::receive(std::size_t slot, std::size_t max, Deadline deadline) {
  return faults.run("receive", [&]() -> Result<std::vector<Delivery>> {
    if (std::vector<Delivery> again = takeAgain(slot); !again.empty()) return again;
    auto batch = real_.receive(slot, twice_ ? std::max<std::size_t>(max / 2, 1) : max, deadline);
    if (batch && twice_) repeat(slot, max, batch.value());
    return batch;
  });
}

std::vector<Delivery> FaultyQueue::takeAgain(std::size_t slot) {
  const std::lock_guard lock(mutex_);
  return std::exchange(again_[slot], {});
}

// By turns within the batch and in a batch of its own: a store meets both.
void FaultyQueue::repeat(std::size_t slot, std::size_t max, std::vector<Delivery>& batch) {
  const std::lock_guard lock(mutex_);
  const std::vector<Delivery> copy = batch;
  const bool within = (turn_++ % 2 == 0) && 2 * batch.size() <= max;
  std::vector<Delivery>& target = within ? batch : again_[slot];
  target.insert(target.end(), copy.begin(), copy.end());
}

Result<std::vector<SettleOutcome>> FaultyQueue::settle(std::size_t slot,
                                                       std::span<const Settlement> settlements,
                                                       Deadline deadline) {
  return faults.run("settle", [&] { return real_.settle(slot, settlements, deadline); });
}

Status FaultyQueue::extend(std::size_t slot, std::span<const DeliveryToken> tokens, Deadline deadline) {
  return faults.run("extend", [&] { return real_.extend(slot, tokens, deadline); });
}

Result<std::size_t> FaultyQueue::drain(Deadline deadline) {
  return faults.run("drain", [&] { return real_.drain(deadline); });
}

void FaultyQueue::close() noexcept { real_.close(); }

Result<QueueStats> FaultyQueue::stats(Deadline deadline) {
  return faults.run("stats", [&] { return real_.stats(deadline); });
}

Result<std::vector<DeadLetter>> FaultyQueue::deadLetters(const std::string& afterId, std::size_t max,
                                                         Deadline deadline) {
  return faults.run("deadLetters", [&] { return real_.deadLetters(afterId, max, deadline); });
}

Result<std::optional<DeadLetter>> FaultyQueue::findDeadLetter(const std::string& id, Deadline deadline) {
  return faults.run("findDeadLetter", [&] { return real_.findDeadLetter(id, deadline); });
}

Status FaultyQueue::replayDeadLetter(const std::string& id, Deadline deadline) {
  return faults.run("replayDeadLetter", [&] { return real_.replayDeadLetter(id, deadline); });
}

Status FaultyQueue::removeDeadLetter(const std::string& id, Deadline deadline) {
  return faults.run("removeDeadLetter", [&] { return real_.removeDeadLetter(id, deadline); });
}

}  // namespace sluice::test
