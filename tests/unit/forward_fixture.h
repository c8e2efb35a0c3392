// A journal, a queue beside it and forwarders over the fakes, with a manual clock.
#pragma once

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/limits.h"

#include "forward/forwarder.h"
#include "support/fakes.h"

namespace sluice::test {

// One that outlives its processes, as a broker does.
[[nodiscard]] inline FakeQueueOptions brokerQueue() { return {}; }
[[nodiscard]] inline FakeQueueOptions memoryQueue(std::size_t capacity = 100'000) {
  FakeQueueOptions options;
  options.traits = {.reserves = true, .delayedRetry = true};
  options.capacity = capacity;
  return options;
}

class ForwardFixture : public ::testing::Test {
 protected:
  using Forwarder = forward::Forwarder;
  static constexpr milliseconds kLease{6000};
  static constexpr milliseconds kStale{30000};

  ForwardFixture() { use(brokerQueue()); }
  void use(const FakeQueueOptions& options) {
    fakes_ = std::make_unique<Fakes>(options);
    fakes_->qualifier.setPatient(false);
    fakes_->queue.setPatient(false);
    one_ = make("one");
  }
  std::unique_ptr<Forwarder> make(const std::string& name) {
    return std::make_unique<Forwarder>(fakes_->parts(), forward::ForwarderOptions{name, kLease, kStale},
                                       [this] { return mayLead_; });
  }
  // Appends as the qualify script does.
  std::vector<OrderId> admit(int count) {
    std::vector<OrderId> orders;
    for (int k = 0; k < count; ++k) {
      orders.emplace_back(++lastOrder_);
      fakes_->qualifier.appendJournal(
          {orders.back(), UserId(lastOrder_), VoucherId(1), 1, fakes_->clock.now()});
    }
    return orders;
  }
  void run(Forwarder& forwarder, milliseconds time = milliseconds(200), milliseconds by = milliseconds(50)) {
    for (milliseconds passed{0}; passed <= time; passed += by) {
      for (int k = 0; k < 4; ++k) {
        (void)forwarder.step(milliseconds(200));
      }
      fakes_->clock.advance(by);
    }
  }
  void run(milliseconds time = milliseconds(200)) { run(*one_, time); }
  // What the queue hands out now; it stays with us.
  std::vector<Delivery> take() {
    std::vector<Delivery> all;
    while (true) {
      auto batch = fakes_->queue.receive(0, limits::kReceiveBatchMax, soon());
      EXPECT_TRUE(batch) << batch.error().text;
      if (!batch || batch.value().empty()) return all;
      all.insert(all.end(), batch.value().begin(), batch.value().end());
    }
  }
  std::vector<OrderId> takeOrders() {
    std::vector<OrderId> orders;
    for (const Delivery& delivery : take()) {
      orders.push_back(delivery.admission.order);
    }
    return orders;
  }
  void settle(const Delivery& delivery, SettleKind kind) {
    const Settlement settlement{delivery.token, kind, milliseconds(0), true, "for the test"};
    ASSERT_TRUE(fakes_->queue.settle(0, {&settlement, 1}, soon()));
  }
  void erase(JournalId entry) { ASSERT_TRUE(fakes_->qualifier.settleJournal({&entry, 1}, soon())); }
  // As fulfilment does once an order has its row.
  void finish(const Delivery& delivery) {
    settle(delivery, SettleKind::Done);
    erase(delivery.journal);
  }
  [[nodiscard]] std::int64_t queued() {
    const QueueStats stats = fakes_->queue.stats(soon()).value();
    return stats.ready + stats.inFlight;
  }

  std::unique_ptr<Fakes> fakes_;
  std::unique_ptr<Forwarder> one_;
  bool mayLead_ = true;
  std::int64_t lastOrder_ = 0;
};

}  // namespace sluice::test
