// Interrupt: Ctrl-C and SIGTERM as a flag, for commands that have something to end before they go.
#pragma once

#include <atomic>

namespace sluice::cli {

// From now on SIGINT, SIGTERM and SIGHUP set the flag instead of ending the process. Calls that block return
// EINTR.
void catchInterrupts() noexcept;

// Set by the first signal, never cleared.
[[nodiscard]] const std::atomic<bool>& interrupted() noexcept;

}  // namespace sluice::cli
