// What a queue plugin brings to the contract suite: how to open it, and what one can do behind its back.
//
// What a fixture cannot do, it does not override; the cases that need it are then skipped with that reason.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sluice/order_queue.h"

#include "support/counting_log.h"
#include "support/effort.h"
#include "support/fault_proxy.h"
#include "support/manual_clock.h"

namespace sluice::test {

// A time-out for things that must happen; long, because a loaded machine is no failure.
inline const milliseconds kSoon = scaled(milliseconds(20000));
// Leases for those who wait until it has run out, the middle one after some work; and one for those whom a
// slow machine must not rob.
inline const milliseconds kShortLease = scaled(milliseconds(800));
inline const milliseconds kMiddleLease = scaled(milliseconds(2000));
inline const milliseconds kLongLease = scaled(milliseconds(60000));

// What a test asks of its queue.
struct QueueNeeds {
  milliseconds lease = kLongLease;
  milliseconds retire = kLongLease;  // of the record of a process that owns nothing
  std::int64_t capacity = 1000000;   // messages that are not settled
  std::size_t deadMax = 30;
  bool synced = false;   // what the server has answered survives its being killed
  bool proxied = false;  // the fixture's queue reaches its server over line()
};

// Something that an operator may get wrong.
struct WrongOpening {
  std::string what;
  std::function<Status()> open;
  std::string names;   // stands in the refusal
  std::string secret;  // stands neither there nor in the log; "" where there is none
};

// Counted without the plugin.
struct RawFigures {
  std::int64_t inFlight = 0;
  std::int64_t deadLetters = 0;
  milliseconds oldestAge{0};
};

enum class Loss : std::uint8_t { Queue, Consumers, Everything };

// The server behind a queue that has one.
class QueueServerPower {
 public:
  virtual ~QueueServerPower() = default;
  virtual void kill() = 0;  // SIGKILL
  virtual void start() = 0;
  virtual void freeze() = 0;  // SIGSTOP
  virtual void resume() = 0;
  virtual void cutConnections() = 0;
  virtual void lose(Loss what) = 0;  // deletes it under whoever uses it
  virtual void setMemoryFull(bool full) = 0;
  virtual void occupy() = 0;  // something of another kind takes the queue's place
  [[nodiscard]] virtual bool isOccupied() = 0;
};

class QueueFixture {
 public:
  explicit QueueFixture(const QueueNeeds& wanted) : needs(wanted) {}
  virtual ~QueueFixture() = default;

  // An object on the fixture's one queue, not started. With multiProcess each instance name stands for one
  // process.
  virtual std::unique_ptr<OrderQueue> make(const std::string& instance, std::size_t consumers) = 0;
  // An object on a queue of its own, of this name, beside the fixture's.
  virtual std::unique_ptr<OrderQueue> makeNamed(const std::string& name) = 0;
  // Messages that the queue has not forgotten. Dead letters are none.
  virtual std::int64_t rawDepth() = 0;
  virtual std::vector<WrongOpening> wrongOpenings() = 0;

  // How long after the lease a take-over may still take.
  [[nodiscard]] virtual milliseconds takeOverSlack() const { return scaled(milliseconds(10000)); }
  // With multiProcess: all that another process needs to join (QueueCase::join); no blanks.
  [[nodiscard]] virtual std::string address() const { return {}; }
  virtual std::optional<RawFigures> raw() { return std::nullopt; }
  virtual QueueServerPower* server() { return nullptr; }
  virtual FaultProxy* line() { return nullptr; }
  // Puts bytes into the queue as anybody could who has its server, also before any object was started where
  // that is possible. False where it is not.
  [[nodiscard]] virtual bool inject(const std::string& /*bytes*/) { return false; }
  // Plays a broker that confirms out of order, returns and refuses, and checks what each message is told.
  virtual bool showConfirms() { return false; }

  const QueueNeeds needs;
  CountingLog log;
  ShiftedClock clock;
};

// A queue plugin under test.
struct QueueCase {
  std::string name;
  std::function<std::unique_ptr<QueueFixture>(const QueueNeeds&)> make;
  // From another process; empty without multiProcess.
  std::function<std::unique_ptr<OrderQueue>(const std::string& address, const std::string& instance)> join;
  friend std::ostream& operator<<(std::ostream& out, const QueueCase& tested) { return out << tested.name; }
};

}  // namespace sluice::test
