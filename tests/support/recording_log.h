// A Log that keeps every line, for tests of what is told and what is not.
#pragma once

#include <mutex>
#include <string>

#include "sluice/log.h"

namespace sluice::test {

class RecordingLog final : public Log {
 public:
  [[nodiscard]] bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel, std::string_view component, std::string_view text) noexcept override {
    const std::lock_guard lock(mutex_);
    text_.append(component).append(": ").append(text).append("\n");
  }
  void repeated(LogLevel level, std::string_view component, std::string_view topic,
                std::string_view text) noexcept override {
    write(level, component, std::string(topic) + ": " + std::string(text));
  }
  // All lines so far.
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace sluice::test
