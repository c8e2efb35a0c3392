// The engine: the gate in front of the qualifier, fulfilment behind the queue, and the steps that keep
// both honest.
//
// Role:     owned by the server; the lab and tests drive it too.
// Threads:  order() and the reads from any thread; start and stop by the owner. Lifetime: construction is
//           inert. start() opens store, qualifier and queue (each may be away: then the engine is up and
//           not ready), leases a process number and starts the threads of its role. stop() refuses new
//           requests, finishes those in flight, stores what waits only in a queue that dies with this
//           process, hands the rest of a durable queue back, leaves the forwarder's lease to others, gives the process number back; idempotent. Blocking:
//           order() until its Deadline at the latest; nothing on its way takes a lock shared by all
//           requests or asks the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/config.h"
#include "sluice/histogram.h"
#include "sluice/operations.h"

namespace sluice {

struct EngineOptions {
  Role role = Role::All;
  bool journal = true;
  std::string instance = "local";
  std::size_t inFlightMax = 20000;         // requests at the gate; more are Busy
  std::size_t batchesInFlight = 2;         // qualify calls at one time, over all vouchers
  std::size_t workers = 1;                 // fulfilment threads = queue slots
  std::size_t batchMax = 500;              // messages in one transaction
  milliseconds payWithin{15 * 60 * 1000};  // pay-by counts from storing
  std::uint32_t failuresMax = 5;           // then a message is dead-lettered
  std::uint32_t deliveriesMax = 10;
  milliseconds retryBase{1000};  // see backoff() in clock.h
  milliseconds retryMax{60000};
  milliseconds leaseDuration{10000};   // of the process number
  milliseconds forwarderLease{5000};   // of the process that moves the journal into the queue
  milliseconds forwarderStale{30000};  // an entry of this age whose message nobody has is forwarded again
  milliseconds orderPace{0};           // pause before each order is stored; for demonstrations of crashes
};

struct OrderRequest {
  VoucherId voucher;
  UserId user;
  std::int32_t quantity = 1;
  std::string_view idempotencyKey;  // empty or valid, see QualifyRequest
};

// `order` as in Decision; with OutcomeUnknown the id under which it may have been admitted.
struct OrderAnswer {
  Verdict verdict = Verdict::Unavailable;
  OrderId order;
  bool fresh = false;
};

struct Readiness {
  bool ready = false;
  std::string forwarder;  // what moves the journal into the queue, for people; empty where nothing has to
  std::vector<std::string> reasons;  // why not, for people
  std::vector<std::string> warnings;
  Durability durability = Durability::L0;
};

// Of what moves the journal into a queue that does not read it.
struct ForwarderStats {
  bool runs = false;            // this engine has one
  bool leads = false;           // and it is the one that moves
  std::string leader;           // who leads, as far as known
  std::uint64_t forwarded = 0;  // messages published since start, repeated ones too
  std::uint64_t rereads = 0;    // times the journal was read from its start
  std::uint64_t setAside = 0;   // entries that nobody could decode
  milliseconds oldestAge{0};    // the leader's: of the oldest entry that waits for its row
  std::string pausedWhy;        // why nothing is moved just now
};

struct EngineStats {
  std::vector<std::uint64_t> verdicts;  // by position in kVerdicts
  std::uint64_t inFlight = 0;           // requests at the gate
  HistogramSnapshot batchSizes;         // requests in a qualify call
  HistogramSnapshot scriptNanoseconds;  // of a qualify call
  HistogramSnapshot storeNanoseconds;   // of a persist call
  HistogramSnapshot storeBatchSizes;
  std::uint64_t stored = 0, rejected = 0, already = 0, released = 0, expired = 0, deadLettered = 0,
                retried = 0;
  bool paused = false;   // fulfilment waits for the store
  bool alarmed = false;  // and goes on only once an operator has acted
  std::string pausedWhy;
  ForwarderStats forwarder;
  QueueStats queue;  // of the last health step
  QualifierStats qualifier;
  QualifierHealth health;  // of the last health step
};

class Engine {
 public:
  [[nodiscard]] static std::unique_ptr<Engine> make(Parts parts, EngineOptions options);
  virtual ~Engine();

  // Where an operator must act first the error says so, and the engine is as after stop(): every part is
  // closed. Otherwise it comes up, ready or not. Once: afterwards Stopped.
  [[nodiscard]] virtual Status start(Deadline deadline) = 0;
  virtual void stop(Deadline deadline) noexcept = 0;

  // The client's one answer. Never throws; every failure is a verdict.
  [[nodiscard]] virtual OrderAnswer order(const OrderRequest& request, Deadline deadline) noexcept = 0;

  // The vouchers as of the last second, for reads without a database; nothing for an unknown one.
  [[nodiscard]] virtual std::optional<Voucher> knownVoucher(VoucherId id) const = 0;
  // Whether an admission lies in the dead letters, as of the last second.
  [[nodiscard]] virtual bool deadLettered(OrderId order) const = 0;

  [[nodiscard]] virtual Readiness readiness() const = 0;
  [[nodiscard]] virtual EngineStats stats() const = 0;
};

}  // namespace sluice
