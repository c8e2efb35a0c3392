// See demo_figures.h.
#include "cli/demo_figures.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <Poco/JSON/Object.h>

#include "sluice/verdict.h"

#include "cli/text.h"

namespace sluice::cli {
namespace {

using OrdersByUser = std::map<UserId, std::set<OrderId>>;

double toMs(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::string fixed(double value, int decimals) {
  std::ostringstream text;
  text.precision(decimals);
  text << std::fixed << value;
  return text.str();
}

// Three decimals are what the clocks are good for, and keep the JSON readable.
double rounded(double value) { return std::round(value * 1000) / 1000; }

// Nearest rank: the smallest latency that so many of all answers did not exceed.
double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

void measureLatency(const StormLog& log, DemoFigures& figures) {
  std::vector<double> sorted;
  double sum = 0;
  for (const StormEntry& entry : log.entries) {
    if (entry.latency.count() == 0) continue;
    sorted.push_back(toMs(entry.latency));
    sum += sorted.back();
  }
  std::sort(sorted.begin(), sorted.end());
  figures.latencyMeanMs = sorted.empty() ? 0 : sum / static_cast<double>(sorted.size());
  figures.latencyP50Ms = percentile(sorted, 0.50);
  figures.latencyP99Ms = percentile(sorted, 0.99);
  figures.latencyMaxMs = sorted.empty() ? 0 : sorted.back();
}

std::int64_t usersWithSeveral(const OrdersByUser& orders) {
  return std::count_if(orders.begin(), orders.end(), [](const auto& user) { return user.second.size() > 1; });
}

void count(const StormLog& log, const std::vector<Order>& rows, DemoFigures& figures) {
  OrdersByUser orders;
  std::set<OrderId> admitted;
  for (const StormEntry& entry : log.entries) {
    ++figures.verdicts[entry.verdict];
    if (entry.verdict == verdictName(Verdict::Admitted)) {
      admitted.insert(entry.order);
      orders[entry.user].insert(entry.order);
    }
  }
  std::int64_t livePieces = 0;
  std::int64_t unknown = 0;
  UtcTime lastStored = log.releasedAt;
  for (const Order& row : rows) {
    if (!isLive(row.status)) continue;
    ++figures.stored;
    livePieces += row.quantity;
    unknown += admitted.contains(row.id) ? 0 : 1;
    orders[row.user].insert(row.id);
    lastStored = std::max(lastStored, row.storedAt);
  }
  figures.requests = static_cast<std::int64_t>(log.entries.size());
  figures.admitted = static_cast<std::int64_t>(admitted.size());
  figures.oversold =
      std::max({std::int64_t{0}, livePieces - figures.stock, figures.admitted - figures.stock});
  figures.doubled = usersWithSeveral(orders);
  figures.secondsToStored = std::chrono::duration<double>(lastStored - log.releasedAt).count();
  if (unknown > 0)
    figures.faults.push_back(countText(unknown) + " stored orders were never told to a client");
}

void findFaults(const AuditReport& audit, DemoFigures& figures) {
  const std::int64_t expected = std::min(figures.users, figures.stock);
  const auto fault = [&figures](bool off, const std::string& text) {
    if (off) figures.faults.push_back(text);
  };
  fault(figures.admitted != expected,
        countText(figures.admitted) + " were admitted, and " + countText(expected) + " should be");
  fault(figures.stored != figures.admitted, countText(figures.stored) + " orders are stored, and " +
                                                countText(figures.admitted) + " were admitted");
  fault(figures.oversold != 0, countText(figures.oversold) + " pieces were oversold");
  fault(figures.doubled != 0, countText(figures.doubled) + " users have more than one order");
  fault(figures.connectionErrors != 0,
        countText(static_cast<std::int64_t>(figures.connectionErrors)) + " connections were refused or lost");
  fault(!figures.atRest, "orders were still on their way when the demo stopped waiting");
  for (const Violation& violation : audit.violations) {
    figures.faults.push_back(violation.invariant + ": " + violation.text);
  }
}

}  // namespace

DemoFigures judge(const StormLog& log, const std::vector<Order>& rows, const AuditReport& audit,
                  std::int64_t users, std::int64_t stock) {
  DemoFigures figures;
  figures.users = users;
  figures.stock = stock;
  figures.connectionErrors = log.connectionErrors;
  figures.secondsAnswering = std::chrono::duration<double>(log.answering).count();
  figures.auditClean = audit.clean();
  figures.atRest = audit.atRest;
  measureLatency(log, figures);
  count(log, rows, figures);
  findFaults(audit, figures);
  return figures;
}

std::string demoText(const DemoFigures& figures) {
  std::string answers;
  for (const auto& [verdict, number] : figures.verdicts) {
    answers += (answers.empty() ? "" : ", ") + verdict + " " + countText(number);
  }
  std::string text;
  text += "requests  " + countText(figures.requests) + " of " + countText(figures.users) +
          " users, at one instant; answered in " + fixed(figures.secondsAnswering, 2) + " s\n";
  text += "answers   " + answers + "\n";
  text += "admitted  " + countText(figures.admitted) + " for " + countText(figures.stock) + " pieces\n";
  text += "stored    " + countText(figures.stored) + ", the last one " + fixed(figures.secondsToStored, 2) +
          " s after the start\n";
  text += "oversold  " + countText(figures.oversold) + "\n";
  text += "double    " + countText(figures.doubled) + "\n";
  text += "latency   mean " + fixed(figures.latencyMeanMs, 1) + " ms, p50 " + fixed(figures.latencyP50Ms, 1) +
          " ms, p99 " + fixed(figures.latencyP99Ms, 1) + " ms, max " + fixed(figures.latencyMaxMs, 1) +
          " ms\n";
  text += std::string("audit     ") + (figures.auditClean ? "clean" : "violated") + "\n";
  for (const std::string& fault : figures.faults) {
    text += "WRONG     " + fault + "\n";
  }
  return text;
}

std::string demoJson(const DemoFigures& figures) {
  Poco::JSON::Object verdicts;
  for (const auto& [verdict, number] : figures.verdicts) {
    verdicts.set(verdict, number);
  }
  Poco::JSON::Object latency(Poco::JSON_PRESERVE_KEY_ORDER);
  latency.set("mean", rounded(figures.latencyMeanMs)).set("p50", rounded(figures.latencyP50Ms));
  latency.set("p99", rounded(figures.latencyP99Ms)).set("max", rounded(figures.latencyMaxMs));
  Poco::JSON::Object object(Poco::JSON_PRESERVE_KEY_ORDER);
  object.set("requests", figures.requests).set("verdicts", verdicts).set("admitted", figures.admitted);
  object.set("stored", figures.stored).set("oversold", figures.oversold).set("double", figures.doubled);
  object.set("latency_ms", latency).set("seconds_to_stored", rounded(figures.secondsToStored));
  object.set("audit", figures.auditClean ? "clean" : "violated");
  std::ostringstream text;
  object.stringify(text);
  return text.str();
}

}  // namespace sluice::cli
