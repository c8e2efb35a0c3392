// See private_rabbitmq.h.
#include "support/private_rabbitmq.h"

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "support/effort.h"
#include "support/free_port.h"

namespace sluice::test {

namespace {

const milliseconds kUpWithin = scaled(milliseconds(60000));
const milliseconds kAnswerWithin = scaled(milliseconds(15000));

// Whether it is up and every quorum queue has its leader.
constexpr const char* kIsReady =
    "rabbit:is_running() andalso lists:all(fun(Q) -> {N, _} = amqqueue:get_pid(Q),"
    " ra_leaderboard:lookup_leader(N) =/= undefined end,"
    " [Q || Q <- rabbit_amqqueue:list(), amqqueue:get_type(Q) =:= rabbit_quorum_queue]).";

// Reads expressions, one a line, has the broker evaluate them, and prints each value on a line.
constexpr const char* kShell =
    "N = list_to_atom(os:getenv(\"RABBITMQ_NODENAME\")),"
    "F = fun(F) -> case io:get_line(\"\") of eof -> halt(0); L ->"
    " R = try {ok,T,_}=erl_scan:string(L), {ok,E}=erl_parse:parse_exprs(T),"
    "  case rpc:call(N, erl_eval, exprs, [E, []]) of {value,V,_} -> V; X -> X end"
    "  catch A:B -> {A,B} end,"
    " io:format(\"~0p~n\", [R]), F(F) end end, F(F).";

std::string queueNamed(const std::string& name) {
  return "rabbit_misc:r(<<\"/\">>, queue, <<\"" + name + "\">>)";
}

}  // namespace

PrivateRabbitmq::PrivateRabbitmq(const std::optional<RabbitmqTls>& tls)
    : node_("sluice" + std::to_string(::getpid()) + "@localhost"),
      port_(freePort()),
      distributionPort_(freePort()),
      mapperPort_(freePort()) {
  ::signal(SIGPIPE, SIG_IGN);  // what the program does at its start
  std::ofstream configuration(folder_.file("rabbitmq.conf"));
  configuration << "listeners.tcp.1 = 127.0.0.1:" << port_ << "\n"
                << "log.console = false\n"
                << "disk_free_limit.absolute = 1MB\n";
  if (tls) {
    tlsPort_ = freePort();
    configuration << "listeners.ssl.1 = 127.0.0.1:" << tlsPort_ << "\n"
                  << "ssl_options.cacertfile = " << tls->authority << "\n"
                  << "ssl_options.certfile = " << tls->certificate << "\n"
                  << "ssl_options.keyfile = " << tls->key << "\n"
                  << "ssl_options.verify = verify_peer\n"
                  << "ssl_options.fail_if_no_peer_cert = true\n";
  }
  configuration.close();
  std::ofstream(folder_.file("plugins")) << "[].\n";
  startMapper();
  start();
}

PrivateRabbitmq::~PrivateRabbitmq() {
  frozen_.reset();
  for (auto* process : {&shell_, &server_, &mapper_}) {
    if (*process) (*process)->signal(SIGKILL);
  }
  if (toShell_ >= 0) ::close(toShell_);
}

ChildOptions PrivateRabbitmq::optionsFor(const std::vector<std::string>& arguments) const {
  ChildOptions options;
  options.arguments = arguments;
  options.directory = folder_.path();  // where Erlang leaves what it writes when it crashes
  options.deathSignal = SIGKILL;
  options.environment = {
      {"HOME", folder_.path()},
      {"RABBITMQ_NODENAME", node_},
      {"RABBITMQ_NODE_PORT", std::to_string(port_)},
      {"RABBITMQ_DIST_PORT", std::to_string(distributionPort_)},
      {"RABBITMQ_MNESIA_BASE", folder_.file("data")},
      {"RABBITMQ_LOG_BASE", folder_.file("log")},
      {"RABBITMQ_ENABLED_PLUGINS_FILE", folder_.file("plugins")},
      {"RABBITMQ_CONFIG_FILE", folder_.file("rabbitmq")},
      {"RUNNING_UNDER_SYSTEMD", "true"},  // the script becomes the broker, without a parent
      {"ERL_EPMD_PORT", std::to_string(mapperPort_)},
      {"ERL_EPMD_ADDRESS", "127.0.0.1"}};
  return options;
}

void PrivateRabbitmq::startMapper() {
  ChildOptions options = optionsFor({"epmd", "-port", std::to_string(mapperPort_), "-address", "127.0.0.1"});
  options.outputFile = folder_.file("epmd.log");
  auto started = ChildProcess::start(options);
  if (!started) throw std::runtime_error(started.error().text);
  mapper_ = std::move(started).take();
}

void PrivateRabbitmq::start() {
  ChildOptions options = optionsFor({"/usr/lib/rabbitmq/bin/rabbitmq-server"});
  options.outputFile = folder_.file("rabbitmq.log");
  auto started = ChildProcess::start(options);
  if (!started) throw std::runtime_error(started.error().text);
  server_ = std::move(started).take();
  const Deadline deadline = Deadline::in(kUpWithin);
  while (!deadline.passed() && !server_->poll()) {
    if (!shell_ && std::ifstream(folder_.file(".erlang.cookie"))) startShell();
    if (shell_ && evaluate(kIsReady) == "true") return;
    std::this_thread::sleep_for(milliseconds(100));
  }
  throw std::runtime_error("RabbitMQ does not come up (" + evaluate(kIsReady) + "); see " +
                           options.outputFile);
}

void PrivateRabbitmq::startShell() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  ChildOptions options =
      optionsFor({"/bin/sh", "-c",
                  "exec erl -noshell -hidden -sname shell" + std::to_string(::getpid()) +
                      "@localhost -eval \"$SLUICETEST_SHELL\" <&" + std::to_string(ends[0])});
  options.environment.emplace_back("SLUICETEST_SHELL", kShell);
  options.outputPipe = true;
  options.keepOpen = {ends[0]};
  auto started = ChildProcess::start(options);
  ::close(ends[0]);
  toShell_ = ends[1];
  if (!started) throw std::runtime_error(started.error().text);
  shell_ = std::move(started).take();
}

