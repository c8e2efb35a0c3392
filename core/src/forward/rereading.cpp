// When the forwarder reads the journal from its start again; see forwarder.h.
#include <algorithm>

#include "sluice/limits.h"

#include "forward/forwarder.h"

namespace sluice::forward {
namespace {

constexpr milliseconds kLookWithin{1000};
// Looks in the time after which an entry counts as old, but not less often than every few seconds: they also show
// how far the journal lags behind.
constexpr int kLooksInStale = 10;
constexpr milliseconds kLookEveryMax{3000};
constexpr milliseconds kAgainRestMax = std::chrono::hours(1);

}  // namespace

void Forwarder::startOver(const std::string& why) {
  parts_.log.info("forwarder", "reads the journal from its start: " + why);
  cursor_ = {};
  batch_.clear();
  lettersDue_ = true;
  suspect_ = {};
  lookAt_ = {};
  const std::lock_guard lock(mutex_);
  ++stats_.rereads;
}

// A look that fails changes nothing; the next one comes soon.
void Forwarder::look(SteadyTime now) {
  const milliseconds every = std::clamp(options_.stale / kLooksInStale, milliseconds(1), kLookEveryMax);
  const Status looked = lookFor(now);
  // After a start from the beginning as well: it asks for a look at once, and this was it.
  lookAt_ = now + every;
  if (!looked) parts_.log.repeated(LogLevel::Warning, "forwarder", "look failed", looked.error().text);
}

Status Forwarder::lookFor(SteadyTime now) {
  const auto queue = parts_.queue.stats(Deadline::in(kLookWithin));
  if (!queue) return queue.error();
  if (queue.value().dataLost > dataLost_) startOver("the queue lost what it had");
  dataLost_ = queue.value().dataLost;
  if (Status done = readLetters(); !done) return done;
  const auto oldest = findOldest();
  if (!oldest) return oldest.error();
  judge(oldest.value(), queue.value().ready + queue.value().inFlight == 0, now);
  return {};
}

// Dead letters in memory keep their entries; those must not be forwarded while they wait for an operator.
Status Forwarder::readLetters() {
  lettersDue_ = !parts_.queue.traits().durable;
  if (!lettersDue_) return {};
  std::unordered_set<OrderId> letters;
  std::string after;
  while (true) {
    const auto page = parts_.queue.deadLetters(after, limits::kPageMax, Deadline::in(kLookWithin));
    if (!page) return page.error();
    if (page.value().empty()) break;
    after = page.value().back().id;
    for (const DeadLetter& letter : page.value()) {
      if (letter.admission) letters.insert(letter.admission->order);
    }
  }
  letters_ = std::move(letters);
  lettersDue_ = false;
  return {};
}

// The oldest entry that waits for its row: no dead letter, and nothing that does not decode.
Result<std::optional<Forwarder::Oldest>> Forwarder::findOldest() {
  JournalId after;
  while (true) {
    const std::size_t max = std::min(limits::kPageMax, letters_.size() + 1);
    const auto page = parts_.qualifier.readJournal(after, max, Deadline::in(kLookWithin));
    if (!page) return page.error();
    if (page.value().empty()) return std::optional<Oldest>();
    const auto waits =
        std::find_if(page.value().begin(), page.value().end(), [this](const JournalEntry& entry) {
          return entry.admission && !letters_.contains(entry.admission.value().order);
        });
    const auto begin = page.value().begin();
    if (std::any_of(begin, waits, [](const JournalEntry& entry) { return !entry.admission; })) {
      (void)putAside({page.value().data(), static_cast<std::size_t>(waits - begin)});
    }
    if (waits != page.value().end())
      return std::optional(Oldest{waits->id, waits->admission.value().admittedAt});
    after = page.value().back().id;
  }
}

// Forwarded, old, and nobody has its message: seen twice in a row, because between the settling of a message and the
// deleting of its entry this is so for a moment.
void Forwarder::judge(const std::optional<Oldest>& oldest, bool queueEmpty, SteadyTime now) {
  const milliseconds age = oldest ? parts_.clock.now() - oldest->admittedAt : milliseconds(0);
  {
    const std::lock_guard lock(mutex_);
    stats_.oldestAge = std::max(age, milliseconds(0));
  }
  const bool old = oldest && age >= options_.stale;
  if (!old) againRest_ = {};
  const bool suspicious = old && queueEmpty && batch_.empty() && oldest->id <= cursor_;
  const JournalId before = suspect_;
  suspect_ = suspicious ? oldest->id : JournalId();
  if (!suspicious || before != oldest->id || now < againAt_) return;
  againRest_ =
      std::clamp<milliseconds>(againRest_ * 2, options_.stale, std::max(options_.stale, kAgainRestMax));
  againAt_ = now + againRest_;
  startOver("entry " + oldest->id.text() + " is old and the queue is empty");
}

}  // namespace sluice::forward
