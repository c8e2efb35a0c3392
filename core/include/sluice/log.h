// Log: the narrow door through which core and plugins write lines for people.
//
// Role:     the program gives one Log to everything; its implementation (program_log.h) hands lines to an
//           asynchronous writer.
// Threads:  every call from any thread; never blocks on the writer (lines beyond its buffer are dropped and
//           counted).
// Limits:   a line is cut at 1 KiB; control characters are escaped. Callers put no secrets and no personal
//           data (user ids, keys) in a line; order and voucher ids may appear. There is no line per refused
//           request.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

class Log {
 public:
  virtual ~Log();
  [[nodiscard]] virtual bool enabled(LogLevel level) const noexcept = 0;
  // `component` is a short fixed word: "queue_stream", "gate".
  virtual void write(LogLevel level, std::string_view component, std::string_view text) noexcept = 0;
  // For places that a loop can reach: of the lines with one `topic` (fixed text) only the first in ten
  // seconds is written; the next one written says how many were left out.
  virtual void repeated(LogLevel level, std::string_view component, std::string_view topic,
                        std::string_view text) noexcept = 0;

  void info(std::string_view component, std::string_view text) noexcept {
    write(LogLevel::Info, component, text);
  }
  void warning(std::string_view component, std::string_view text) noexcept {
    write(LogLevel::Warning, component, text);
  }
  void error(std::string_view component, std::string_view text) noexcept {
    write(LogLevel::Error, component, text);
  }
};

// Discards everything.
[[nodiscard]] Log& noLog() noexcept;

}  // namespace sluice
