// Every failure of every call of the three interfaces, in the middle of a day of selling: the laws hold after
// each step, answers are honest, and in the end everything comes to rest by itself.
#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include <gtest/gtest.h>

#include "support/effort.h"
#include "unit/engine_world.h"

namespace sluice::test {
namespace {

// What the engine has no reason to call.
const std::map<std::string, std::string> kNotCalled = {
    {"store.durability", "for the report of a start, outside the engine"}};

struct TestedCall {
  Part part;
  CallName call;
  std::optional<Carrying> carrying;  // none: the world that fits the call
  [[nodiscard]] std::string name() const {
    return std::string(partName(part)) + "." + std::string(call.name);
  }
  // For the name of the test.
  [[nodiscard]] std::string title() const {
    std::string title = std::string(partName(part)) + "_" + std::string(call.name);
    if (carrying == Carrying::ForwardedMemory) title += "_forwarded_into_memory";
    if (carrying == Carrying::ForwardedBroker) title += "_forwarded";
    return title;
  }
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const TestedCall& tested, std::ostream* out) { *out << tested.title(); }

// What the way over a forwarder adds to the others.
bool concernsForwarding(Part part, std::string_view call, Carrying carrying) {
  const bool memory = carrying == Carrying::ForwardedMemory;
  if (part == Part::Qualifier) return call == "settleJournal" || (memory && call == "awaitJournal");
  if (part != Part::Queue) return false;
  if (memory) return call == "reserve" || call == "deadLetters" || call == "settle";
  return call == "publish" || call == "stats" || call == "settle" || call == "start";
}

std::vector<TestedCall> testedCalls() {
  std::vector<TestedCall> calls;
  const auto add = [&calls](Part part, std::span<const CallName> names) {
    for (const CallName& call : names) {
      if (call.kind == CallKind::CannotFail) continue;
      calls.push_back({part, call, std::nullopt});
      for (const Carrying carrying : {Carrying::ForwardedMemory, Carrying::ForwardedBroker}) {
        if (concernsForwarding(part, call.name, carrying)) calls.push_back({part, call, carrying});
      }
    }
  };
  add(Part::Qualifier, qualifierCalls());
  add(Part::Queue, queueCalls());
  add(Part::Store, storeCalls());
  return calls;
}

// The world in which the engine makes the call.
std::unique_ptr<EngineWorld> worldFor(const TestedCall& tested) {
  if (tested.carrying) return std::make_unique<EngineWorld>(*tested.carrying);
  for (const std::string_view call :
       {"lead", "resign", "awaitJournal", "readJournal", "setAside", "settleJournal"}) {
    if (tested.name() == "qualifier." + std::string(call))
      return std::make_unique<EngineWorld>(Carrying::ForwardedBroker);
  }
  if (tested.name() == "queue.reserve") return std::make_unique<EngineWorld>(Carrying::Memory);
  if (tested.name() == "qualifier.takeBack") {
    auto world = std::make_unique<EngineWorld>(Carrying::Memory);
    world->fail(Part::Queue, "publish", ErrorCode::Unavailable, FaultMoment::Before, 3, 2);
    return world;
  }
  if (tested.name() == "queue.publish" || tested.name() == "store.listProcesses")
    return std::make_unique<EngineWorld>(Carrying::Broker);
  // Only messages that stay in hand have their lease renewed.
  const bool renews = tested.name() == "queue.extend";
  return std::make_unique<EngineWorld>(Carrying::Journal, milliseconds(renews ? 1500 : 0));
}

// --- a day of selling: everything that users, operators and time can do, once or twice ---

void buyPayAndCancel(EngineWorld& world, VoucherId voucher) {
  std::vector<OrderId> orders;
  for (std::int64_t user = 1; user <= 4; ++user) {
    orders.push_back(world.order(voucher, UserId(user)).order);
  }
  world.order(voucher, UserId(1));
  const OrderId queued = world.order(voucher, UserId(5)).order;
  for (const OrderId order : world.toldOrders()) {
    world.look(order);
    if (order == queued) world.cancel(order);
  }
  world.run(milliseconds(2000));
  int turn = 0;
  for (const OrderId order : world.toldOrders()) {
    if (order == queued) continue;
    if (++turn == 1) world.pay(order);
    if (turn == 2) world.cancel(order);
    if (turn == 1) world.refund(order);
    if (turn == 3) world.pay(order);
    world.look(order);
  }
  world.run(milliseconds(2000));
}

void manageVouchers(EngineWorld& world, VoucherId voucher) {
  world.changeStock(voucher, 2);
  world.changeStock(voucher, -1);
  world.sync(voucher);
  world.addEligible(voucher, UserId(7));
  world.writeGarbage();
  world.lookAtVouchers();
  world.run(milliseconds(1000));
}

void letLettersDie(EngineWorld& world, VoucherId voucher) {
  const OrderId replayed = world.order(voucher, UserId(21)).order;
  const OrderId dropped = world.order(voucher, UserId(22)).order;
  world.poison(replayed, true);
  world.poison(dropped, true);
  world.run(milliseconds(6000));
  world.poison(replayed, false);
  world.replayLetters();
  world.run(milliseconds(4000));
  world.dropLetters();
  world.poison(dropped, false);
  world.run(milliseconds(1000));
}

void restartEverything(EngineWorld& world, VoucherId voucher) {
  world.order(voucher, UserId(31));
  world.run(milliseconds(1000));
  world.restartRedis();
  world.run(milliseconds(2000));
  world.order(voucher, UserId(32));
  world.run(milliseconds(1000));
  world.stealLeases();
  world.run(milliseconds(3000));
  world.stopEngine();
  world.startEngine();
  world.run(milliseconds(2000));
  world.order(voucher, UserId(33));
}

VoucherId open(EngineWorld& world) {
  world.fakes.store.setSchema(false);
  world.startEngine();
  world.step();
  return world.sell(20);
}

void sellAllDay(EngineWorld& world, VoucherId voucher) {
  buyPayAndCancel(world, voucher);
  manageVouchers(world, voucher);
  letLettersDie(world, voucher);
  restartEverything(world, voucher);
  world.auditNow();
  world.run(milliseconds(70000), milliseconds(1000));  // what nobody paid expires
  for (const OrderId order : world.toldOrders()) {
    world.refund(order);
  }
}

class EngineErrors : public ::testing::TestWithParam<TestedCall> {
 protected:
  // Plays the day with failures that `arm` scripts, before or after the sale is open. Answers whether they
  // struck.
  template <typename Arm>
  std::size_t play(bool afterOpening, Arm arm) {
    const auto world = worldFor(GetParam());
    if (!afterOpening) arm(*world);
    const VoucherId voucher = open(*world);
    if (afterOpening) arm(*world);
    sellAllDay(*world, voucher);
    const std::size_t struck = world->faults(GetParam().part).struck();
    world->comeToRest();
    EXPECT_EQ(world->problems(), "");
    return struck;
  }
  std::size_t callsOfADay() {
    const auto world = worldFor(GetParam());
    sellAllDay(*world, open(*world));
    const std::size_t calls = world->faults(GetParam().part).calls(std::string(GetParam().call.name));
    world->comeToRest();
    EXPECT_EQ(world->problems(), "");
    return calls;
  }
  // The moments at which this call can fail with this code.
  static std::vector<FaultMoment> moments(ErrorCode code) {
    const bool after = errorTraits(code).mayHaveHappened && GetParam().call.kind == CallKind::Changes;
    return after ? std::vector{FaultMoment::Before, FaultMoment::After} : std::vector{FaultMoment::Before};
  }
};

TEST_P(EngineErrors, FailingOnceAtEveryPlaceLeavesNothingBehind) {
  const std::string call(GetParam().call.name);
  const std::size_t calls = callsOfADay();
  if (const auto reason = kNotCalled.find(GetParam().name()); reason != kNotCalled.end()) {
    EXPECT_EQ(calls, 0U) << "is called by now; it was left out: " << reason->second;
    return;
  }
  ASSERT_GT(calls, 0U) << "the day does not call it";
  const std::size_t places = std::min(calls, sized<std::size_t>(12, 100000));
  for (const ErrorCode code : kErrorCodes) {
    for (const FaultMoment moment : moments(code)) {
      for (std::size_t place = 0; place < places; ++place) {
        const std::size_t good = place * calls / places;
        const std::size_t struck = play(
            false, [&](EngineWorld& world) { world.fail(GetParam().part, call, code, moment, 1, good); });
        EXPECT_TRUE(struck == 1 || (place > 0 && struck == 0)) << struck;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(EngineErrors, FailingForLongHealsByItself) {
  const std::string call(GetParam().call.name);
  if (kNotCalled.contains(GetParam().name())) return;
  for (const ErrorCode code : kErrorCodes) {
    for (const FaultMoment moment : moments(code)) {
      for (const bool afterOpening : {false, true}) {
        (void)play(afterOpening,
                   [&](EngineWorld& world) { world.failAlways(GetParam().part, call, code, moment); });
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, EngineErrors, ::testing::ValuesIn(testedCalls()),
                         [](const auto& tested) { return tested.param.title(); });

}  // namespace
}  // namespace sluice::test
