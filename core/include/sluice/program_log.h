// ProgramLog: the program's Log, written by a thread of its own to standard error or a file.
//
// Role:     one for a process, made by System; tests and tools may make their own.
// Lines:    "2026-11-30T14:25:00.123Z warning queue_stream: text", UTC, one write each.
// Threads:  every call from any thread. A caller never waits for the writer: where 4096 lines wait already,
//           the oldest is dropped; the next line that is written is preceded by one that says how many.
//           Lifetime: the destructor writes what waits, for two seconds at most. In a forked child all
//           calls do nothing.
// Files:    opened once and appended to, mode 0640; rotate by copying and truncating.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/result.h"

namespace sluice {

class ProgramLog : public Log {
 public:
  // Lines that were never written: dropped while the writer was busy, or refused by the system.
  [[nodiscard]] virtual std::uint64_t dropped() const noexcept = 0;
};

// `path` empty: standard error. `clock` is asked for the window of repeated(); it must outlive the log.
// Misconfigured where the file cannot be opened.
[[nodiscard]] Result<std::unique_ptr<ProgramLog>> makeProgramLog(LogLevel level, const std::string& path,
                                                                 const Clock& clock = systemClock());

// "debug", "info", "warning", "error"; anything else is Info.
[[nodiscard]] LogLevel logLevelOf(std::string_view name) noexcept;

}  // namespace sluice
