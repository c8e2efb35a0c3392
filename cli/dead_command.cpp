// sluice dead: looks at dead letters, sends them once more or drops them.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "sluice/printable.h"

#include "cli/command.h"
#include "cli/json_list.h"
#include "cli/text.h"
#include "server/utc_text.h"

namespace sluice::cli {
namespace {

struct Given {
  std::string id;
  std::string after;
  std::size_t max = 100;
  bool json = false;
};

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
  const Result<std::vector<DeadLetter>> page = letters.list(given.after, given.max, deadline);
  if (!page) {
    return complain(page.error());
  }
  if (given.json) {
    printJsonList(page.value(), server::deadLetterJson);
    return ExitFine;
  }

  Table table({"LETTER", "ORDER", "VOUCHER", "SINCE", "DELIVERIES", "FAILURES", "REASON"});
  for (const DeadLetter& letter : page.value()) {
    table.add({letter.id, letter.admission ? letter.admission->order.text() : "-",
               letter.admission ? letter.admission->voucher.text() : "-", server::utcText(letter.deadAt),
               std::to_string(letter.deliveries), std::to_string(letter.failures),
               printable(letter.reason, 80)});
  }
  std::fputs(table.empty() ? "There are no dead letters.\n" : table.text().c_str(), stdout);
  if (page.value().size() == given.max) {
    std::printf("There may be more: --after %s\n", page.value().back().id.c_str());
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
  } else {
    std::printf("bytes       %s\n", printable(found.bytes, 1000).c_str());
  }
  return ExitFine;
}

int replay(DeadLetters& letters, const Given& given, Deadline deadline) {
  if (const Status done = letters.replay(given.id, deadline); !done) {
    return complain(done.error());
  }
  std::printf("Letter %s is back in the queue.\n", given.id.c_str());
  return ExitFine;
}

int drop(DeadLetters& letters, const Given& given, Deadline deadline) {
  if (const Status done = letters.drop(given.id, deadline); !done) {
    return complain(done.error());
  }
  std::printf("Letter %s is dropped: its order is cancelled, its stock is free again.\n", given.id.c_str());
  return ExitFine;
}

void run(CLI::App* app, Invocation& invocation, const std::shared_ptr<Given>& given, Work work) {
  app->callback([&invocation, given, work] {
    invocation.run = [&invocation, given, work] { return withLetters(invocation.globals, *given, work); };
  });
}

void addOne(CLI::App* parent, Invocation& invocation, const char* name, const char* what, Work work) {
  CLI::App* app = parent->add_subcommand(name, what);
  auto given = std::make_shared<Given>();
  app->add_option("letter", given->id, "Dead letter, as sluice dead list names it")->required();
  if (work == show) {
    app->add_flag("--json", given->json, "Print it as JSON");
  }
  app->footer("Example: sluice dead " + std::string(name) + " 1767225600000-0");
  run(app, invocation, given, work);
}

void addList(CLI::App* parent, Invocation& invocation) {
  CLI::App* app = parent->add_subcommand("list", "Dead letters, oldest first");
  auto given = std::make_shared<Given>();
  app->add_option("--after", given->after, "Only letters after this one");
  app->add_option("--max", given->max, "At most so many (default 100)")
      ->check(CLI::Range(std::size_t{1}, limits::kPageMax));
  app->add_flag("--json", given->json, "Print a JSON list");
  app->footer("Example: sluice dead list --max 20");
  run(app, invocation, given, list);
}

}  // namespace

void addDead(CLI::App& app, Invocation& invocation) {
  CLI::App* dead = app.add_subcommand("dead", "Orders that could not be stored: look, replay, drop");
  dead->require_subcommand(1);
  dead->footer("Example: sluice dead list");
  addList(dead, invocation);
  addOne(dead, invocation, "show", "One dead letter, whole", show);
  addOne(dead, invocation, "replay", "Send it through the queue once more, with its counters at 0", replay);
  addOne(dead, invocation, "drop", "Cancel its order, give its stock back, forget the letter", drop);
}

}  // namespace sluice::cli
