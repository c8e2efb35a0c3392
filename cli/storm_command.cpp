// sluice storm-client (not listed in the help): the demo's crowd as a process of its own, with descriptors of
// its own.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/order_request.h"
#include "cli/storm.h"
#include "cli/storm_log.h"

namespace sluice::cli {
namespace {

struct Given {
  std::uint16_t port = 0;
  std::int64_t voucher = 0;
  std::int64_t users = 0;
  std::int64_t twice = 0;
  std::string answers;
};

// Users 1 .. users; the first `twice` of an even spread send a second request right behind the first, on a
// connection of its own.
std::vector<UserId> crowd(std::int64_t users, std::int64_t twice) {
  std::vector<UserId> all;
  all.reserve(static_cast<std::size_t>(users + twice));
  for (std::int64_t user = 1; user <= users; ++user) {
    all.emplace_back(user);
    if (user * twice / users != (user - 1) * twice / users) all.emplace_back(user);
  }
  return all;
}

int run(const Given& given) {
  catchInterrupts();
  const std::vector<UserId> users = crowd(given.users, given.twice);
  StormPlan plan;
  plan.port = given.port;
  for (const UserId user : users) {
    plan.requests.push_back(orderRequest(given.port, VoucherId(given.voucher), user));
  }
  const auto progress = [](const std::string& line) { std::fprintf(stderr, "demo: %s\n", line.c_str()); };
  const Result<StormReport> report = runStorm(plan, interrupted(), progress);
  if (!report) return complain(report.error());
  const Status written = writeStormLog(given.answers, readReport(report.value(), users));
  return written ? static_cast<int>(ExitFine) : complain(written.error());
}

}  // namespace

void addStormClient(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("storm-client", "The demo's crowd");
  command->group("");
  auto given = std::make_shared<Given>();
  command->add_option("--port", given->port)->required();
  command->add_option("--voucher", given->voucher)->required();
  command->add_option("--users", given->users)->required()->check(CLI::PositiveNumber);
  command->add_option("--twice", given->twice)->required();
  command->add_option("--answers", given->answers)->required();
  command->callback([&invocation, given] { invocation.run = [given] { return run(*given); }; });
}

}  // namespace sluice::cli
