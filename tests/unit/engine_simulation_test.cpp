// Random histories of a sale: users, operators, deaths, restarts and failures of any call in any order. What
// holds always is checked after each event, what holds at rest at the end of each history.
#include <gtest/gtest.h>

#include "support/effort.h"
#include "unit/engine_world.h"

namespace sluice::test {
namespace {

constexpr Carrying kCarryings[] = {Carrying::Journal,         Carrying::Journal,
                                   Carrying::Memory,          Carrying::Broker,
                                   Carrying::ForwardedMemory, Carrying::ForwardedMemory,
                                   Carrying::ForwardedBroker, Carrying::ForwardedBroker};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t end) { return (random_.next() >> 11U) % end; }
  bool once(std::uint64_t in) { return below(in) == 0; }
  template <typename T>
  const T& oneOf(std::span<const T> things) {
    return things[below(things.size())];
  }

 private:
  SeededRandom random_;
};

class History {
 public:
  explicit History(std::uint64_t seed)
      : dice_(seed),
        carrying_(dice_.oneOf(std::span<const Carrying>(kCarryings))),
        redisLoses_(dice_.once(2)),
        world_(carrying_, milliseconds(0), seed) {}

  std::string play() {
    world_.startEngine();
    vouchers_.push_back(world_.sell(5 + static_cast<std::int64_t>(dice_.below(20)), 2));
    vouchers_.push_back(world_.sell(3, 1));
    const std::uint64_t events = 50 + dice_.below(150);
    for (std::uint64_t event = 0; event < events; ++event) {
      happen();
    }
    for (const OrderId order : poisoned_) {
      world_.poison(order, false);
    }
    world_.comeToRest();
    return world_.problems();
  }

 private:
  void happen() {
    switch (dice_.below(20)) {
      case 0:
      case 1:
        return fail();
      case 2:
        return operate();
      case 3:
        return dice_.once(3) ? disaster() : world_.step(milliseconds(1));
      case 4:
      case 5:
      case 6:
      case 7:
        return treat();
      case 8:
      case 9:
      case 10:
      case 11:
        return pass();
      default:
        return order();
    }
  }

  VoucherId voucher() { return dice_.oneOf(std::span<const VoucherId>(vouchers_)); }

  // Every fifth user has an idempotency key, the same for all his orders of one voucher.
  void order() {
    const VoucherId wanted = voucher();
    const auto user = static_cast<std::int64_t>(1 + dice_.below(25));
    const std::string key = "key-of-user-" + std::to_string(1000 + user);
    const bool keyed = user % 5 == 0;
    world_.order(wanted, UserId(user), keyed ? 1 : static_cast<std::int32_t>(1 + dice_.below(2)),
                 keyed ? std::string_view(key) : std::string_view());
  }

  void treat() {
    const std::vector<OrderId> orders = world_.toldOrders();
    if (orders.empty()) return;
    const OrderId order = dice_.oneOf(std::span<const OrderId>(orders));
    switch (dice_.below(5)) {
      case 0:
        return world_.look(order);
      case 1:
        return world_.refund(order);
      case 2:
        return world_.cancel(order);
      default:
        return world_.pay(order);
    }
  }

  void pass() {
    if (dice_.once(15)) return world_.run(milliseconds(21000), milliseconds(500));  // the unpaid expire
    if (dice_.once(15)) return world_.step(milliseconds(11000));                    // the lease runs out
    world_.step(milliseconds(static_cast<std::int64_t>(1 + dice_.below(700))));
  }

  void operate() {
    switch (dice_.below(8)) {
      case 0:
        return world_.changeStock(voucher(), static_cast<std::int64_t>(dice_.below(5)) - 2);
      case 1:
        return world_.sync(voucher());
      case 2:
        return world_.addEligible(voucher(), UserId(3));
      case 3:
        return world_.replayLetters();
      case 4:
        return world_.dropLetters();
      case 5:
        return world_.auditNow();
      case 6:
        return world_.load(voucher());
      default:
        return world_.lookAtVouchers();
    }
  }

  void disaster() {
    switch (dice_.below(8)) {
      case 6:
        return world_.queueLoses(dice_.once(2));
      case 7:
        return world_.writeGarbage();
      case 0:
        world_.stopEngine();
        return world_.startEngine();
      case 1:
        world_.killEngine();
        return world_.startEngine();
      case 2:
        return world_.restartRedis(redisLoses_);
      case 3:
        return world_.stealLeases();
      case 4:
        return world_.consumerDies();
      default:
        return poison();
    }
  }

  void poison() {
    const std::vector<OrderId> orders = world_.toldOrders();
    if (orders.empty()) return;
    poisoned_.push_back(orders.back());
    world_.poison(orders.back(), true);
  }

  void fail() {
    if (dice_.once(4)) return world_.heal();
    constexpr Part kParts[] = {Part::Qualifier, Part::Queue, Part::Store};
    const Part part = dice_.oneOf(std::span<const Part>(kParts));
    const CallName call = dice_.oneOf(callsOf(part));
    const ErrorCode code = dice_.oneOf(std::span<const ErrorCode>(kErrorCodes));
    if (call.kind == CallKind::CannotFail) return;
    // Keys that are damaged, and lost holds on top: that takes an operator.
    if (redisLoses_ && part == Part::Qualifier && code == ErrorCode::Corrupt) return;
    const bool unknown = errorTraits(code).mayHaveHappened;
    // A queue that reserves places never loses the answer of a publish, see OrderQueue::publish.
    const bool reserves = carrying_ == Carrying::Memory || carrying_ == Carrying::ForwardedMemory;
    if (reserves && call.name == "publish" && unknown) return;
    const bool after = unknown && call.kind == CallKind::Changes && dice_.once(2);
    const FaultMoment moment = after ? FaultMoment::After : FaultMoment::Before;
    const std::string name(call.name);
    if (dice_.once(4)) return world_.failAlways(part, name, code, moment);
    world_.fail(part, name, code, moment, 1 + dice_.below(3), dice_.below(4));
  }

  static std::span<const CallName> callsOf(Part part) {
    if (part == Part::Qualifier) return qualifierCalls();
    return part == Part::Queue ? queueCalls() : storeCalls();
  }

  Dice dice_;
  const Carrying carrying_;
  const bool redisLoses_;
  EngineWorld world_;
  std::vector<VoucherId> vouchers_;
  std::vector<OrderId> poisoned_;
};

TEST(EngineSimulation, EveryHistoryKeepsTheLawsAndComesToRest) {
  const std::uint64_t histories = sized<std::uint64_t>(200, 20000);
  for (std::uint64_t k = 0; k < histories; ++k) {
    const std::uint64_t seed = testSeed() + k;
    const std::string problems = History(seed).play();
    ASSERT_EQ(problems, "") << "history of seed " << seed << "; to repeat it alone: SLUICETEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace sluice::test
