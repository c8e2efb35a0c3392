// See faulty_engine.h.
#include "support/faulty_engine.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/places.h"

namespace sluice::test {
namespace {

Deadline inTime() { return Deadline::in(milliseconds(30000)); }

template <typename Answer>
void must(const Answer& answer) {
  if (!answer) throw std::runtime_error(answer.error().text);
}

}  // namespace

std::unique_ptr<System> openSystem(const Settings& settings, SystemUse use) {
  ConfigSources sources;
  sources.sets = {{"plugins.dir", places::plugins()}};
  sources.sets.insert(sources.sets.end(), settings.begin(), settings.end());
  std::vector<ConfigFault> faults;
  const Config config = Config::load(sources, faults);
  std::string text;
  for (const ConfigFault& fault : faults) {
    text += fault.key + ": " + fault.text + "\n";
  }
  if (!faults.empty()) throw std::runtime_error(text);
  auto system = System::open(config, use, inTime());
  must(system);
  return std::move(system).take();
}

FaultyEngine::FaultyEngine(const Settings& settings)
    : system_(openSystem(settings, SystemUse::Serve)),
      qualifier_(system_->parts().qualifier),
      queue_(system_->parts().queue),
      store_(system_->parts().store),
      engine_(Engine::make(parts(), system_->engineOptions())) {}

FaultyEngine::~FaultyEngine() { stop(); }

Parts FaultyEngine::parts() noexcept {
  const Parts real = system_->parts();
  return {qualifier_, queue_, store_, real.clock, real.random, real.log};
}

void FaultyEngine::start() {
  must(engine_->start(inTime()));
  const Deadline deadline = inTime();
  while (!engine_->readiness().ready) {
    if (deadline.passed()) throw std::runtime_error("not ready: " + engine_->readiness().reasons.at(0));
    std::this_thread::sleep_for(milliseconds(2));
  }
}

void FaultyEngine::stop() { engine_->stop(inTime()); }

void FaultyEngine::sell(VoucherId id, std::int64_t stock, std::int32_t limitPerUser) {
  VoucherSettings settings;
  settings.title = "Dinner for two";
  settings.begin = systemClock().now() - std::chrono::hours(1);
  settings.end = systemClock().now() + std::chrono::hours(1);
  settings.limitPerUser = limitPerUser;
  settings.allocated = stock;
  Vouchers vouchers(parts());
  must(vouchers.create(id, settings, inTime()));
  must(vouchers.load(id, inTime()));
}

std::vector<OrderAnswer> FaultyEngine::orderAll(VoucherId voucher, std::int64_t count) {
  std::vector<OrderAnswer> answers(static_cast<std::size_t>(count));
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> buyers;
  for (int k = 0; k < 8; ++k) {
    buyers.emplace_back([&] {
      for (std::size_t at = next++; at < answers.size(); at = next++) {
        const UserId user(static_cast<std::int64_t>(at) + 1);
        answers[at] = engine_->order({voucher, user, 1, {}}, inTime());
      }
    });
  }
  for (std::thread& buyer : buyers) {
    buyer.join();
  }
  return answers;
}

}  // namespace sluice::test
