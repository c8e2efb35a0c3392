// Many dead letters at a time: the filter, and the sweep that counts, replays or drops what it means.
#include <algorithm>
#include <functional>

#include "sluice/operations.h"

namespace sluice {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(const std::string& text, const std::string& part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

// Errors that say nothing about one letter: the next would meet them too.
bool concernsAll(ErrorCode code) noexcept {
  return errorTraits(code).mayRetry || code == ErrorCode::Misconfigured || code == ErrorCode::Unsupported;
}

struct Seen {
  std::string last;  // the letter after which to go on
  bool end = false;  // it is the last of all
};

// Shows the letters after `seen.last` to `visit` until it answers false, the deadline passes or kDeadScanMax
// were seen.
Status walk(OrderQueue& queue, Seen& seen, Deadline deadline,
            const std::function<bool(const DeadLetter&)>& visit) {
  for (std::size_t looked = 0; looked < limits::kDeadScanMax;) {
    const auto page = queue.deadLetters(seen.last, limits::kDeadScanPage, deadline);
    if (!page) return page.error();
    for (const DeadLetter& letter : page.value()) {
      if (!visit(letter)) return {};
      seen.last = letter.id;
      ++looked;
    }
    seen.end = page.value().size() < limits::kDeadScanPage;
    if (seen.end || deadline.passed()) return {};
  }
  return {};
}

}  // namespace

bool DeadFilter::matches(const DeadLetter& letter) const {
  if (undecodable && letter.admission) return false;
  const bool names = voucher.valid() || user.valid() || order.valid();
  if (names && !letter.admission) return false;
  if (voucher.valid() && letter.admission->voucher != voucher) return false;
  if (user.valid() && letter.admission->user != user) return false;
  if (order.valid() && letter.admission->order != order) return false;
  if (since && letter.deadAt < *since) return false;
  if (until && letter.deadAt >= *until) return false;
  return contains(letter.reason, reason);
}

bool DeadFilter::isEmpty() const noexcept {
  return !voucher.valid() && !user.valid() && !order.valid() && reason.empty() && !since && !until &&
         !undecodable;
}

Result<DeadPage> DeadLetters::find(const DeadFilter& filter, const std::string& afterId, std::size_t max,
                                   Deadline deadline) {
  max = std::clamp<std::size_t>(max, 1, limits::kPageMax);
  DeadPage found;
  Seen seen{afterId, false};
  const Status walked = walk(parts_.queue, seen, deadline, [&](const DeadLetter& letter) {
    if (found.letters.size() == max) return false;
    if (filter.matches(letter)) found.letters.push_back(letter);
    return true;
  });
  if (!walked) return walked.error();
  if (!seen.end) found.next = seen.last;
  return found;
}

bool DeadLetters::handle(const DeadLetter& letter, DeadDeed deed, DeadSweep& sweep, Deadline deadline) {
  Status done;
  if (deed == DeadDeed::Replay) done = replay(letter.id, deadline);
  if (deed == DeadDeed::Drop) done = drop(letter.id, deadline);
  // Somebody else was quicker.
  if (!done && done.error().code == ErrorCode::NotFound) return true;
  if (!done && concernsAll(done.error().code)) {
    sweep.stopped = done.error();
    return false;
  }
  ++sweep.matched;
  if (done) {
    ++sweep.done;
  } else if (sweep.failed++ == 0) {
    sweep.firstFailure = "dead letter " + letter.id + ": " + done.error().text;
  }
  return true;
}

Result<DeadSweep> DeadLetters::sweep(const DeadFilter& filter, DeadDeed deed, const std::string& afterId,
                                     std::size_t max, Deadline deadline) {
  max = std::clamp<std::size_t>(max, 1, limits::kPageMax);
  DeadFilter meant = filter;
  const UtcTime now = parts_.clock.now() + milliseconds(1);  // up to and including this millisecond
  meant.until = std::min(filter.until.value_or(now), now);
  DeadSweep sweep;
  Seen seen{afterId, false};
  const Status walked = walk(parts_.queue, seen, deadline, [&](const DeadLetter& letter) {
    if (!meant.matches(letter)) return true;
    if (sweep.matched == max || deadline.passed()) return false;
    return handle(letter, deed, sweep, deadline);
  });
  if (!walked) sweep.stopped = walked.error();
  // Where nothing was done yet there is nothing else to report.
  if (sweep.stopped && sweep.matched == 0) return *sweep.stopped;
  sweep.more = !seen.end;
  sweep.next = seen.last;
  return sweep;
}

}  // namespace sluice
