// The fixture of the suite for queue and store together; see together.h.
#include "contract/together.h"

#include <algorithm>
#include <csignal>
#include <sstream>

#include <poll.h>
#include <unistd.h>

#include "support/places.h"

namespace sluice::test {
namespace {

Deadline inTime() { return Deadline::in(scaled(milliseconds(30000))); }

std::map<std::string, Order> rowsOf(OrderStore& store) {
  std::map<std::string, Order> rows;
  for (OrderId after;;) {
    const auto page =
        store.listOrders(VoucherId(1), UserId(), std::nullopt, after, limits::kPageMax, inTime());
    if (!page) throw std::runtime_error(page.error().text);
    if (page.value().empty()) return rows;
    for (const Order& row : page.value()) {
      rows[row.id.text()] = row;
    }
    after = page.value().back().id;
  }
}

// Lines of a child's output until both `one` and `other` have come.
std::vector<std::string> linesUntil(const ChildProcess& child, const std::string& one,
                                    const std::string& other) {
  std::string text;
  const auto has = [&text](const std::string& line) { return text.find(line + "\n") != std::string::npos; };
  const Deadline deadline = inTime();
  while (!has(one) || !has(other)) {
    pollfd watched{child.output(), POLLIN, 0};
    char buffer[4096];
    const auto got = ::poll(&watched, 1, static_cast<int>(deadline.remaining().count())) > 0
                         ? ::read(child.output(), buffer, sizeof buffer)
                         : 0;
    if (got <= 0) throw std::runtime_error("the stopping server ended or said no more after: " + text);
    text.append(buffer, static_cast<std::size_t>(got));
  }
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Together);

TogetherWorld::~TogetherWorld() = default;

// Synced before each answer: what survives then is the pair's merit or fault, not that of a lucky second.
TogetherPlace::TogetherPlace(const TogetherPair& pair, const Settings& queue)
    : redis({"--appendfsync", "always"}), world(pair.makeWorld(data.path())), settings(queue) {
  settings.insert(
      settings.end(),
      {{"redis.socket", redis.target().socketPath}, {"data.dir", data.path()}, {"process.lease", "2s"}});
  settings = with(world->settings());
}

Settings TogetherPlace::with(const Settings& more) const {
  Settings all = settings;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool Look::isLost(const std::string& order) const {
  return std::any_of(audit.lost.begin(), audit.lost.end(),
                     [&](const LostOrder& lost) { return lost.order.text() == order; });
}

std::string Look::text() const {
  std::string all;
  for (const Violation& violation : audit.violations) {
    all += violation.invariant + ": " + violation.text + "\n";
  }
  return all;
}

Look lookAt(const Settings& settings) {
  const auto system = openSystem(settings, SystemUse::Command);
  auto report = audit(system->parts(), inTime());
  if (!report) throw std::runtime_error(report.error().text);
  return {rowsOf(system->parts().store), std::move(report).take()};
}

std::vector<Attempt> Together::killAt(const std::string& call, int users) {
  ChildOptions options;
  options.arguments = {places::testBuild() + "/stopping_server", call, std::to_string(kVoucher),
                       std::to_string(users), "log.file=" + place_.data.file("log")};
  for (const auto& [key, value] : place_.settings) {
    options.arguments.push_back(key + "=" + value);
  }
  options.outputPipe = true;
  options.deathSignal = SIGKILL;
  const auto child = ChildProcess::start(options).take();
  std::vector<Attempt> winners;
  for (const std::string& line : linesUntil(*child, "stopped", "asked")) {
    std::istringstream words(line);
    Attempt winner{0, 202, {}, {}};
    std::string kind;
    if (words >> kind >> winner.user >> winner.order && kind == "admitted") winners.push_back(winner);
  }
  child->signal(SIGKILL);
  EXPECT_TRUE(child->wait(inTime()).has_value());
  return winners;
}

Look Together::expectAllAccountedFor(const std::vector<Attempt>& winners) {
  Look look;
  const auto missing = [&] {
    return std::count_if(winners.begin(), winners.end(), [&](const Attempt& winner) {
      return look.rows.count(winner.order) == 0 && (survivesKill() || !look.isLost(winner.order));
    });
  };
  const auto accounted = [&] {
    look = lookAt(place_.settings);
    return missing() == 0 && (look.audit.clean() || !look.audit.lost.empty()) &&
           look.voucher().waiting == 0 && look.voucher().unreleased == 0;
  };
  EXPECT_TRUE(ServerProcess::eventually(bound(), accounted))
      << missing() << " of " << winners.size() << " unaccounted for\n"
      << look.text();
  const VoucherAudit& sums = look.voucher();
  EXPECT_EQ(sums.remaining + sums.livePieces, sums.allocated);
  EXPECT_EQ(sums.stock + sums.held, sums.allocated);
  EXPECT_EQ(sums.held, sums.livePieces + sums.lost) << "one piece an order";
  if (survivesKill()) {
    EXPECT_TRUE(look.audit.clean()) << look.text();
    EXPECT_EQ(sums.lost, 0);
  }
  for (const Violation& violation : look.audit.violations) {
    EXPECT_EQ(violation.invariant, "NO_LOST_ADMISSION") << violation.text;
  }
  return look;
}

void Together::expectOrdersFlowAgain(const ServerProcess& server, std::int64_t user) {
  HttpReply reply;
  const auto admitted = [&] {
    reply = server.order(kVoucher, user);
    return reply.status == 202;
  };
  EXPECT_TRUE(ServerProcess::eventually(bound(), admitted)) << reply.status << " " << reply.body;
  const std::string order = jsonMember(reply.body, "orderId");
  EXPECT_TRUE(
      ServerProcess::eventually(bound(), [&] { return lookAt(place_.settings).rows.count(order) == 1; }));
}

}  // namespace sluice::test
