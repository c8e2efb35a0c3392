// The Log of the program over spdlog's asynchronous logger; nothing of it is registered globally.
#include "sluice/program_log.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/printable.h"

#include "log/descriptor_sink.h"
#include "log/repeated_lines.h"

namespace sluice {

namespace {

constexpr std::size_t kLinesMax = 4096;        // 2 MiB; a burst of errors from every thread fits
constexpr std::size_t kLineBytesMax = 1024;    // below PIPE_BUF, so that lines of several processes never mix
constexpr std::chrono::seconds kEndWithin{2};  // a service manager waits longer than that

spdlog::level::level_enum levelOf(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      break;
  }
  return spdlog::level::err;
}

// Signals are for threads that know what to do; a reader that went away (SIGPIPE) shows as an error of write.
void blockSignals() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

// A pipe is opened anew, because O_NONBLOCK on a shared one would change it for everybody who writes there.
int openStandardError() noexcept {
  struct stat status {};
  if (::fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode)) {
    const int own = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (own >= 0) return own;
  }
  return ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

int openFile(const std::string& path) noexcept {
  constexpr mode_t kMode = 0640;
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, kMode);
}

class SpdLog final : public ProgramLog {
 public:
  SpdLog(LogLevel level, int descriptor, const Clock& clock)
      : level_(level),
        clock_(clock),
        owner_(::getpid()),
        pool_(std::make_shared<spdlog::details::thread_pool>(kLinesMax, 1, blockSignals)),
        sink_(std::make_shared<DescriptorSink>(descriptor,
                                               [pool = pool_.get()] { return pool->overrun_counter(); })),
        logger_(std::make_shared<spdlog::async_logger>("sluice", sink_, pool_,
                                                       spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_level(spdlog::level::trace);
    logger_->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                                                                       spdlog::pattern_time_type::utc, "\n"));
    logger_->set_error_handler(
        [this](const std::string&) { failed_.fetch_add(1, std::memory_order_relaxed); });
  }

  ~SpdLog() override {
    if (inForkedChild()) {
      keepForEver();
      return;
    }
    sink_->endBy(std::chrono::steady_clock::now() + kEndWithin);
    logger_.reset();
    pool_.reset();  // writes what waits and joins the writer
  }

  SpdLog(const SpdLog&) = delete;
  SpdLog& operator=(const SpdLog&) = delete;

  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level >= level_; }

  void write(LogLevel level, std::string_view component, std::string_view text) noexcept override {
    if (enabled(level) && !inForkedChild()) put(level, component, text, {});
  }

  void repeated(LogLevel level, std::string_view component, std::string_view topic,
                std::string_view text) noexcept override {
    if (!enabled(level) || inForkedChild()) return;
    try {
      const auto leftOut = repeated_.admit(topic, clock_.steady());
      if (!leftOut) return;
      put(level, component, text,
          *leftOut == 0 ? "" : " (" + std::to_string(*leftOut) + " more like it were left out)");
    } catch (const std::exception&) {
      failed_.fetch_add(1,
                        std::memory_order_relaxed);  // out of memory: this line is lost, the caller goes on
    }
  }

  [[nodiscard]] std::uint64_t dropped() const noexcept override {
    if (inForkedChild()) return 0;
    return pool_->overrun_counter() + sink_->lost() + failed_.load(std::memory_order_relaxed);
  }

 private:
  void put(LogLevel level, std::string_view component, std::string_view text,
           std::string_view suffix) noexcept {
    try {
      std::string line;
      line.reserve(kLineBytesMax);
      appendPrintable(line, component, kLineBytesMax / 8);
      line += ": ";
      appendPrintable(line, text, kLineBytesMax - suffix.size());
      line += suffix;
      logger_->log(levelOf(level), spdlog::string_view_t(line));
    } catch (const std::exception&) {
      failed_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  [[nodiscard]] bool inForkedChild() const noexcept { return ::getpid() != owner_; }

  // The writer does not exist in a forked child, so nobody may wait for it there.
  void keepForEver() noexcept {
    using Pool = std::shared_ptr<spdlog::details::thread_pool>;
    alignas(Pool) static std::array<std::byte, sizeof(Pool)> kept;
    ::new (static_cast<void*>(kept.data())) Pool(std::move(pool_));
  }

  const LogLevel level_;
  const Clock& clock_;
  const pid_t owner_;
  std::atomic<std::uint64_t> failed_{0};
  RepeatedLines repeated_;
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<DescriptorSink> sink_;
  std::shared_ptr<spdlog::async_logger> logger_;
};

}  // namespace

Result<std::unique_ptr<ProgramLog>> makeProgramLog(LogLevel level, const std::string& path,
                                                   const Clock& clock) {
  const int descriptor = path.empty() ? openStandardError() : openFile(path);
  if (descriptor < 0) {
    const std::string target = path.empty() ? "standard error" : "log.file " + printable(path, 300);
    return {ErrorCode::Misconfigured,
            target + " cannot be opened: " + std::generic_category().message(errno)};
  }
  return std::unique_ptr<ProgramLog>(std::make_unique<SpdLog>(level, descriptor, clock));
}

LogLevel logLevelOf(std::string_view name) noexcept {
  if (name == "debug") return LogLevel::Debug;
  if (name == "warning") return LogLevel::Warning;
  return name == "error" ? LogLevel::Error : LogLevel::Info;
}

}  // namespace sluice
