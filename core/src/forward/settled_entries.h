// Entries of the journal whose messages are settled for good, until they are deleted.
//
// Role:     fulfilment notes an entry once the queue has settled its message. Deleting may fail and is tried again;
//           what a process takes with it into death is forwarded once more, and the store says `already`.
// Threads:  one at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "sluice/operations.h"

namespace sluice::forward {

class SettledEntries {
 public:
  explicit SettledEntries(Parts parts) : parts_(parts) {}

  // Nothing where the id is none: the queue settles the entry itself, or there is no journal.
  void add(JournalId entry) {
    if (entry.valid()) entries_.push_back(entry);
  }
  // Deletes what is noted. False: some stay, and it is not tried again before a pause with jitter.
  bool erase();
  // The same at once and by this deadline, for the last time. Answers how many stay.
  [[nodiscard]] std::size_t eraseBy(Deadline deadline);
  // So many that no further message should be settled before some are deleted.
  [[nodiscard]] bool full() const noexcept { return entries_.size() >= kMax; }

 private:
  // Twenty of the largest batches; 16 bytes each.
  static constexpr std::size_t kMax = 10'000;

  Parts parts_;
  std::vector<JournalId> entries_;
  SteadyTime againAt_{};
  std::uint32_t failedInRow_ = 0;
};

}  // namespace sluice::forward
