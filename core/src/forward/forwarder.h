// The forwarder: moves admissions from the journal into a queue that does not read it.
//
// Role:     one object in each process whose queue does not read the journal; of all processes one leads, by a lease
//           in Redis, and only that one moves anything. A thread drives it in the program, a test with a manual
//           clock.
// Threads:  step() and resign() from one thread at a time; stats() from any.
// Law:      an entry stays in the journal until whoever settled its message deletes it, so what a queue loses is
//           read again: from the start of the journal when this process becomes leader, when the queue says that
//           it lost data, and when the oldest entry is old, was forwarded, and the queue is empty in two looks.
//           The last of these may be wrong where a queue cannot show what its consumers have in hand, so it rests
//           `stale` after the first time and twice as long after each further one, until no entry is old any
//           more. A message that comes twice is harmless, the store has one row for each order.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "sluice/engine.h"

namespace sluice::forward {

struct ForwarderOptions {
  std::string owner;          // no other process uses it
  milliseconds lease{5000};   // of the leader
  milliseconds stale{30000};  // an older entry whose message nobody has is forwarded again
};

class Forwarder {
 public:
  // `mayLead`: whether this process' queue is there; without it the lease is left to others.
  Forwarder(Parts parts, ForwarderOptions options, std::function<bool()> mayLead);

  // One round: lease, look for what was lost, read (waiting at most `wait`), publish. Answers how long to rest.
  milliseconds step(milliseconds wait);
  // Leaves the lease to others; where it fails they wait for its end.
  [[nodiscard]] Status resign(Deadline deadline);

  [[nodiscard]] ForwarderStats stats() const;

 private:
  struct Oldest {
    JournalId id;
    UtcTime admittedAt;
  };

  bool lead(SteadyTime now);
  void lose(const std::string& leader);
  void startOver(const std::string& why);
  void look(SteadyTime now);
  Status lookFor(SteadyTime now);
  Status readLetters();
  Result<std::optional<Oldest>> findOldest();
  void judge(const std::optional<Oldest>& oldest, bool queueEmpty, SteadyTime now);
  bool read(milliseconds wait, SteadyTime now);
  Status putAside(std::span<const JournalEntry> entries);
  void publish(SteadyTime now);
  Result<std::size_t> places();
  void pause(const Error& error, milliseconds most, SteadyTime now);
  void goOn();

  Parts parts_;
  const ForwarderOptions options_;
  const std::function<bool()> mayLead_;

  SteadyTime askAt_{};       // when the lease is asked for or renewed next
  SteadyTime leadsUntil_{};  // the lease as far as it is certain
  std::uint32_t askedInVain_ = 0;
  bool cursorIsOurs_ = false;

  JournalId cursor_;                     // the last entry that was read
  std::vector<QueueMessage> batch_;      // read and not published yet
  std::unordered_set<OrderId> letters_;  // dead letters of a queue that dies with this process
  bool lettersDue_ = true;
  SteadyTime pausedUntil_{};
  std::uint32_t pausesInRow_ = 0;

  SteadyTime lookAt_{};
  std::uint64_t dataLost_ = 0;  // of the queue, as of the last look
  JournalId suspect_;           // the oldest entry of the last look, where nobody seems to have its message
  milliseconds againRest_{};    // after the last time that the age of an entry was the reason
  SteadyTime againAt_{};

  mutable std::mutex mutex_;
  ForwarderStats stats_;  // guarded by mutex_
};

}  // namespace sluice::forward
