// See database_server.h.
#include "support/database_server.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "support/free_port.h"

namespace sluice::test {
namespace {

constexpr const char* kPostgresBin = "/usr/lib/postgresql/15/bin/";

// PostgreSQL refuses to run as root. The death signal must be set after the change of user, which clears it.
std::vector<std::string> asPostgres(std::vector<std::string> command) {
  if (geteuid() != 0) return command;
  std::vector<std::string> line = {"setpriv",        "--reuid=postgres", "--regid=postgres",
                                   "--clear-groups", "--pdeathsig=QUIT", "--"};
  line.insert(line.end(), command.begin(), command.end());
  return line;
}

// All processes below `parent`, itself included. A process that ends meanwhile is left out.
std::vector<pid_t> treeOf(pid_t parent) {
  std::vector<pid_t> tree = {parent};
  std::vector<std::pair<pid_t, pid_t>> all;  // process, parent
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    const std::string line((std::istreambuf_iterator<char>(stat)), {});
    if (line.rfind(')') == std::string::npos) continue;
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::string state;
    pid_t above = 0;
    if (fields >> state >> above) all.emplace_back(std::stoi(name), above);
  }
  for (std::size_t k = 0; k < tree.size(); ++k) {
    for (const auto& [process, above] : all) {
      if (above == tree[k]) tree.push_back(process);
    }
  }
  return tree;
}

}  // namespace

DatabaseServer::DatabaseServer() : port_(freePort()) {}

DatabaseServer::~DatabaseServer() {
  if (server_) kill();
}

void DatabaseServer::begin() {
  ::signal(SIGPIPE, SIG_IGN);
  start();
}

std::string DatabaseServer::run(const std::vector<std::string>& arguments) {
  ChildOptions options;
  options.arguments = arguments;
  options.outputFile = "/dev/null";
  options.outputPipe = true;
  auto child = ChildProcess::start(options);
  if (!child) throw std::runtime_error(child.error().text);
  std::string output;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(child.value()->output(), buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<std::size_t>(n));
  }
  const auto code = child.value()->wait(Deadline::in(milliseconds(60000)));
  if (code != 0) throw std::runtime_error(arguments.front() + " fails: " + output);
  return output;
}

std::string DatabaseServer::query(const std::string& database, const std::string& sql) {
  try {
    return run(clientCommand(database, sql));
  } catch (const std::runtime_error& error) {
    ADD_FAILURE() << sql << ": " << error.what();
    return {};
  }
}

void DatabaseServer::createDatabase(const std::string& name) {
  static_cast<void>(query(anyDatabase(), createStatement(name)));
}

void DatabaseServer::dropDatabase(const std::string& name) {
  static_cast<void>(query(anyDatabase(), dropStatement(name)));
}

bool DatabaseServer::answers() const {
  try {
    static_cast<void>(run(clientCommand(anyDatabase(), "SELECT 1")));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

void DatabaseServer::start() {
  ChildOptions options;
  options.arguments = serverCommand();
  options.outputFile = folder_.file("server.log");
  auto started = ChildProcess::start(options);
  if (!started) throw std::runtime_error(started.error().text);
  server_ = std::move(started).take();
  const Deadline deadline = Deadline::in(milliseconds(60000));
  while (!deadline.passed() && !server_->poll()) {
    if (answers()) return;
    std::this_thread::sleep_for(milliseconds(50));
  }
  throw std::runtime_error("the database server does not answer; see " + options.outputFile);
}

void DatabaseServer::signalAll(int number) {
  for (const pid_t process : treeOf(server_->pid())) {
    ::kill(process, number);
  }
}

void DatabaseServer::kill() {
  signalAll(SIGKILL);
  static_cast<void>(server_->wait(Deadline::in(milliseconds(20000))));
}

void DatabaseServer::freeze() { signalAll(SIGSTOP); }
void DatabaseServer::resume() { signalAll(SIGCONT); }

PrivatePostgres::PrivatePostgres() {
  if (const passwd* user = geteuid() == 0 ? getpwnam("postgres") : nullptr; user != nullptr) {
    if (::chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) != 0) {
      throw std::runtime_error("cannot give " + folder_.path() + " to the user postgres");
    }
  }
  run(asPostgres({std::string(kPostgresBin) + "initdb", "-D", folder_.file("data"), "-A", "trust", "-U",
                  "sluice", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"}));
  begin();
}

// Without fsync: what the machine's power may take is not the subject here, a killed server loses nothing.
std::vector<std::string> PrivatePostgres::serverCommand() const {
  return asPostgres({std::string(kPostgresBin) + "postgres", "-D", folder_.file("data"), "-p",
                     std::to_string(port_), "-k", folder_.path(), "-c", "listen_addresses=127.0.0.1", "-c",
                     "fsync=off", "-c", "max_connections=200"});
}

std::vector<std::string> PrivatePostgres::clientCommand(const std::string& database,
                                                        const std::string& sql) const {
  return {"psql",
          "-X",
          "-q",
          "-A",
          "-t",
          "-F",
          "\t",
          "-v",
          "ON_ERROR_STOP=1",
          "-h",
          folder_.path(),
          "-p",
          std::to_string(port_),
          "-U",
          "sluice",
          "-d",
          database,
          "-c",
          sql};
}

std::string PrivatePostgres::createStatement(const std::string& name) const {
  return "CREATE DATABASE " + name;
}

std::string PrivatePostgres::dropStatement(const std::string& name) const {
  return "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)";
}

PrivateMariadb::PrivateMariadb() {
  run({"mariadb-install-db", "--no-defaults", "--datadir=" + folder_.file("data"), "--user=root",
       "--auth-root-authentication-method=normal", "--skip-test-db"});
  begin();
}

// The log is written at each commit and synced every second: a killed server loses nothing.
std::vector<std::string> PrivateMariadb::serverCommand() const {
  return {"mariadbd",
          "--no-defaults",
          "--user=root",
          "--datadir=" + folder_.file("data"),
          "--port=" + std::to_string(port_),
          "--bind-address=127.0.0.1",
          "--socket=" + socketPath(),
          "--pid-file=" + folder_.file("s.pid"),
          "--innodb-flush-log-at-trx-commit=2",
          "--innodb-flush-method=nosync",
          "--sync-frm=0",
          "--character-set-server=latin1",
          "--default-time-zone=-07:00"};
}

std::vector<std::string> PrivateMariadb::clientCommand(const std::string& database,
                                                       const std::string& sql) const {
  return {"mariadb",     "--no-defaults",   "--socket=" + socketPath(),
          "--user=root", "--batch",         "--skip-column-names",
          database,      "--execute=" + sql};
}

std::string PrivateMariadb::createStatement(const std::string& name) const {
  return "CREATE DATABASE " + name;
}

std::string PrivateMariadb::dropStatement(const std::string& name) const {
  return "DROP DATABASE IF EXISTS " + name;
}

}  // namespace sluice::test
