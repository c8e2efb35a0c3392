// See private_database.h.
#include "sluice/private_database.h"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/printable.h"

namespace sluice {

namespace {

constexpr const char* kPostgresBin = "/usr/lib/postgresql/15/bin/";
constexpr milliseconds kClientWithin{60000};
constexpr std::size_t kOutputShown = 400;
constexpr milliseconds kBetweenLooks{30};
constexpr milliseconds kBetweenStarts{200};

// PostgreSQL refuses to run as root. The death signal must be set after the change of user, which clears it.
std::vector<std::string> asPostgres(std::vector<std::string> command) {
  if (geteuid() != 0) return command;
  std::vector<std::string> line = {"setpriv",        "--reuid=postgres", "--regid=postgres",
                                   "--clear-groups", "--pdeathsig=QUIT", "--"};
  line.insert(line.end(), command.begin(), command.end());
  return line;
}

// Runs a program to its end; answers what it wrote.
Result<std::string> runToEnd(const std::vector<std::string>& arguments) {
  ChildOptions options;
  options.arguments = arguments;
  options.outputFile = "/dev/null";
  options.outputPipe = true;
  auto child = ChildProcess::start(options);
  if (!child) return child.error();
  std::string output;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = ::read(child.value()->output(), buffer.data(), buffer.size())) > 0;) {
    output.append(buffer.data(), static_cast<std::size_t>(n));
  }
  const auto code = child.value()->wait(Deadline::in(kClientWithin));
  if (code == 0) return output;
  return {ErrorCode::Unavailable, arguments.front() + " ended with code " +
                                      std::to_string(code.value_or(-1)) + ": " +
                                      printable(output, kOutputShown)};
}

// Process and parent of everything that runs. What ends meanwhile is left out.
std::vector<std::pair<pid_t, pid_t>> allProcesses() {
  std::vector<std::pair<pid_t, pid_t>> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path() / "stat").rdbuf();
    const std::string line = text.str();
    const std::size_t behindName = line.rfind(')');
    if (behindName == std::string::npos) continue;
    std::istringstream fields(line.substr(behindName + 2));
    std::string state;
    pid_t parent = 0;
    if (fields >> state >> parent) all.emplace_back(std::stoi(name), parent);
  }
  return all;
}

std::vector<pid_t> treeOf(pid_t root) {
  std::vector<pid_t> tree = {root};
  const auto all = allProcesses();
  for (std::size_t k = 0; k < tree.size(); ++k) {
    for (const auto& [process, parent] : all) {
      if (parent == tree[k]) tree.push_back(process);
    }
  }
  return tree;
}

}  // namespace

