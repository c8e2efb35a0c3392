// What a process takes of the machine, from /proc: for tests that nothing leaks and nothing works in vain.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace sluice::test {

struct Footprint {
  double cpuSeconds = 0;
  std::int64_t memoryKiB = 0;  // resident
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;
};

[[nodiscard]] Footprint footprintOf(pid_t process);
[[nodiscard]] Footprint footprint();  // ours

// A sanitizer keeps what was freed, so its memory says nothing of ours.
[[nodiscard]] bool memoryCounts();

}  // namespace sluice::test
