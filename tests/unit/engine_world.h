// A whole engine over fakes without threads: a test moves the clock, plays people, and has every law and
// every answer checked.
//
// Role:     used by the enumeration of failing calls and by the simulation. Every problem is collected with
//           what had happened until then, so that a seed is not the only way to understand it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lifecycle/engine.h"
#include "support/laws.h"

namespace sluice::test {

enum class Carrying : std::uint8_t {
  Journal,  // the queue reads the journal
  // Journal off, the gate publishes:
  Memory,  // into a bounded queue of this process
  Broker,  // into a durable queue
  // Journal on, the forwarder moves it:
  ForwardedMemory,
  ForwardedBroker
};
[[nodiscard]] constexpr bool hasJournal(Carrying carrying) noexcept {
  return carrying != Carrying::Memory && carrying != Carrying::Broker;
}
[[nodiscard]] constexpr bool isForwarded(Carrying carrying) noexcept {
  return carrying == Carrying::ForwardedMemory || carrying == Carrying::ForwardedBroker;
}

enum class Part : std::uint8_t { Qualifier, Queue, Store };
[[nodiscard]] std::string_view partName(Part part) noexcept;

class EngineWorld {
 public:
  explicit EngineWorld(Carrying carrying, milliseconds orderPace = milliseconds(0), std::uint64_t seed = 1);
  ~EngineWorld();
  EngineWorld(const EngineWorld&) = delete;
  EngineWorld& operator=(const EngineWorld&) = delete;

  // --- processes ---
  // Where the start is refused, as its contract allows, an operator tries again.
  void startEngine();
  void stopEngine();
  void killEngine();  // nothing says good-bye; what it held comes again. Scripted failures are gone.
  [[nodiscard]] bool running() const noexcept { return engine_ != nullptr; }

  // --- time ---
  void step(milliseconds by = milliseconds(100));
  void run(milliseconds time, milliseconds by = milliseconds(250));

  // --- users; each answer must be honest ---
  OrderAnswer order(VoucherId voucher, UserId user, std::int32_t quantity = 1, std::string_view key = {});
  void look(OrderId order);
  void pay(OrderId order);
  void cancel(OrderId order);
  void refund(OrderId order);

  // --- operators ---
  VoucherId sell(std::int64_t stock, std::int32_t limit = 1);
  void load(VoucherId voucher);
  void changeStock(VoucherId voucher, std::int64_t by);
  void addEligible(VoucherId voucher, UserId user);
  void sync(VoucherId voucher);
  void close(VoucherId voucher);
  void lookAtVouchers();
  void replayLetters();
  void dropLetters();
  void auditNow();

  // --- faults ---
  [[nodiscard]] Faults& faults(Part part) noexcept;
  void fail(Part part, const std::string& call, ErrorCode code, FaultMoment moment, std::size_t times,
            std::size_t good = 0);
  void failAlways(Part part, const std::string& call, ErrorCode code, FaultMoment moment);
  void heal();
  // Redis restarts; `losing`: without the hold of a live row and the release of a dead one, where there are
  // such.
  void restartRedis(bool losing = true);
  // A queue beside the journal loses what the journal still has, and says so or not.
  void queueLoses(bool said);
  void writeGarbage();  // into the journal

  // Heals everything, lets all come to rest, and checks what holds then.
  void comeToRest();

  // Another holder takes the process numbers; an order cannot be stored for a while.
  void stealLeases();
  void poison(OrderId order, bool poisoned);
  void consumerDies();

  // Orders that somebody was told of: admitted, or perhaps.
  [[nodiscard]] std::vector<OrderId> toldOrders() const;
  // What went wrong and what had led to it; empty where nothing did.
  [[nodiscard]] std::string problems() const;

  Fakes fakes;

 private:
  struct Told {
    VoucherId voucher;
    UserId user;
    std::int32_t quantity = 1;
    bool perhaps = false;  // OutcomeUnknown
  };
  [[nodiscard]] Parts parts() { return fakes.parts(); }
  void note(const std::string& what) { history_.push_back(what); }
  void problem(const std::string& what);
  void checkAlways();
  void checkHonest(const OrderRequest& request, const OrderAnswer& answer, const VoucherSnapshot& before,
                   const std::vector<Hold>& holdsBefore);
  void checkCode(const std::string& doing, ErrorCode code);
  template <typename Act>
  void changeRow(const std::string& doing, OrderId order, std::set<OrderId>& told, Act act);
  [[nodiscard]] bool atRest();
  void checkAtRest();
  void checkRowsAtRest();
  void checkAnswersAtRest();
  void checkAuditAtRest();
  [[nodiscard]] bool isPerhaps(OrderId order) const;
  void forgetMemory(bool killed);
  void loseLastWrites();

  const Carrying carrying_;
  const milliseconds orderPace_;
  bool holdsMayBeLost_ = false;  // a process that owed holds was killed
  Laws laws_{fakes};
  std::unique_ptr<lifecycle::EngineImpl> engine_;
  std::vector<VoucherId> vouchers_;
  std::map<OrderId, Told> told_;
  std::set<OrderId> paid_;  // told so, as are the next two
  std::set<OrderId> cancelled_;
  std::set<OrderId> refunded_;
  std::set<ErrorCode> scripted_;
  std::vector<std::string> history_;
  std::vector<std::string> problems_;
};

}  // namespace sluice::test
