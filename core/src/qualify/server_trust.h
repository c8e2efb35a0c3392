// Which server may admit: remembers the identity seen last and whether it was trusted.
//
// Threads:  every call from any thread; mayAdmit and isCurrent take no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace sluice {

class ServerTrust {
 public:
  // A server of this identity answered. Answers the number that stands for it until another one is seen;
  // any change takes the trust away, also a change back: what the other one admitted meanwhile is missing
  // then.
  std::uint64_t seen(const std::string& identity);
  // Ignored where another identity has been seen meanwhile: that one has not been looked at yet.
  void trust(const std::string& identity);

  [[nodiscard]] std::uint64_t current() const noexcept {
    return current_.load(std::memory_order_acquire);
  }  // 0: none seen yet
  [[nodiscard]] bool isCurrent(std::uint64_t number) const noexcept { return number == current(); }
  [[nodiscard]] bool mayAdmit(std::uint64_t number) const noexcept {
    return number != 0 && isCurrent(number) && number == trusted_.load(std::memory_order_acquire);
  }

 private:
  std::mutex mutex_;
  std::string identity_;                   // guarded by mutex_
  std::atomic<std::uint64_t> current_{0};  // 0: none seen yet
  std::atomic<std::uint64_t> trusted_{0};  // 0: none
};

}  // namespace sluice
