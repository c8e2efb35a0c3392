// Writes formatted lines to a file descriptor, and can be told to give up.
//
// Role:     spdlog's own sinks write through stdio: a reader that stops reading would hold the writer for
//           ever, and with it the end of the program.
// Threads:  lines by one thread, spdlog's writer; endBy and lost by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include "sluice/clock.h"

namespace sluice {

class DescriptorSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // Owns the descriptor. `dropped` tells how many lines were dropped before they came here.
  DescriptorSink(int descriptor, std::function<std::uint64_t()> dropped);
  ~DescriptorSink() override;
  DescriptorSink(const DescriptorSink&) = delete;
  DescriptorSink& operator=(const DescriptorSink&) = delete;

  // From now on a line that cannot be written by `end` is lost.
  void endBy(SteadyTime end) noexcept;
  // Lines that the system refused, or that came too late.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}  // nothing is buffered here
  void reportDropped();
  void writeLine(const spdlog::details::log_msg& message);
  bool writeAll(std::string_view bytes) noexcept;
  bool waitWritable() noexcept;

  int descriptor_;
  std::function<std::uint64_t()> dropped_;
  std::uint64_t reported_ = 0;
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<SteadyTime::rep> end_;
};

}  // namespace sluice
