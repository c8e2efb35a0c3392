// sluice dead: looks at dead letters, sends them once more or drops them.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "sluice/printable.h"

#include "cli/command.h"
#include "cli/dead_given.h"
#include "cli/json_list.h"
#include "cli/text.h"
#include "server/utc_text.h"

namespace sluice::cli {
namespace {

using Given = DeadGiven;
using Work = int (*)(DeadLetters& letters, const Given& given, Deadline deadline);

int withLetters(const GlobalOptions& globals, const Given& given, Work work) {
  return withSystem(globals, [&given, work](System& system, const Config& config) {
    if (!system.parts().queue.traits().inspectable) {
      return complain("the queue '" + std::string(config.queuePlugin().name) +
                          "' keeps its dead letters in the memory of the server, out of reach of other "
                          "processes; ask the running "
                          "server: GET http://" +
                          config.core().text("http.address") + ":" +
                          std::to_string(config.core().integer("http.port")) + "/admin/v1/dead",
                      ExitNotFine);
    }
    DeadLetters letters(system.parts());
    return work(letters, given, Deadline::in(kCommandDeadline));
  });
}

int list(DeadLetters& letters, const Given& given, Deadline deadline) {
  const Result<DeadFilter> filter = given.filter();
  if (!filter) {
    return complain(filter.error());
  }
  const Result<DeadPage> page =
      letters.find(filter.value(), given.after, given.max.value_or(kDeadPage), deadline);
  if (!page) {
    return complain(page.error());
  }
  if (given.json) {
    printJsonList(page.value().letters, server::deadLetterJson);
    return ExitFine;
  }

  Table table({"LETTER", "ORDER", "VOUCHER", "SINCE", "DELIVERIES", "FAILURES", "REASON"});
  for (const DeadLetter& letter : page.value().letters) {
    table.add({letter.id, letter.admission ? letter.admission->order.text() : "-",
               letter.admission ? letter.admission->voucher.text() : "-", server::utcText(letter.deadAt),
               std::to_string(letter.deliveries), std::to_string(letter.failures),
               printable(letter.reason, 80)});
  }
  const char* none =
      filter.value().isEmpty() ? "There are no dead letters.\n" : "No dead letter is as you say.\n";
  std::fputs(table.empty() ? none : table.text().c_str(), stdout);
  if (!page.value().next.empty()) {
    std::printf("There may be more: --after %s\n", page.value().next.c_str());
  }
  return ExitFine;
}

int show(DeadLetters& letters, const Given& given, Deadline deadline) {
  const Result<DeadLetter> letter = letters.show(given.id, deadline);
  if (!letter) {
    return complain(letter.error());
  }
  if (given.json) {
    std::printf("%s\n", server::deadLetterJson(letter.value()).c_str());
    return ExitFine;
  }

  const DeadLetter& found = letter.value();
  std::printf("letter      %s\nsince       %s\nreason      %s\ndeliveries  %u\nfailures    %u\n",
              found.id.c_str(), server::utcText(found.deadAt).c_str(),
              printable(found.reason, limits::kReasonBytesMax).c_str(), found.deliveries, found.failures);
  if (found.admission) {
    const Admission& admission = *found.admission;
    std::printf("order       %s\nvoucher     %s\nuser        %s\npieces      %d\nadmitted    %s\n",
                admission.order.text().c_str(), admission.voucher.text().c_str(),
                admission.user.text().c_str(), admission.quantity,
                server::utcText(admission.admittedAt).c_str());
  }
  std::printf("bytes       %s\n", printable(found.bytes, 1000).c_str());
  return ExitFine;
}

int one(DeadLetters& letters, const Given& given, DeadDeed deed, Deadline deadline) {
  if (given.saysWhich()) {
    return complain("name one letter, or say which ones with options, not both", ExitUsage);
  }
  const bool replay = deed == DeadDeed::Replay;
  if (const Status done = replay ? letters.replay(given.id, deadline) : letters.drop(given.id, deadline);
      !done) {
    return complain(done.error());
  }
  std::printf(replay ? "Letter %s is back in the queue.\n"
                     : "Letter %s is dropped: its order is cancelled, its stock is free again.\n",
              given.id.c_str());
  return ExitFine;
}

int deed(DeadLetters& letters, const Given& given, DeadDeed deed, Deadline deadline) {
  return given.id.empty() ? sweepDead(letters, given, deed) : one(letters, given, deed, deadline);
}

int replay(DeadLetters& letters, const Given& given, Deadline deadline) {
  return deed(letters, given, DeadDeed::Replay, deadline);
}

int drop(DeadLetters& letters, const Given& given, Deadline deadline) {
  return deed(letters, given, DeadDeed::Drop, deadline);
}

void run(CLI::App* app, Invocation& invocation, const std::shared_ptr<Given>& given, Work work) {
  app->callback([&invocation, given, work] {
    invocation.run = [&invocation, given, work] { return withLetters(invocation.globals, *given, work); };
  });
}

void addShow(CLI::App* parent, Invocation& invocation) {
  CLI::App* app = parent->add_subcommand("show", "One dead letter, whole");
  auto given = std::make_shared<Given>();
  app->add_option("letter", given->id, "Dead letter, as sluice dead list names it")->required();
  app->add_flag("--json", given->json, "Print it as JSON");
  app->footer("Example: sluice dead show 1767225600000-0");
  run(app, invocation, given, show);
}

void addList(CLI::App* parent, Invocation& invocation) {
  CLI::App* app = parent->add_subcommand("list", "Dead letters, oldest first");
  auto given = std::make_shared<Given>();
  addDeadFilter(*app, *given);
  app->add_flag("--json", given->json, "Print a JSON list");
  app->footer("Example: sluice dead list --voucher 7 --since -1h --max 20");
  run(app, invocation, given, list);
}

// One letter by its id, or all that the conditions mean.
void addDeed(CLI::App* parent, Invocation& invocation, const char* name, const char* what, Work work) {
  CLI::App* app = parent->add_subcommand(name, what);
  auto given = std::make_shared<Given>();
  app->add_option("letter", given->id,
                  "Dead letter, as sluice dead list names it; or say which with options");
  addDeadFilter(*app, *given);
  addDeadConsent(*app, *given);
  app->footer("Examples: sluice dead " + std::string(name) + " 1767225600000-0\n          sluice dead " +
              name + " --voucher 7 --since -1h --dry-run");
  run(app, invocation, given, work);
}

}  // namespace

void addDead(CLI::App& app, Invocation& invocation) {
  CLI::App* dead = app.add_subcommand("dead", "Orders that could not be stored: look, replay, drop");
  dead->require_subcommand(1);
  dead->footer("Example: sluice dead list");
  addList(dead, invocation);
  addShow(dead, invocation);
  addDeed(dead, invocation, "replay", "Send letters through the queue once more, with their counters at 0",
          replay);
  addDeed(dead, invocation, "drop", "Cancel their orders, give their stock back, forget the letters", drop);
}

}  // namespace sluice::cli
