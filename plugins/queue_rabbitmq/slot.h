// Slot: one receive slot: what it was handed, what it holds back, and what becomes of it.
//
// Role:     decides which of the messages that came may be handed out together, lets those with a delay wait,
//           puts aside what does not decode, settles.
// Threads:  receive and settle by one thread at a time; handBack and the figures from any.
#pragma once

#include "dead_desk.h"

namespace sluice::rabbitmq {

class Slot {
 public:
  Slot(Shared& shared, Receiver& receiver, Publisher& publisher, DeadDesk& desk, std::size_t number);

  [[nodiscard]] Result<std::vector<Delivery>> receive(std::size_t max, Deadline deadline);
  [[nodiscard]] Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements,
                                                          Deadline deadline);
  // After the receives were interrupted: everything that is here goes back to the broker. Answers how many of it
  // had been handed out.
  [[nodiscard]] Result<std::size_t> handBack(Deadline deadline);

  struct Figures {
    std::size_t handedOut = 0;
    std::size_t kept = 0;
    std::optional<std::int64_t> oldestMs{};  // first published, wall clock
  };
  [[nodiscard]] Figures figures();

 private:
  struct Item {
    Received received;
    std::int64_t deliveries = 0;  // this one included
    bool alone = false;
  };
  using Items = std::vector<Item>;
  struct Sorted;  // what came, by what is to be done with it

  void forgetOldEpochs();
  [[nodiscard]] Items takeKept(std::size_t max);
  void keep(Item item, milliseconds wait);
  [[nodiscard]] SteadyTime nextDue();
  [[nodiscard]] Items takeGarbage();
  [[nodiscard]] std::vector<Delivery> handOut(Items items);

  [[nodiscard]] Sorted sort(std::vector<Received> fetched);
  [[nodiscard]] Items take(std::vector<Received> fetched, std::size_t max, Deadline deadline);
  void putAside(Items garbage, Deadline deadline);
  void sendOn(Items hops, Items others, Deadline deadline);
  [[nodiscard]] Status accept(const Items& items, Deadline deadline);

  [[nodiscard]] Outgoing retryOf(const Item& item, milliseconds delay) const;
  [[nodiscard]] std::optional<Item> claim(const DeliveryToken& token);
  void unclaim(std::uint64_t serial, Item item);
  struct Claimed;
  [[nodiscard]] Status settleClaimed(const Claimed& claimed, Deadline deadline);

  Shared& shared_;
  Receiver& receiver_;
  Publisher& publisher_;
  DeadDesk& desk_;
  const std::size_t number_;
  std::timed_mutex receiving_;
  std::mutex mutex_;                      // guards what follows
  std::map<std::uint64_t, Item> held_;    // handed out, by serial
  std::multimap<SteadyTime, Item> kept_;  // not handed out before that instant
  Items garbage_;                         // does not decode, and could not be put aside yet
  std::uint64_t serial_ = 0;
  bool single_ = false;  // what comes next is likely to need being alone
};

}  // namespace sluice::rabbitmq
