// Contract of OrderStore, seen from fulfilment: how the engine parts a batch around what the store refuses,
// and waits while the store cannot write. Qualifier and queue are fakes, the store is the real one.
#include "sluice/limits.h"

#include "contract/store_contract.h"
#include "fulfilment/fulfilment.h"
#include "support/fakes.h"

namespace sluice::test {
namespace {

using fulfilment::Fulfilment;
using fulfilment::FulfilmentCounts;
using fulfilment::FulfilmentOptions;
using fulfilment::PauseKind;

// A sale with `count` admitted orders in its queue, of users 1 and up; their order ids are the same numbers.
class Sale {
 public:
  Sale(OrderStore& store, const Voucher& voucher, std::int64_t count)
      : voucher_(voucher.id),
        fulfilment_({fakes_.qualifier, fakes_.queue, store, fakes_.clock, fakes_.random, noLog()},
                    FulfilmentOptions{}, 0, counts) {
    VoucherLoad load;
    load.voucher = voucher;
    load.voucher.settings.end = fakes_.clock.now() + std::chrono::hours(1);
    load.nextLiveOrders = [] { return Result(std::vector<Order>()); };
    load.nextEligible = [] { return Result(std::vector<UserId>()); };
    EXPECT_TRUE(fakes_.qualifier.load(load, sluice::test::soon()));
    for (std::int64_t k = 1; k <= count; ++k) {
      EXPECT_TRUE(fakes_.ask(voucher_, OrderId(k), UserId(k)).fresh);
    }
  }
  void step() { fulfilment_.step(milliseconds(0)); }
  void run(milliseconds time) {
    for (milliseconds passed{0}; passed <= time; passed += milliseconds(500)) {
      step();
      fakes_.clock.advance(milliseconds(500));
    }
  }
  [[nodiscard]] PauseKind pause() const { return fulfilment_.pause().kind; }
  [[nodiscard]] std::vector<DeadLetter> deadLetters() {
    return fakes_.queue.deadLetters("", 100, sluice::test::soon()).value();
  }

  FulfilmentCounts counts;

 private:
  Fakes fakes_;
  VoucherId voucher_;
  Fulfilment fulfilment_;
};

TEST_P(StoreContract, S09_OfFiveHundredOrdersOneIsRefusedAndTheOthersAreStoredWithFewCalls) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(1000);
  Sale sale(store(), voucher(id), 500);
  powers().refuse(UserId(212));
  sale.step();
  EXPECT_EQ(sale.counts.stored, 499u);
  EXPECT_EQ(totals(id).rows, 499);
  EXPECT_FALSE(hasRow(212));
  EXPECT_EQ(sale.pause(), PauseKind::None);
  EXPECT_LE(sale.counts.storeBatchSizes.snapshot().count, 19u) << "two for each halving of 500, and one";
  sale.run(std::chrono::minutes(5));
  ASSERT_EQ(sale.deadLetters().size(), 1u);
  EXPECT_EQ(sale.deadLetters().front().admission->order, OrderId(212));
  EXPECT_THAT(sale.deadLetters().front().reason, testing::HasSubstr("internal"));
  powers().refuse(UserId());
}

TEST_P(StoreContract, S28_WhileNothingCanBeWrittenFulfilmentWaitsAndPutsNothingAside) {
  SLUICE_NEEDS_POWERS(world());
  const VoucherId id = sell(1000);
  Sale sale(store(), voucher(id), 60);
  powers().setReadOnly(true);
  sale.run(std::chrono::minutes(2));
  EXPECT_EQ(sale.pause(), PauseKind::Away);
  EXPECT_EQ(sale.counts.retried, 0u);
  EXPECT_TRUE(sale.deadLetters().empty());
  EXPECT_EQ(totals(id).rows, 0);
  powers().setReadOnly(false);
  sale.run(std::chrono::minutes(1));
  EXPECT_EQ(sale.pause(), PauseKind::None);
  EXPECT_EQ(totals(id).livePieces, 60);
  EXPECT_TRUE(sale.deadLetters().empty());
}

}  // namespace
}  // namespace sluice::test
