// One home for what the interfaces share between host and plugins: their destructors, and with them their
// type information.
#include "sluice/engine.h"
#include "sluice/log.h"
#include "sluice/order_queue.h"
#include "sluice/order_store.h"
#include "sluice/qualifier.h"
#include "sluice/system.h"

namespace sluice {

Qualifier::~Qualifier() = default;
OrderQueue::~OrderQueue() = default;
OrderStore::~OrderStore() = default;
Engine::~Engine() = default;
System::~System() = default;
Log::~Log() = default;

namespace {

class NoLog final : public Log {
 public:
  bool enabled(LogLevel) const noexcept override { return false; }
  void write(LogLevel, std::string_view, std::string_view) noexcept override {}
  void repeated(LogLevel, std::string_view, std::string_view, std::string_view) noexcept override {}
};

}  // namespace

Log& noLog() noexcept {
  static NoLog log;
  return log;
}

HistogramSnapshot Histogram::snapshot() const {
  HistogramSnapshot taken;
  std::uint64_t bound = first_;
  for (std::size_t bucket = 0; bucket <= kBuckets; ++bucket, bound *= 2) {
    if (bucket < kBuckets) taken.upperBounds.push_back(bound);
    taken.counts.push_back(counts_[bucket].load(std::memory_order_relaxed));
    taken.count += taken.counts.back();
  }
  taken.sum = sum_.load(std::memory_order_relaxed);
  return taken;
}

}  // namespace sluice
