// See server_process.h.
#include "support/server_process.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <poll.h>
#include <unistd.h>

#include "support/places.h"
#include "support/program.h"

namespace sluice::test {

namespace {

constexpr const char* kAdminToken = "0123456789abcdef0123456789abcdef";

std::string fileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

ServerProcess::ServerProcess(Sets sets) : sets_(std::move(sets)) {
  bool redisGiven = false;
  for (const auto& [key, value] : sets_) {
    redisGiven = redisGiven || (key.rfind("redis.", 0) == 0 && key != "redis.append.fsync");
    if (key == "data.dir") dataDir_ = value;
  }
  if (!redisGiven) sets_.emplace_back("redis.embedded", "true");
  if (!dataDir_.empty()) return;
  dataDir_ = folder_.file("data");
  sets_.emplace_back("data.dir", dataDir_);
}

std::vector<std::string> ServerProcess::commandLine(const std::vector<std::string>& command) const {
  std::vector<std::string> line = {places::binary(), "--set", "http.port=0"};
  for (const auto& [key, value] : sets_) {
    line.insert(line.end(), {"--set", key + "=" + value});
  }
  line.insert(line.end(), command.begin(), command.end());
  return line;
}

void ServerProcess::start(const Sets& more) {
  const Sets before = sets_;
  sets_.insert(sets_.end(), more.begin(), more.end());
  ChildOptions options;
  options.arguments = commandLine({"serve"});
  sets_ = before;
  options.environment = {{"SLUICE_ADMIN_TOKEN", kAdminToken}};
  options.outputFile = folder_.file("server.log");
  options.outputPipe = true;
  auto started = ChildProcess::start(options);
  if (!started) throw std::runtime_error(started.error().text);
  process_ = std::move(started).take();
  std::string output;
  const Deadline deadline = Deadline::in(milliseconds(30000));
  const std::string announcement = "ready on http://127.0.0.1:";
  while (output.find(announcement) == std::string::npos || output.back() != '\n') {
    pollfd watched{process_->output(), POLLIN, 0};
    char buffer[1024];
    const auto n = poll(&watched, 1, static_cast<int>(deadline.remaining().count())) > 0
                       ? read(process_->output(), buffer, sizeof buffer)
                       : 0;
    if (n <= 0) throw std::runtime_error("the server does not come up: " + output + log());
    output.append(buffer, static_cast<std::size_t>(n));
  }
  port_ =
      static_cast<std::uint16_t>(std::atoi(output.c_str() + output.find(announcement) + announcement.size()));
}

void ServerProcess::kill() {
  process_->signal(SIGKILL);
  frozen_.reset();
  static_cast<void>(process_->wait(Deadline::in(milliseconds(10000))));
}

int ServerProcess::terminate() { return process_->end(milliseconds(30000)); }
void ServerProcess::freeze() { frozen_ = std::make_unique<FrozenProcesses>(std::vector<pid_t>{pid()}); }
void ServerProcess::resume() { frozen_.reset(); }
std::vector<pid_t> ServerProcess::family() const {
  // Its folder stands in the command line of each of them, and of no other process.
  return processesWith(dataDir_);
}

void ServerProcess::killFamily() {
  for (const pid_t member : family()) {
    ::kill(member, SIGKILL);
  }
  kill();
}

void ServerProcess::freezeFamily() { frozen_ = std::make_unique<FrozenProcesses>(family()); }
std::string ServerProcess::log() const { return fileText(folder_.file("server.log")); }
void ServerProcess::nap() { std::this_thread::sleep_for(milliseconds(20)); }

HttpReply ServerProcess::get(const std::string& path, const HttpHeaders& headers) const {
  return http(port_, "GET", path, headers);
}

HttpReply ServerProcess::admin(const std::string& method, const std::string& path,
                               const std::string& body) const {
  return http(port_, method, path, {{"Authorization", std::string("Bearer ") + kAdminToken}}, body);
}

HttpReply ServerProcess::order(std::int64_t voucher, std::int64_t user, const std::string& body) const {
  return http(port_, "POST", "/api/v1/vouchers/" + std::to_string(voucher) + "/orders",
              {{"X-User-Id", std::to_string(user)}}, body);
}

void ServerProcess::createVoucher(std::int64_t id, std::int64_t stock, int limitPerUser) const {
  const auto created = command({"voucher", "create", "--id", std::to_string(id), "--title", "Test voucher",
                                "--stock", std::to_string(stock), "--limit", std::to_string(limitPerUser),
                                "--begin", "-1h", "--end", "+1h", "--load"});
  if (created.exitCode != 0) throw std::runtime_error("voucher create: " + created.output);
}

ServerProcess::CommandResult ServerProcess::command(const std::vector<std::string>& arguments) const {
  const TempFolder out;
  ChildOptions options;
  options.arguments = commandLine(arguments);
  options.outputFile = out.file("output");
  auto started = ChildProcess::start(options);
  if (!started) throw std::runtime_error(started.error().text);
  const auto code = started.value()->wait(Deadline::in(milliseconds(60000)));
  return {code.value_or(-1), fileText(options.outputFile)};
}

}  // namespace sluice::test
