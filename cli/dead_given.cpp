// See dead_given.h.
#include "cli/dead_given.h"

#include <cstdio>
#include <limits>
#include <utility>

#include <CLI/CLI.hpp>

#include "sluice/printable.h"

#include "cli/command.h"
#include "cli/text.h"

namespace sluice::cli {
namespace {

Status readInstant(const std::string& text, UtcTime now, std::optional<UtcTime>& instant) {
  if (text.empty()) {
    return {};
  }
  const Result<UtcTime> parsed = parseInstant(text, now);
  if (!parsed) {
    return parsed.error();
  }
  instant = parsed.value();
  return {};
}

// Why the command line means nothing that may be done; empty where it does.
std::string objection(const DeadGiven& given, const char* verb) {
  if (!given.saysWhich()) {
    return std::string("name a letter, or say which ones to ") + verb +
           " (--voucher, --user, --order, --reason, --since, --until, --undecodable, or --all)";
  }
  if (!given.yes && !given.dryRun) {
    return std::string("add --yes to ") + verb + " them, or --dry-run to see how many there are";
  }
  return {};
}

void add(DeadSweep& sum, const DeadSweep& part) {
  if (sum.failed == 0) {
    sum.firstFailure = part.firstFailure;
  }
  sum.matched += part.matched;
  sum.done += part.done;
  sum.failed += part.failed;
  sum.stopped = part.stopped;
  sum.more = part.more;
  sum.next = part.next;
}

int report(const DeadSweep& sum, DeadDeed deed) {
  const std::string matched = countText(static_cast<std::int64_t>(sum.matched));
  if (deed == DeadDeed::Count) {
    std::printf("%s dead letters are meant; none was touched.\n", matched.c_str());
  } else {
    std::printf("%s of %s dead letters %s.\n", countText(static_cast<std::int64_t>(sum.done)).c_str(),
                matched.c_str(), deed == DeadDeed::Replay ? "are back in the queue" : "are dropped");
  }
  if (sum.failed > 0) {
    std::printf("%s failed and are where they were; the first: %s\n",
                countText(static_cast<std::int64_t>(sum.failed)).c_str(),
                printable(sum.firstFailure, limits::kReasonBytesMax).c_str());
  }
  if (sum.more) {
    std::printf("There may be more: --after %s\n", sum.next.c_str());
  }
  if (sum.stopped) {
    return complain(*sum.stopped);
  }
  return sum.failed > 0 ? ExitNotFine : ExitFine;
}

}  // namespace

Result<DeadFilter> DeadGiven::filter() const {
  DeadFilter filter;
  filter.voucher = VoucherId(voucher);
  filter.user = UserId(user);
  filter.order = OrderId(order);
  filter.reason = reason;
  filter.undecodable = undecodable;
  const UtcTime now = systemClock().now();
  for (const auto& [text, instant] : {std::pair(&since, &filter.since), std::pair(&until, &filter.until)}) {
    if (const Status read = readInstant(*text, now, *instant); !read) {
      return read.error();
    }
  }
  return filter;
}

void addDeadFilter(CLI::App& app, DeadGiven& given) {
  const auto ids = CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max());
  app.add_option("--voucher", given.voucher, "Only letters of this voucher")->check(ids);
  app.add_option("--user", given.user, "Only letters of this user")->check(ids);
  app.add_option("--order", given.order, "Only the letter of this order")->check(ids);
  app.add_option("--reason", given.reason, "Only letters with this text in their reason");
  app.add_option("--since", given.since, "Only letters put aside then or later: RFC 3339, or -90s, -2h, -3d");
  app.add_option("--until", given.until, "Only letters put aside before then");
  app.add_flag("--undecodable", given.undecodable, "Only letters whose bytes cannot be read");
  app.add_option("--after", given.after, "Only letters after this one");
  app.add_option("--max", given.max, "At most so many")->check(CLI::Range(std::size_t{1}, limits::kPageMax));
}

void addDeadConsent(CLI::App& app, DeadGiven& given) {
  app.add_flag("--all", given.all, "Every dead letter");
  app.add_flag("--yes", given.yes, "Do it, without a question");
  app.add_flag("--dry-run", given.dryRun, "Only count them");
}

int sweepDead(DeadLetters& letters, const DeadGiven& given, DeadDeed deed) {
  Result<DeadFilter> read = given.filter();
  if (!read) {
    return complain(read.error());
  }
  DeadFilter filter = std::move(read).take();
  const std::string why = objection(given, deed == DeadDeed::Replay ? "replay" : "drop");
  if (!why.empty()) {
    return complain(why, ExitUsage);
  }
  // The same for every call, so that a letter that fails again meanwhile does not come round.
  if (!filter.until) {
    filter.until = systemClock().now() + milliseconds(1);
  }
  const DeadDeed meant = given.dryRun ? DeadDeed::Count : deed;
  DeadSweep sum;
  sum.next = given.after;
  do {
    const std::size_t rest = given.max ? *given.max - sum.matched : limits::kPageMax;
    const auto part = letters.sweep(filter, meant, sum.next, rest, Deadline::in(kCommandDeadline));
    if (!part && sum.matched == 0) {
      return complain(part.error());
    }
    if (!part) {
      sum.stopped = part.error();
      break;
    }
    add(sum, part.value());
  } while (sum.more && !sum.stopped && (!given.max || sum.matched < *given.max));
  return report(sum, meant);
}

}  // namespace sluice::cli
