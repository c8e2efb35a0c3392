// See server_trust.h.
#include "qualify/server_trust.h"

namespace sluice {

std::uint64_t ServerTrust::seen(const std::string& identity) {
  const std::lock_guard lock(mutex_);
  if (current_.load(std::memory_order_relaxed) == 0 || identity != identity_) {
    identity_ = identity;
    trusted_.store(0, std::memory_order_release);
    current_.fetch_add(1, std::memory_order_release);
  }
  return current_.load(std::memory_order_relaxed);
}

void ServerTrust::trust(const std::string& identity) {
  const std::lock_guard lock(mutex_);
  if (identity == identity_)
    trusted_.store(current_.load(std::memory_order_relaxed), std::memory_order_release);
}

}  // namespace sluice
