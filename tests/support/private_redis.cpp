// See private_redis.h.
#include "support/private_redis.h"

#include <csignal>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "support/free_port.h"

namespace sluice::test {

PrivateRedis::PrivateRedis(std::vector<std::string> extra, RedisListens listens)
    : extra_(std::move(extra)), port_(listens == RedisListens::OnAPortToo ? freePort() : 0) {
  ::signal(SIGPIPE, SIG_IGN);  // what the program does at its start: hiredis writes with plain write()
  start();
}

PrivateRedis::~PrivateRedis() {
  if (server_) server_->signal(SIGKILL);
}

RedisTarget PrivateRedis::target() const {
  RedisTarget target;
  target.socketPath = folder_.file("r.sock");
  return target;
}

void PrivateRedis::start() {
  ChildOptions options;
  options.arguments = {"redis-server",
                       "--bind",
                       "127.0.0.1",
                       "--port",
                       std::to_string(port_),
                       "--unixsocket",
                       target().socketPath,
                       "--dir",
                       folder_.path(),
                       "--save",
                       "",
                       "--appendonly",
                       "yes",
                       "--appendfsync",
                       "always",
                       "--daemonize",
                       "no"};
  options.arguments.insert(options.arguments.end(), extra_.begin(), extra_.end());
  options.outputFile = folder_.file("redis.log");
  const Deadline deadline = Deadline::in(milliseconds(20000));
  while (!deadline.passed()) {
    // Again where it has ended: while it was down, somebody's outgoing connection may have got its port.
    if (!server_ || server_->poll()) {
      auto started = ChildProcess::start(options);
      if (!started) throw std::runtime_error(started.error().text);
      server_ = std::move(started).take();
    }
    auto connection = RedisConnection::connect(target(), deadline);
    if (connection && connection.value()->call({"PING"}, deadline)) return;
    std::this_thread::sleep_for(milliseconds(5));
  }
  throw std::runtime_error("redis-server does not answer; see " + options.outputFile);
}

void PrivateRedis::kill() {
  server_->signal(SIGKILL);
  frozen_.reset();
  static_cast<void>(server_->wait(Deadline::in(milliseconds(10000))));
}

void PrivateRedis::freeze() { frozen_ = std::make_unique<FrozenProcesses>(std::vector<pid_t>{pid()}); }
void PrivateRedis::resume() { frozen_.reset(); }

RedisReply PrivateRedis::command(const std::vector<std::string>& args) {
  const Deadline deadline = Deadline::in(milliseconds(10000));
  auto connection = RedisConnection::connect(target(), deadline);
  if (!connection) {
    ADD_FAILURE() << connection.error().text;
    return {};
  }
  const RedisArgs words(args.begin(), args.end());
  auto reply = connection.value()->call(words, deadline);
  if (!reply) {
    ADD_FAILURE() << args.at(0) << ": " << reply.error().text;
    return {};
  }
  return std::move(reply).take();
}

std::string PrivateRedis::text(const std::vector<std::string>& args) {
  return std::string(command(args).value().text());
}
std::int64_t PrivateRedis::number(const std::vector<std::string>& args) {
  return command(args).value().integer();
}

}  // namespace sluice::test
