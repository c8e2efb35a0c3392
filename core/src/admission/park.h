// Sleeping until one word changes, with a deadline.
//
// std::atomic::wait has no deadline, and a mutex with a condition variable for each request would cost
// several times as much.
#pragma once

#include <atomic>
#include <cstdint>

#include "sluice/clock.h"

namespace sluice::admission {

// Returns when `word` is not `value` any more, when it was woken, or when the deadline has passed; may return
// for no reason.
void parkWhile(const std::atomic<std::uint32_t>& word, std::uint32_t value, Deadline deadline) noexcept;

// Wakes whoever is parked on the word. Only the address is used: its owner may be gone already, and a
// stranger who is parked at the same address by now wakes for no reason, which parkWhile allows.
void unpark(const std::atomic<std::uint32_t>* word) noexcept;

}  // namespace sluice::admission