Result<std::uint16_t> freePort() {
  const int trial = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool found = ::bind(trial, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(trial, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(trial);
  if (!found) return {ErrorCode::Unavailable, "no port is free on 127.0.0.1"};
  return ntohs(address.sin_port);
}

Result<std::unique_ptr<PrivateDatabase>> PrivateDatabase::start(const PrivateDatabaseOptions& options,
                                                                Deadline deadline) {
  std::unique_ptr<PrivateDatabase> database(new PrivateDatabase(options));
  if (Status made = database->makeFolder(); !made) return made.error();
  const auto port = freePort();
  if (!port) return port.error();
  database->port_ = port.value();
  if (Status made = database->makeData(); !made) return made.error().during("make a private database");
  if (Status started = database->startAgain(deadline); !started) return started.error();
  return database;
}

PrivateDatabase::~PrivateDatabase() {
  kill();
  std::error_code ignored;  // what cannot be removed lies below the temporary folder
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Status PrivateDatabase::makeFolder() {
  std::error_code error;
  const std::filesystem::path parent = options_.parent.empty() ? std::filesystem::temp_directory_path(error)
                                                               : std::filesystem::path(options_.parent);
  std::string path = (parent / "sluice-db-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr)
    return {ErrorCode::Misconfigured, path + ": no folder can be made there"};
  folder_ = path;
  if (options_.kind != DatabaseKind::Postgres || geteuid() != 0) return {};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): called at start, by the one owner
  const passwd* user = getpwnam("postgres");
  if (user == nullptr || ::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    return {ErrorCode::NotFound, "there is no user postgres; apt-get install postgresql"};
  }
  return {};
}

Status PrivateDatabase::makeData() const {
  const std::string data = folder_ + "/data";
  if (options_.kind == DatabaseKind::Postgres) {
    const auto made =
        runToEnd(asPostgres({std::string(kPostgresBin) + "initdb", "-D", data, "-A", "trust", "-U", "sluice",
                             "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"}));
    return made ? Status() : made.error();
  }
  const auto made = runToEnd({"mariadb-install-db", "--no-defaults", "--datadir=" + data,
                              "--tmpdir=" + folder_, "--user=" + std::to_string(geteuid()),
                              "--auth-root-authentication-method=normal", "--skip-test-db"});
  return made ? Status() : made.error();
}

std::string PrivateDatabase::socketPath() const {
  return options_.kind == DatabaseKind::Postgres ? folder_ + "/.s.PGSQL." + std::to_string(port_)
                                                 : folder_ + "/s.sock";
}

std::vector<std::string> PrivateDatabase::serverCommand() const {
  const std::string port = std::to_string(port_);
  std::vector<std::string> command;
  if (options_.kind == DatabaseKind::Postgres) {
    command = {std::string(kPostgresBin) + "postgres",
               "-D",
               folder_ + "/data",
               "-p",
               port,
               "-k",
               folder_,
               "-c",
               "listen_addresses=127.0.0.1",
               "-c",
               "max_connections=200",
               "-c",
               options_.synced ? "fsync=on" : "fsync=off"};
  } else {
    command = {"mariadbd", "--no-defaults", "--user=" + std::to_string(geteuid()),
               "--datadir=" + folder_ + "/data",
               // A MariaDB that starts removes every temporary table it finds, also one of another server.
               "--tmpdir=" + folder_, "--port=" + port, "--bind-address=127.0.0.1",
               "--socket=" + socketPath(), "--pid-file=" + folder_ + "/s.pid",
               options_.synced ? "--innodb-flush-log-at-trx-commit=1" : "--innodb-flush-log-at-trx-commit=2"};
    if (!options_.synced) command.insert(command.end(), {"--innodb-flush-method=nosync", "--sync-frm=0"});
  }
  command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
  return options_.kind == DatabaseKind::Postgres ? asPostgres(command) : command;
}

std::vector<std::pair<std::string, std::string>> PrivateDatabase::storeOptions(
    const std::string& dbname) const {
  if (options_.kind == DatabaseKind::Postgres) {
    return {{"host", folder_}, {"port", std::to_string(port_)}, {"user", "sluice"}, {"dbname", dbname}};
  }
  return {{"socket", socketPath()}, {"user", "root"}, {"dbname", dbname}};
}

std::vector<std::string> PrivateDatabase::client(const std::string& database) const {
  if (options_.kind == DatabaseKind::Postgres) {
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
            folder_,
            "-p",
            std::to_string(port_),
            "-U",
            "sluice",
            "-d",
            database};
  }
  return {"mariadb",     "--no-defaults", "--socket=" + socketPath(),
          "--user=root", "--batch",       "--skip-column-names",
          database};
}

std::vector<std::string> PrivateDatabase::clientCommand(const std::string& database,
                                                        const std::string& file) const {
  std::vector<std::string> command = client(database);
  if (options_.kind == DatabaseKind::Postgres) {
    command.insert(command.end(), {"-f", file});
  } else {
    command.push_back("--execute=source " + file);
  }
  return command;
}

Result<std::string> PrivateDatabase::query(const std::string& database, const std::string& sql) const {
  std::vector<std::string> command = client(database);
  if (options_.kind == DatabaseKind::Postgres) {
    command.insert(command.end(), {"-c", sql});
  } else {
    command.push_back("--execute=" + sql);
  }
  return runToEnd(command);
}

Status PrivateDatabase::createDatabase(const std::string& name) const {
  const bool postgres = options_.kind == DatabaseKind::Postgres;
  const auto made = query(postgres ? "postgres" : "mysql", "CREATE DATABASE " + name);
  return made ? Status() : made.error();
}

Status PrivateDatabase::dropDatabase(const std::string& name) const {
  const bool postgres = options_.kind == DatabaseKind::Postgres;
  const auto done = query(postgres ? "postgres" : "mysql",
                          "DROP DATABASE IF EXISTS " + name + (postgres ? " WITH (FORCE)" : ""));
  return done ? Status() : done.error();
}

// More than once, because the port may be taken for an instant: while the server was down, somebody's outgoing
// connection may have got it.
Status PrivateDatabase::startAgain(Deadline deadline) {
  while (true) {
    Status started = startOnce(deadline);
    if (started || deadline.passed() || started.error().code == ErrorCode::NotFound) return started;
    std::this_thread::sleep_for(kBetweenStarts);
  }
}

Status PrivateDatabase::startOnce(Deadline deadline) {
  ChildOptions options;
  options.arguments = serverCommand();
  options.outputFile = folder_ + "/server.log";
  auto started = ChildProcess::start(options);
  if (!started) return started.error();
  server_ = std::move(started).take();
  while (!server_->poll()) {
    if (query(options_.kind == DatabaseKind::Postgres ? "postgres" : "mysql", "SELECT 1")) return {};
    if (deadline.passed()) break;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return {ErrorCode::Unavailable, "the database server does not answer; see " + options.outputFile};
}

void PrivateDatabase::signalAll(int number) noexcept {
  if (!server_ || server_->poll()) return;
  for (const pid_t process : treeOf(server_->pid())) {
    ::kill(process, number);
  }
}

void PrivateDatabase::kill() noexcept {
  signalAll(SIGKILL);
  if (server_) static_cast<void>(server_->wait(Deadline::in(kClientWithin)));
}

void PrivateDatabase::freeze() noexcept { signalAll(SIGSTOP); }
void PrivateDatabase::resume() noexcept { signalAll(SIGCONT); }

}  // namespace sluice
