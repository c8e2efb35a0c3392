// Keeps for each topic when it was written last and what was left out since.
#include "log/repeated_lines.h"

#include <algorithm>

namespace sluice {

std::optional<std::uint64_t> RepeatedLines::admit(std::string_view topic, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  const auto known = topics_.find(topic);
  if (known == topics_.end()) {
    if (topics_.size() >= kTopicsMax) forgetOldest();
    topics_.emplace(topic, Topic{now, 0});
    return 0;
  }
  Topic& entry = known->second;
  if (now - entry.written < kWindow) {
    ++entry.leftOut;
    return std::nullopt;
  }
  const std::uint64_t leftOut = entry.leftOut;
  entry = Topic{now, 0};
  return leftOut;
}

void RepeatedLines::forgetOldest() {
  topics_.erase(std::min_element(topics_.begin(), topics_.end(), [](const auto& a, const auto& b) {
    return a.second.written < b.second.written;
  }));
}

}  // namespace sluice
