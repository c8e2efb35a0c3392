// See storm_log.h. The file: one line of totals, then one line an answer; numbers and names without blanks.
#include "cli/storm_log.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <Poco/Exception.h>
#include <Poco/JSON/Object.h>
#include <Poco/JSON/Parser.h>
#include <sys/stat.h>

#include "sluice/verdict.h"

namespace sluice::cli {
namespace {

struct OrderBody {
  std::string code;
  OrderId order;
};

OrderBody parseBody(const std::string& body) {
  try {
    const auto object = Poco::JSON::Parser().parse(body).extract<Poco::JSON::Object::Ptr>();
    return {object->optValue<std::string>("code", ""),
            parseId<OrderId>(object->optValue<std::string>("orderId", "")).value_or(OrderId())};
  } catch (const Poco::Exception&) {
    return {};  // not JSON: the status has to do
  }
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool isVerdict(std::string_view name) {
  return std::any_of(std::begin(kVerdicts), std::end(kVerdicts),
                     [name](Verdict verdict) { return verdictName(verdict) == name; });
}

std::string verdictOf(int status, const OrderBody& body) {
  if (status == 202 && body.order.valid()) return std::string(verdictName(Verdict::Admitted));
  const std::string name = lowered(body.code);
  return status >= 400 && isVerdict(name) ? name : "http_" + std::to_string(status);
}

}  // namespace

StormEntry readAnswer(UserId user, const StormAnswer& answer) {
  if (answer.fault != StormFault::None)
    return {user, std::string(stormFaultName(answer.fault)), OrderId(), {}};
  const OrderBody body = parseBody(answer.body);
  return {user, verdictOf(answer.status, body), body.order, answer.latency};
}

StormLog readReport(const StormReport& report, const std::vector<UserId>& users) {
  StormLog log;
  log.connectionErrors = report.connectionErrors;
  log.releasedAt = report.releasedAt;
  log.answering = report.answering;
  log.entries.reserve(users.size());
  for (std::size_t at = 0; at < users.size(); ++at) {
    log.entries.push_back(readAnswer(users[at], report.answers[at]));
  }
  return log;
}

Status writeStormLog(const std::string& path, const StormLog& log) {
  std::ofstream file(path, std::ios::trunc);
  ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  file << toMillis(log.releasedAt) << ' ' << log.answering.count() << ' ' << log.connectionErrors << '\n';
  for (const StormEntry& entry : log.entries) {
    file << entry.user.value() << ' ' << entry.verdict << ' ' << entry.order.value() << ' '
         << entry.latency.count() << '\n';
  }
  file.close();
  return file ? Status() : Status(ErrorCode::Misconfigured, path + ": cannot be written");
}

Result<StormLog> readStormLog(const std::string& path) {
  std::ifstream file(path);
  StormLog log;
  std::int64_t released = 0;
  std::int64_t answering = 0;
  if (!(file >> released >> answering >> log.connectionErrors)) {
    return {ErrorCode::Corrupt, path + ": not a storm client's log"};
  }
  log.releasedAt = fromMillis(released);
  log.answering = std::chrono::nanoseconds(answering);
  std::int64_t user = 0;
  std::int64_t order = 0;
  std::int64_t latency = 0;
  for (std::string verdict; file >> user >> verdict >> order >> latency;) {
    log.entries.push_back({UserId(user), verdict, OrderId(order), std::chrono::nanoseconds(latency)});
  }
  return log;
}

}  // namespace sluice::cli
