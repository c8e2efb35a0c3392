// ShortCache: texts that may be a fraction of a second old, so that many readers cost one question.
//
// Threads:  every call from any thread; one short lock.
// Limits:   at most limits::kBoardEntriesMax entries; when full, all are forgotten.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "sluice/clock.h"

#include "server_limits.h"

namespace sluice::server {

class ShortCache {
 public:
  explicit ShortCache(const Clock& clock) noexcept : clock_(clock) {}

  // Copies the text into `out` if it is young enough.
  [[nodiscard]] bool get(std::string_view key, std::string& out) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || clock_.steady() - found->second.made > limits::kBoardAge) return false;
    out = found->second.text;
    return true;
  }

  void put(std::string_view key, std::string text) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= limits::kBoardEntriesMax) entries_.clear();
    entries_.insert_or_assign(std::string(key), Entry{std::move(text), clock_.steady()});
  }

 private:
  struct Entry {
    std::string text;
    SteadyTime made;
  };
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace sluice::server
