// See interrupt.h.
#include "cli/interrupt.h"

#include <csignal>

namespace sluice::cli {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void setFlag(int /*signal*/) { flag.store(true); }

}  // namespace

void catchInterrupts() noexcept {
  struct sigaction action {};
  action.sa_handler = setFlag;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaction(signal, &action, nullptr);
  }
}

const std::atomic<bool>& interrupted() noexcept { return flag; }

}  // namespace sluice::cli
