// See park.h. Linux futexes; the steady clock of libstdc++ is CLOCK_MONOTONIC, the clock of their absolute
// deadlines.
#include "admission/park.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace sluice::admission {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "a futex is a plain 32-bit word");

void parkWhile(const std::atomic<std::uint32_t>& word, std::uint32_t value, Deadline deadline) noexcept {
  const auto sinceStart = deadline.at().time_since_epoch();
  const auto whole = std::chrono::floor<std::chrono::seconds>(sinceStart);
  const timespec until{static_cast<time_t>(whole.count()),
                       static_cast<long>(std::chrono::nanoseconds(sinceStart - whole).count())};
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void unpark(const std::atomic<std::uint32_t>* word) noexcept {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace sluice::admission
