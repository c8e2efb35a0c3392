// See settled_entries.h.
#include "forward/settled_entries.h"

#include <algorithm>
#include <iterator>

#include "sluice/limits.h"

namespace sluice::forward {
namespace {

constexpr milliseconds kEraseWithin{1000};
constexpr milliseconds kPauseBase{50};
constexpr milliseconds kPauseMax{1000};

}  // namespace

bool SettledEntries::erase() {
  if (entries_.empty()) return true;
  const SteadyTime now = parts_.clock.steady();
  if (now < againAt_) return false;
  if (eraseBy(Deadline::in(kEraseWithin)) == 0) {
    failedInRow_ = 0;
    return true;
  }
  againAt_ = now + backoff(failedInRow_++, kPauseBase, kPauseMax, parts_.random);
  return false;
}

// Page by page, so that what is deleted is not asked for again.
std::size_t SettledEntries::eraseBy(Deadline deadline) {
  while (!entries_.empty()) {
    const auto count = std::min(entries_.size(), limits::kPageMax);
    const auto erased = parts_.qualifier.settleJournal({entries_.data(), count}, deadline);
    if (!erased) {
      parts_.log.repeated(LogLevel::Warning, "fulfilment", "journal entries stay", erased.error().text);
      break;
    }
    entries_.erase(entries_.begin(), std::next(entries_.begin(), static_cast<std::ptrdiff_t>(count)));
  }
  return entries_.size();
}

}  // namespace sluice::forward
