// What the benchmarks of stores share: failing in one line, medians, folders, numbers of the command line, orders.
#pragma once

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/limits.h"
#include "sluice/order.h"
#include "sluice/order_queue.h"
#include "sluice/result.h"
#include "sluice/voucher.h"

namespace sluice::bench {

[[nodiscard]] inline Deadline soon() { return Deadline::in(std::chrono::seconds(120)); }

template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(result).take();
}
inline void need(const Status& status) {
  if (!status) throw std::runtime_error(status.error().text);
}

// Of at least one value.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

[[nodiscard]] inline double secondsOf(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A decimal number of 1 to `max`; throws std::invalid_argument with what is right.
[[nodiscard]] inline int numberOf(const std::string& text, int max) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > max) {
    throw std::invalid_argument("not a number of 1 to " + std::to_string(max) + ": " + text);
  }
  return number;
}

// `count` orders from `first` on, each of another user; users come in no order, so that the index of users is
// written all over.
[[nodiscard]] inline std::vector<Admission> ordersOf(std::int64_t first, std::size_t count,
                                                     VoucherId voucher) {
  std::vector<Admission> orders;
  orders.reserve(count);
  const UtcTime now = systemClock().now();
  for (std::size_t k = 0; k < count; ++k, ++first) {
    const auto user =
        static_cast<std::int64_t>((static_cast<std::uint64_t>(first) * 0x9E3779B97F4A7C15U) >> 2U);
    orders.push_back({OrderId(first), UserId(user), voucher, 1, now});
  }
  return orders;
}

// More stock than any run needs, on sale now.
[[nodiscard]] inline VoucherSettings endlessSale() {
  VoucherSettings sale;
  sale.title = "bench";
  sale.begin = systemClock().now();
  sale.end = sale.begin + std::chrono::hours(24);
  sale.allocated = limits::kAllocatedMax;
  return sale;
}

// A new folder below `parent`, removed at the end.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : path_((parent / "sluice-bench-XXXXXX").string()) {  // mkdtemp fills in the letters
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot create a folder in " + parent.string());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// As the gate publishes them without a journal.
[[nodiscard]] inline std::vector<QueueMessage> messagesOf(std::span<const Admission> orders) {
  std::vector<QueueMessage> messages;
  messages.reserve(orders.size());
  for (const Admission& order : orders) {
    messages.push_back({order, {}});
  }
  return messages;
}

}  // namespace sluice::bench
