// Contract of OrderStore, last part: random histories, compared step by step with the model in memory.
#include <algorithm>

#include "contract/store_contract.h"
#include "support/fakes.h"
#include "support/manual_clock.h"

namespace sluice::test {
namespace {

// What two stores may not differ in.
std::string textOf(const Order& order) {
  const auto millis = [](std::optional<UtcTime> time) {
    return time ? std::to_string(toMillis(*time)) : "-";
  };
  return order.id.text() + " u" + order.user.text() + " v" + order.voucher.text() + " x" +
         std::to_string(order.quantity) + " " + std::string(orderStatusName(order.status)) + " " +
         std::string(deadReasonName(order.reason)) + " " + millis(order.admittedAt) + " " +
         millis(order.storedAt) + " " + millis(order.updatedAt) + " " + millis(order.payBy) + " " +
         millis(order.releasedAt);
}

std::vector<std::string> textsOf(const Result<std::vector<Order>>& orders) {
  std::vector<std::string> texts;
  if (!orders) return {orders.error().text};
  for (const Order& order : orders.value()) {
    texts.push_back(textOf(order));
  }
  return texts;
}

template <typename T>
ErrorCode codeOf(const Result<T>& result) {
  return result.ok() ? ErrorCode::Internal : result.error().code;
}

class Histories {
 public:
  Histories(OrderStore& real, OrderStore& model, std::uint64_t seed)
      : real_(real), model_(model), chance_(seed) {}

  void addVouchers() {
    for (const auto& [stock, limit] : std::vector<std::pair<int, int>>{{30, 1}, {40, 3}, {5, 10}, {0, 1}}) {
      const auto made = real_.createVoucher(VoucherId(), settingsOf(stock, limit), deadline());
      EXPECT_EQ(made.value().id,
                model_.createVoucher(VoucherId(), settingsOf(stock, limit), deadline()).value().id);
    }
  }

  void step() {
    now_ += milliseconds(below(2000));
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return persist();
      case 3:
        return compare(both([&](OrderStore& store) { return store.pay(someOrder_, now_, deadline()); }));
      case 4:
        return compare(both([&](OrderStore& store) { return store.refund(someOrder_, now_, deadline()); }));
      case 5:
        return cancel();
      case 6:
        return release();
      default:
        break;
    }
    const auto [real, model] = both([&](OrderStore& store) { return store.expire(now_, 1000, deadline()); });
    EXPECT_EQ(real.value(), model.value());
  }

  void compareAll() {
    for (std::int64_t id = 1; id <= 4; ++id) {
      const VoucherId voucher(id);
      EXPECT_EQ(real_.findVoucher(voucher, deadline()).value()->remaining,
                model_.findVoucher(voucher, deadline()).value()->remaining);
      const auto [real, model] = both([&](OrderStore& store) {
        return store.listOrders(voucher, UserId(), std::nullopt, OrderId(), 1000, deadline());
      });
      EXPECT_EQ(textsOf(real), textsOf(model));
    }
    const auto [real, model] = both([&](OrderStore& store) { return store.unreleased(1000, deadline()); });
    EXPECT_EQ(textsOf(real), textsOf(model));
  }

 private:
  static Deadline deadline() { return Deadline::in(milliseconds(20000)); }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(chance_.next() % static_cast<std::uint64_t>(bound));
  }

  // Few users and ids, so that the same ones meet again and again; facts follow from the id, but for one in
  // twenty.
  Admission anyAdmission() {
    const std::int64_t order = 1 + below(400);
    Admission admission{OrderId(order), UserId(1 + order * 7 % 23), VoucherId(1 + order % 5),
                        static_cast<std::int32_t>(1 + order % 3), now_};
    if (below(20) == 0) admission.user = UserId(99);
    return admission;
  }

  template <typename Call, typename Answer = std::invoke_result_t<Call, OrderStore&>>
  std::pair<Answer, Answer> both(const Call& call) {
    someOrder_ = OrderId(1 + below(400));
    Answer real = call(real_);
    return {std::move(real), call(model_)};
  }

  void compare(const std::pair<Result<Change>, Result<Change>>& changes) {
    const auto& [real, model] = changes;
    ASSERT_EQ(real.ok(), model.ok());
    if (!real.ok()) {
      EXPECT_EQ(codeOf(real), codeOf(model));
      return;
    }
    EXPECT_EQ(real.value().changed, model.value().changed);
    EXPECT_EQ(textOf(real.value().order), textOf(model.value().order));
  }

  void persist() {
    std::vector<Admission> batch;
    for (std::int64_t k = 0, size = 1 + below(40); k < size; ++k) {
      batch.push_back(anyAdmission());
    }
    const UtcTime payBy = now_ + milliseconds(below(10000));
    const auto [real, model] =
        both([&](OrderStore& store) { return store.persist(batch, now_, payBy, deadline()); });
    ASSERT_TRUE(real) << real.error().text;
    ASSERT_EQ(real.value().size(), model.value().size());
    for (std::size_t k = 0; k < batch.size(); ++k) {
      EXPECT_EQ(real.value()[k].kind, model.value()[k].kind);
      if (real.value()[k].kind == PersistKind::Conflict ||
          real.value()[k].kind == PersistKind::UnknownVoucher)
        continue;
      EXPECT_EQ(real.value()[k], model.value()[k]);
    }
  }

  void cancel() {
    const CancelRequest request{anyAdmission(), below(2) == 0 ? DeadReason::ByUser : DeadReason::ByOperator};
    compare(both([&](OrderStore& store) { return store.cancel(request, now_, deadline()); }));
  }

  void release() {
    std::vector<OrderId> ids;
    const auto dead = model_.unreleased(static_cast<std::size_t>(1 + below(5)), deadline());
    for (const Order& order : dead.value()) {
      ids.push_back(order.id);
    }
    ids.emplace_back(1 + below(400));
    const auto [real, model] =
        both([&](OrderStore& store) { return store.markReleased(ids, now_, deadline()); });
    EXPECT_TRUE(real && model);
  }

  OrderStore& real_;
  OrderStore& model_;
  SeededRandom chance_;
  OrderId someOrder_;
  UtcTime now_ = fromMillis(1767225600000);
};

TEST_P(StoreContract, RandomHistoriesAgreeWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto fresh = GetParam().makeWorld();
    const auto real = fresh->make();
    ASSERT_TRUE(real->migrate(soon()));
    ASSERT_TRUE(real->start(soon()));
    FakeStore model;
    ASSERT_TRUE(model.migrate(soon()));
    ASSERT_TRUE(model.start(soon()));
    Histories histories(*real, model, seed);
    histories.addVouchers();
    for (int step = 0; step < 250 && !HasFailure(); ++step) {
      histories.step();
    }
    histories.compareAll();
    expectLaws(*real);
  }
}

}  // namespace
}  // namespace sluice::test
