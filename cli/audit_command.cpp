// sluice audit: does every invariant hold, is every order accounted for? Exit code 1 where not.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "sluice/audit.h"

#include "cli/command.h"
#include "cli/text.h"
#include "server/views.h"

namespace sluice::cli {
namespace {

void printVouchers(const AuditReport& report) {
  if (report.vouchers.empty()) {
    std::printf("There are no vouchers.\n");
    return;
  }
  Table table({"VOUCHER", "TITLE", "ALLOCATED", "STOCK", "HELD", "REMAINING", "LIVE", "ROWS", "WAITING",
               "DEAD LETTERS", "UNRELEASED", "LOST", "UNACCOUNTED"});
  for (const VoucherAudit& voucher : report.vouchers) {
    table.add({voucher.voucher.text(), voucher.title, countText(voucher.allocated),
               voucher.loaded ? countText(voucher.stock) : "-",
               voucher.loaded ? countText(voucher.held) : "-", countText(voucher.remaining),
               countText(voucher.livePieces), countText(voucher.rows), countText(voucher.waiting),
               countText(voucher.deadLettered), countText(voucher.unreleased), countText(voucher.lost),
               countText(voucher.unaccounted)});
  }
  std::fputs(table.text().c_str(), stdout);
  for (const VoucherAudit& voucher : report.vouchers) {
    if (voucher.syncDue) {
      const std::string id = voucher.voucher.text();
      std::printf(
          "Voucher %s: Redis has older settings than the store; sluice voucher sync %s brings it up to "
          "date.\n",
          id.c_str(), id.c_str());
    }
  }
}

void printLost(const AuditReport& report, std::int64_t total) {
  if (total == 0) {
    return;
  }
  std::printf("\nLost orders: admitted, and nothing carries them any more.\n");
  Table table({"ORDER", "USER", "VOUCHER", "PIECES"});
  for (const LostOrder& lost : report.lost) {
    table.add({lost.order.text(), lost.user.text(), lost.voucher.text(), std::to_string(lost.quantity)});
  }
  std::fputs(table.text().c_str(), stdout);
  const auto listed = static_cast<std::int64_t>(report.lost.size());
  if (listed < total) {
    std::printf("... and %s more.\n", countText(total - listed).c_str());
  }
}

void printSummary(const AuditReport& report) {
  VoucherAudit sum;
  for (const VoucherAudit& voucher : report.vouchers) {
    sum.waiting += voucher.waiting;
    sum.deadLettered += voucher.deadLettered;
    sum.lost += voucher.lost;
    sum.unaccounted += voucher.unaccounted;
  }
  printLost(report, sum.lost);
  std::printf(
      "\nAdmissions without a row: %s. On their way: %s (dead letters: %s). Lost: %s. Known to nobody but "
      "counted: %s.\n",
      countText(sum.waiting + sum.lost + sum.unaccounted).c_str(), countText(sum.waiting).c_str(),
      countText(sum.deadLettered).c_str(), countText(sum.lost).c_str(), countText(sum.unaccounted).c_str());
  if (!report.atRest) {
    std::printf("Orders are on their way: what holds only at rest was not judged.\n");
  }
  for (const Violation& violation : report.violations) {
    std::printf("VIOLATION %s, voucher %s: %s\n", violation.invariant.c_str(),
                violation.voucher.text().c_str(), violation.text.c_str());
  }
  if (report.clean()) {
    std::printf("Audit clean: every invariant holds.\n");
  }
}

int run(System& system, bool json) {
  const Result<AuditReport> report = audit(system.parts(), Deadline::in(kCommandDeadline));
  if (!report) {
    return complain(report.error().during("audit"));
  }
  if (json) {
    std::printf("%s\n", server::auditJson(report.value()).c_str());
  } else {
    printVouchers(report.value());
    printSummary(report.value());
  }
  return report.value().clean() ? ExitFine : ExitNotFine;
}

}  // namespace

void addAudit(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("audit", "Compare Redis, journal, queue and store; exit 1 on a violation");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print the report as JSON");
  command->footer(
      "Reads only, and may run beside a sale.\nExample: sluice audit -c config/quickstart.properties");
  command->callback([&invocation, json] {
    invocation.run = [&invocation, json] {
      return withSystem(invocation.globals,
                        [json](System& system, const Config&) { return run(system, *json); });
    };
  });
}

}  // namespace sluice::cli