std::string PrivateRabbitmq::readLine(Deadline deadline) {
  while (true) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd watched{shell_->output(), POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(deadline.remaining().count())) <= 0) return "no answer";
    char buffer[4096];
    const auto got = ::read(shell_->output(), buffer, sizeof buffer);
    if (got <= 0) return "the shell ended";
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string PrivateRabbitmq::evaluate(const std::string& expression) {
  const std::string line = expression + "\n";
  if (::write(toShell_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "no shell";
  return readLine(Deadline::in(kAnswerWithin));
}

void PrivateRabbitmq::deleteQueue(const std::string& name) {
  evaluate("case rabbit_amqqueue:lookup(" + queueNamed(name) +
           ") of {ok, Q} -> rabbit_amqqueue:delete(Q, false, false, <<\"test\">>); _ -> gone end.");
}

void PrivateRabbitmq::purgeQueue(const std::string& name) {
  evaluate("case rabbit_amqqueue:lookup(" + queueNamed(name) +
           ") of {ok, Q} -> rabbit_amqqueue:purge(Q); _ -> gone end.");
}

void PrivateRabbitmq::declareClassicQueue(const std::string& name) {
  evaluate("rabbit_amqqueue:declare(" + queueNamed(name) + ", true, false, [], none, <<\"test\">>).");
}

void PrivateRabbitmq::setMemoryFull(bool full) {
  evaluate(std::string("vm_memory_monitor:set_vm_memory_high_watermark(") + (full ? "0.00001" : "0.4") +
           ").");
}

void PrivateRabbitmq::kill() {
  // RabbitMQ 3.10 keeps the list of its quorum queues in tables that it writes some seconds late: a queue declared
  // just before a crash stays without a leader for ever. That is not what a test wants to see.
  if (!frozen_) evaluate("[dets:sync(T) || T <- dets:all()].");
  server_->signal(SIGKILL);
  frozen_.reset();
  static_cast<void>(server_->wait(Deadline::in(kAnswerWithin)));
  server_.reset();
}

void PrivateRabbitmq::freeze() {
  frozen_ = std::make_unique<FrozenProcesses>(std::vector<pid_t>{server_->pid()});
}
void PrivateRabbitmq::resume() { frozen_.reset(); }

}  // namespace sluice::test
