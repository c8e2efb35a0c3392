// Lets one line a topic through in ten seconds, and counts the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"

namespace sluice {

// Threads: any. Topics are fixed texts, so there are few; beyond 256 the one written longest ago is
// forgotten.
class RepeatedLines {
 public:
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr std::size_t kTopicsMax = 256;

  // How many lines of the topic were left out since the last one, if this one is to be written.
  [[nodiscard]] std::optional<std::uint64_t> admit(std::string_view topic, SteadyTime now);

 private:
  struct Topic {
    SteadyTime written;
    std::uint64_t leftOut = 0;
  };
  void forgetOldest();

  std::mutex mutex_;
  std::map<std::string, Topic, std::less<>> topics_;  // guarded by mutex_
};

}  // namespace sluice
