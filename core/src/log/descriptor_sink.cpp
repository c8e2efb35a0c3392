// Waits for room in slices, so that the end of the program is noticed while nobody reads.
#include "log/descriptor_sink.h"

#include <cerrno>
#include <chrono>
#include <string>

#include <poll.h>
#include <unistd.h>

namespace sluice {

DescriptorSink::DescriptorSink(int descriptor, std::function<std::uint64_t()> dropped)
    : descriptor_(descriptor),
      dropped_(std::move(dropped)),
      end_(SteadyTime::max().time_since_epoch().count()) {}

DescriptorSink::~DescriptorSink() { ::close(descriptor_); }

void DescriptorSink::endBy(SteadyTime end) noexcept { end_.store(end.time_since_epoch().count()); }

void DescriptorSink::sink_it_(const spdlog::details::log_msg& message) {
  reportDropped();
  writeLine(message);
}

void DescriptorSink::reportDropped() {
  const std::uint64_t dropped = dropped_();
  if (dropped == reported_) return;
  const std::string text = "log: " + std::to_string(dropped - reported_) +
                           " lines were dropped: they came faster than they could be written";
  reported_ = dropped;
  writeLine(spdlog::details::log_msg({}, spdlog::level::warn, text));
}

void DescriptorSink::writeLine(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  if (!writeAll({line.data(), line.size()})) lost_.fetch_add(1, std::memory_order_relaxed);
}

bool DescriptorSink::writeAll(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    if (!waitWritable()) return false;
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool DescriptorSink::waitWritable() noexcept {
  constexpr int kSliceMs = 50;  // how late the end is noticed at most
  while (std::chrono::steady_clock::now().time_since_epoch().count() < end_.load()) {
    pollfd waited{descriptor_, POLLOUT, 0};
    const int ready = ::poll(&waited, 1, kSliceMs);
    if (ready > 0) return true;  // also on an error, which the write will name
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

}  // namespace sluice
