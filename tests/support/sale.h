// Short words for tests over the fakes: admit, store, pay for, look up one order.
#pragma once

#include "sluice/order_id.h"

#include "support/fakes.h"

namespace sluice::test {

// The n-th order id that process `process` issues at the clock's time.
[[nodiscard]] inline OrderId orderId(const Clock& clock, std::int32_t number, std::int32_t process = 0) {
  return joinOrderId({clock.now(), process, number});
}

// Does what a worker does with everything that is due, without releasing: receive, persist, settle.
inline std::size_t storeAll(Parts parts, UtcTime payBy) {
  std::size_t stored = 0;
  while (true) {
    const auto batch = parts.queue.receive(0, limits::kReceiveBatchMax, Deadline::in(milliseconds(1)));
    if (!batch || batch.value().empty()) return stored;
    std::vector<Admission> admissions;
    std::vector<Settlement> settlements;
    for (const Delivery& delivery : batch.value()) {
      admissions.push_back(delivery.admission);
      settlements.push_back({delivery.token, SettleKind::Done, milliseconds(0), true, {}});
    }
    const auto outcomes = parts.store.persist(admissions, parts.clock.now(), payBy, soon());
    EXPECT_TRUE(outcomes.ok());
    EXPECT_TRUE(parts.queue.settle(0, settlements, soon()).ok());
    stored += admissions.size();
  }
}

// Receives one message and puts it aside.
inline void deadLetterOne(Parts parts) {
  const auto batch = parts.queue.receive(0, 1, Deadline::in(milliseconds(1)));
  ASSERT_TRUE(batch.ok());
  ASSERT_EQ(batch.value().size(), 1U);
  const Settlement settlement{batch.value()[0].token, SettleKind::DeadLetter, milliseconds(0), true,
                              "for the test"};
  ASSERT_TRUE(parts.queue.settle(0, {&settlement, 1}, soon()).ok());
}

// A sale over the fakes with one voucher of ten pieces, one for each user.
struct Sale {
  Fakes fakes;
  VoucherId voucher;
  std::int32_t issued = 0;

  explicit Sale(std::int64_t stock = 10, std::int32_t limit = 1) { voucher = fakes.sell(stock, limit).id; }
  explicit Sale(FakeQueueOptions options) : fakes(options) { voucher = fakes.sell(10).id; }

  [[nodiscard]] Parts parts() { return fakes.parts(); }
  OrderId admit(UserId user, std::int32_t quantity = 1) {
    const OrderId order = orderId(fakes.clock, ++issued);
    EXPECT_EQ(fakes.ask(voucher, order, user, quantity).verdict, Verdict::Admitted);
    return order;
  }
  void storeWaiting() { storeAll(parts(), fakes.clock.now() + std::chrono::minutes(15)); }
  OrderId buy(UserId user, std::int32_t quantity = 1) {
    const OrderId order = admit(user, quantity);
    storeWaiting();
    return order;
  }
  [[nodiscard]] std::optional<Order> row(OrderId order) {
    return fakes.store.findOrder(order, soon()).value();
  }
  [[nodiscard]] VoucherSnapshot redis() { return fakes.qualifier.snapshot(voucher, soon()).value(); }
  [[nodiscard]] Voucher stored() { return *fakes.store.findVoucher(voucher, soon()).value(); }
  [[nodiscard]] std::size_t holdsOf(UserId user) {
    return fakes.qualifier.holdsOf(voucher, user, soon()).value().size();
  }
};

}  // namespace sluice::test
