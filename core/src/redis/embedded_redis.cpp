// The keeper thread behind EmbeddedRedis: takes the lock and runs the server, or watches whoever holds it.
//
// The lock is a flock on <dataDir>/redis/lock. The server inherits the locked descriptor, so the folder stays
// locked until the server itself is gone: after a killed owner nobody starts a second server beside one that
// is still writing its last bytes.
#include "sluice/embedded_redis.h"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/child_process.h"

namespace sluice {

namespace {

// sun_path holds 108 bytes with its terminator.
constexpr std::size_t kSocketPathMax = 107;
constexpr milliseconds kWatchEvery{50};
constexpr milliseconds kRestartPauseMax{2000};

class Keeper final : public EmbeddedRedis {
 public:
  Keeper(const EmbeddedRedisOptions& options, Log& log)
      : options_(options), log_(log), folder_(options.dataDir + "/redis") {
    target_.socketPath = socketPath(options.dataDir);
    target_.connectTimeout = milliseconds(500);
    target_.clientName = "sluice-keeper";
  }

  ~Keeper() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (lockFile_ >= 0) close(lockFile_);
  }

  Status run(Deadline deadline) {
    if (auto made = prepareFolder(); !made) return made.error();
    thread_ = std::thread([this] { keep(); });
    std::unique_lock lock(mutex_);
    const bool answered =
        changed_.wait_until(lock, deadline.at(), [this] { return up_ || failure_.has_value(); });
    if (up_) return {};
    if (answered) return *failure_;
    return {ErrorCode::Unavailable,
            "the embedded redis-server does not answer on " + target_.socketPath + "; see " + logFile()};
  }

  int serverPid() const noexcept override { return serverPid_.load(); }

 private:
  std::string logFile() const { return folder_ + "/redis.log"; }

  Status prepareFolder() {
    if (target_.socketPath.size() > kSocketPathMax) {
      return {ErrorCode::Misconfigured,
              "data.dir: the path is too long for a unix socket: " + target_.socketPath + " has " +
                  std::to_string(target_.socketPath.size()) + " bytes, at most 107 are possible"};
    }
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (!failed) std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, failed);
    const std::string lockPath = folder_ + "/lock";
    if (!failed) lockFile_ = open(lockPath.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (failed || lockFile_ < 0) {
      const std::string why = failed ? failed.message() : std::generic_category().message(errno);
      return {ErrorCode::Misconfigured, "data.dir: cannot use " + folder_ + ": " + why};
    }
    return {};
  }

  // The thread that starts the server must live as long as the server does (see child_process.h), so all of
  // it happens here.
  void keep() {
    std::uint32_t failures = 0;
    while (!stopping()) {
      if (server_) {
        watchServer(failures);
      } else if (mayLaunch() && flock(lockFile_, LOCK_EX | LOCK_NB) == 0) {
        launch(failures);
      } else if (!isUp() && answers()) {
        markUp();  // attached to the server of another command
      }
      pause(kWatchEvery);
    }
    if (server_) {
      server_->end(milliseconds(10000));
      server_.reset();
    }
  }

  void launch(std::uint32_t& failures) {
    ChildOptions child;
    child.arguments = {"redis-server",
                       "--port",
                       "0",
                       "--unixsocket",
                       target_.socketPath,
                       "--unixsocketperm",
                       "700",
                       "--dir",
                       folder_,
                       "--save",
                       "",
                       "--appendonly",
                       "yes",
                       "--appendfsync",
                       options_.appendFsync,
                       "--maxmemory-policy",
                       "noeviction",
                       "--daemonize",
                       "no",
                       "--logfile",
                       logFile()};
    child.outputFile = logFile();
    child.keepOpen = {lockFile_};
    auto started = ChildProcess::start(child);
    if (!started) {
      flock(lockFile_, LOCK_UN);
      const bool missing = started.error().code == ErrorCode::NotFound;
      fail(missing
               ? Error{ErrorCode::NotFound, "redis.embedded needs redis-server: apt-get install redis-server"}
               : started.error());
      pause(retryPause(++failures));
      return;
    }
    server_ = std::move(started).take();
    serverPid_ = server_->pid();
  }

  void watchServer(std::uint32_t& failures) {
    if (const auto code = server_->poll()) {
      log_.repeated(
          LogLevel::Error, "embedded_redis", "server ended",
          "the embedded redis-server ended with code " + std::to_string(*code) + "; see " + logFile());
      server_.reset();
      serverPid_ = 0;
      flock(lockFile_, LOCK_UN);
      if (++failures > 3 || !options_.supervise) {
        fail({ErrorCode::Unavailable, "the embedded redis-server ends by itself; see " + logFile()});
      }
      pause(retryPause(failures));
    } else if (!isUp() || failures > 0) {
      if (answers()) {
        failures = 0;
        markUp();
      }
    }
  }

  // A command that was attached and has lost its server does not start one of its own: what it asked for is
  // done or not.
  bool mayLaunch() const { return options_.supervise || !isUp(); }

  bool answers() const {
    const Deadline soon = Deadline::in(milliseconds(500));
    auto connection = RedisConnection::connect(target_, soon);
    return connection.ok() && connection.value()->call({"PING"}, soon).ok();
  }

  milliseconds retryPause(std::uint32_t failures) const {
    return std::min(kRestartPauseMax, milliseconds(50) * (1 << std::min(failures, 6u)));
  }

  void markUp() {
    const std::lock_guard lock(mutex_);
    up_ = true;
    changed_.notify_all();
  }
  bool isUp() const {
    const std::lock_guard lock(mutex_);
    return up_;
  }
  void fail(Error error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
    changed_.notify_all();
  }
  bool stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }
  void pause(milliseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return stopping_; });
  }

  const EmbeddedRedisOptions options_;
  Log& log_;
  const std::string folder_;
  RedisTarget target_;
  int lockFile_ = -1;
  std::unique_ptr<ChildProcess> server_;  // of the keeper thread
  std::atomic<int> serverPid_{0};
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool up_ = false;  // guarded by mutex_, as is all below
  std::optional<Error> failure_;
  bool stopping_ = false;
};

}  // namespace

EmbeddedRedis::~EmbeddedRedis() = default;

std::string EmbeddedRedis::socketPath(const std::string& dataDir) { return dataDir + "/redis/redis.sock"; }

Result<std::unique_ptr<EmbeddedRedis>> EmbeddedRedis::start(const EmbeddedRedisOptions& options, Log& log,
                                                            Deadline deadline) {
  auto keeper = std::make_unique<Keeper>(options, log);
  if (auto running = keeper->run(deadline); !running) return running.error();
  return std::unique_ptr<EmbeddedRedis>(std::move(keeper));
}

}  // namespace sluice
