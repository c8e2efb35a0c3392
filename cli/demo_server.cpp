// See demo_server.h.
#include "cli/demo_server.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <Poco/Exception.h>
#include <Poco/JSON/Object.h>
#include <Poco/JSON/Parser.h>
#include <poll.h>
#include <unistd.h>

#include "sluice/printable.h"

#include "cli/interrupt.h"
#include "cli/order_request.h"
#include "server/utc_text.h"

namespace sluice::cli {
namespace {

constexpr milliseconds kReadyWithin{60000};
constexpr milliseconds kStopWithin{20000};
constexpr milliseconds kAdminWithin{30000};
constexpr std::string_view kReady = "ready on http://127.0.0.1:";

std::string fileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The port in the server's line, once the line is whole; 0 before.
std::uint16_t portIn(const std::string& output) {
  const auto at = output.find(kReady);
  const auto end = at == std::string::npos ? at : output.find('\n', at);
  if (end == std::string::npos) return 0;
  const std::string_view rest = std::string_view(output).substr(at + kReady.size(), end - at - kReady.size());
  const auto port = parsePositive(rest.substr(0, rest.find_first_not_of("0123456789")));
  return static_cast<std::uint16_t>(port.value_or(0));
}

// A member of a JSON object as text, empty where it is not there.
std::string member(const std::string& json, const std::string& name) {
  try {
    const auto object = Poco::JSON::Parser().parse(json).extract<Poco::JSON::Object::Ptr>();
    return object->optValue<std::string>(name, "");
  } catch (const Poco::Exception&) {
    return {};
  }
}

std::string voucherBody(const std::string& title, std::int64_t stock) {
  const UtcTime now = systemClock().now();
  Poco::JSON::Object object;
  object.set("title", title).set("stock", stock).set("limitPerUser", 1);
  object.set("begin", server::utcText(now - std::chrono::minutes(1)))
      .set("end", server::utcText(now + std::chrono::hours(24)));
  std::ostringstream text;
  object.stringify(text);
  return text.str();
}

}  // namespace

std::string ownProgram() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

Result<std::unique_ptr<DemoServer>> DemoServer::start(const DemoServerOptions& options) {
  std::unique_ptr<DemoServer> server(new DemoServer);
  if (Status folder = server->makeFolder(options.folder); !folder) return folder.error();
  if (Status settings = server->writeSettings(options); !settings) return settings.error();
  if (Status launched = server->launch(); !launched) return launched.error();
  return server;
}

Status DemoServer::makeFolder(const std::string& given) {
  std::error_code error;
  if (!given.empty()) {
    folder_ = std::filesystem::absolute(given, error).lexically_normal().string();
    std::filesystem::create_directories(folder_, error);
    return error ? Status(ErrorCode::Misconfigured, folder_ + ": " + error.message()) : Status();
  }
  std::string path = (std::filesystem::temp_directory_path(error) / "sluice-demo-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    return {ErrorCode::Misconfigured, path + ": no folder can be made there; choose one with --data"};
  }
  folder_ = path;
  ownFolder_ = true;
  return {};
}

// A file, so that other commands can name it while the server is up, and no ./sluice.properties is looked
// for.
Status DemoServer::writeSettings(const DemoServerOptions& options) {
  const std::string path = folder_ + "/demo.properties";
  std::ofstream file(path, std::ios::trunc);
  file << "# The settings of a demo.\n"
       << "queue = " << options.queue << "\nstore = " << options.store << "\ndata.dir = " << folder_
       << "\nredis.embedded = true\nhttp.port = 0\nadmin.token.generate = true\n";
  for (const auto& [key, value] : options.settings) {
    file << key << " = " << value << "\n";
  }
  file.close();
  globals_ = {{path}, options.sets};
  return file ? Status()
              : Status(ErrorCode::Misconfigured,
                       path + ": cannot be written; choose another folder with --data");
}

Status DemoServer::launch() {
  ChildOptions child;
  child.arguments = {ownProgram(), "-c", globals_.files.front()};
  for (const std::string& set : globals_.sets) {
    child.arguments.insert(child.arguments.end(), {"--set", set});
  }
  child.arguments.emplace_back("serve");
  child.outputFile = folder_ + "/server.log";
  child.outputPipe = true;
  Result<std::unique_ptr<ChildProcess>> started = ChildProcess::start(child);
  if (!started) return started.error().during("start the server");
  process_ = std::move(started).take();
  return waitUntilReady();
}

Status DemoServer::waitUntilReady() {
  const Deadline deadline = Deadline::in(kReadyWithin);
  std::string output;
  while ((port_ = portIn(output)) == 0) {
    if (interrupted()) return {ErrorCode::Stopped, "interrupted"};
    if (deadline.passed())
      return {ErrorCode::Unavailable, "the server is not ready in time; its log ends so:\n" + logTail()};
    pollfd watched{process_->output(), POLLIN, 0};
    if (::poll(&watched, 1, 100) <= 0) continue;
    std::array<char, 1024> buffer;
    const auto count = ::read(process_->output(), buffer.data(), buffer.size());
    if (count <= 0)
      return {ErrorCode::Misconfigured, "the server does not come up; its log ends so:\n" + logTail()};
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return {};
}

std::string DemoServer::logTail() const {
  constexpr std::size_t kTail = 2000;
  const std::string text = fileText(folder_ + "/server.log");
  return text.size() > kTail ? text.substr(text.size() - kTail) : text;
}

Result<StormAnswer> DemoServer::askAdmin(const std::string& path, const std::string& body) {
  std::string token = fileText(tokenFile());
  token.erase(token.find_last_not_of(" \r\n") + 1);
  StormPlan plan;
  plan.port = port_;
  plan.requests.push_back(adminRequest(port_, path, token, body));
  plan.answerWithin = kAdminWithin;
  const Result<StormReport> report = runStorm(plan, interrupted(), {});
  if (!report) return report.error();
  const StormAnswer& answer = report.value().answers.front();
  if (answer.fault != StormFault::None) {
    return {ErrorCode::Unavailable,
            "the server does not answer (" + std::string(stormFaultName(answer.fault)) + ")"};
  }
  if (answer.status >= 300) {
    return {ErrorCode::Conflict, "POST /admin/v1" + path + " answered " + std::to_string(answer.status) +
                                     ": " + printable(answer.body, 500)};
  }
  return answer;
}

Result<VoucherId> DemoServer::createVoucher(const std::string& title, std::int64_t stock) {
  const Result<StormAnswer> created = askAdmin("/vouchers", voucherBody(title, stock));
  if (!created) return created.error().during("create a voucher");
  const auto id = parseId<VoucherId>(member(created.value().body, "voucherId"));
  if (!id) {
    return {ErrorCode::Corrupt,
            "the answer to a new voucher names no id: " + printable(created.value().body, 500)};
  }
  const Result<StormAnswer> loaded = askAdmin("/vouchers/" + id->text() + "/load", "");
  if (!loaded) return loaded.error().during("load voucher " + id->text());
  return *id;
}

DemoServer::~DemoServer() {
  if (process_) process_->end(kStopWithin);
  if (ownFolder_) {
    std::error_code ignored;  // what cannot be removed lies below the temporary folder
    std::filesystem::remove_all(folder_, ignored);
  }
}

}  // namespace sluice::cli
