// A log that counts what reaches it, by topic, and keeps the last text of each.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "sluice/log.h"

namespace sluice::test {

// `repeated` is bounded by the log behind it, not by this one: calls are counted, not lines.
class CountingLog final : public Log {
 public:
  bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel, std::string_view, std::string_view text) noexcept override { note("", text); }
  void repeated(LogLevel, std::string_view, std::string_view topic, std::string_view text) noexcept override {
    note(std::string(topic), text);
  }
  // Lines of no topic are counted under "".
  [[nodiscard]] std::size_t topic(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = topics_.find(name);
    return found == topics_.end() ? 0 : found->second.count;
  }
  [[nodiscard]] std::size_t calls() const {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto& [name, topic] : topics_)
      sum += topic.count;
    return sum;
  }
  // The last text of every topic, one a line.
  [[nodiscard]] std::string texts() const {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const auto& [name, topic] : topics_)
      all += topic.last + "\n";
    return all;
  }

 private:
  struct Topic {
    std::size_t count = 0;
    std::string last;
  };
  void note(const std::string& name, std::string_view text) {
    const std::lock_guard lock(mutex_);
    Topic& topic = topics_[name];
    ++topic.count;
    topic.last = text;
  }
  mutable std::mutex mutex_;
  std::map<std::string, Topic> topics_;
};

}  // namespace sluice::test
