// Intake: what comes from the broker, by what is to be done with it, before any slot is handed it.
//
// Role:     shared by all slots. Decides which messages may be handed out together, lets those with a delay wait
//           or sends them on, moves what must come alone into the queue for that, puts aside what does not decode,
//           and gives back what nobody takes.
// Threads:  every call from any thread.
#pragma once

#include "dead_desk.h"

namespace sluice::rabbitmq {

// A message that the broker has given to this process.
struct Item {
  Ticket ticket{};
  Message message{};
  Admission admission{};
  std::int64_t deliveries = 0;  // this one included
  SteadyTime since{};           // handed out; or kept
};
using Items = std::vector<Item>;

class Intake {
 public:
  Intake(Shared& shared, Receiver& receiver, Publisher& publisher, DeadDesk& desk);

  // At most `max`; empty when the deadline passes or the queue is draining.
  [[nodiscard]] Result<Items> receive(std::size_t max, Deadline deadline);
  // Ends the consumers and gives everything back that no slot was handed. Answers how many.
  [[nodiscard]] Result<std::size_t> handBack(Deadline deadline);
  // Gives back what could not be put aside for so long that the broker would soon take it away.
  void handBackOld(milliseconds lease, Deadline deadline);
  // The message anew, where it waits for that delay; `counted` deliveries are behind it.
  [[nodiscard]] Outgoing retryOf(const Message& message, std::int64_t counted, milliseconds delay) const;

  struct Figures {
    std::size_t count = 0;
    std::optional<std::int64_t> oldestMs{};  // first published, wall clock
  };
  [[nodiscard]] Figures figures();

 private:
  struct Sorted;  // what came, by what is to be done with it

  void forgetOldEpochs();
  [[nodiscard]] static Item itemOf(Received one);
  [[nodiscard]] Items takeKept(std::size_t max);
  void keep(Item item, milliseconds wait);
  [[nodiscard]] SteadyTime nextDue();
  [[nodiscard]] Items takeGarbage();
  [[nodiscard]] Sorted sort(std::vector<Received> fetched);
  [[nodiscard]] Items take(std::vector<Received> fetched, Deadline deadline);
  void putAside(Items garbage, Deadline deadline);
  void sendOn(Items hops, Items suspects, Deadline deadline);
  [[nodiscard]] bool publishAsTheyWere(const Items& items, Deadline deadline);
  [[nodiscard]] Status settle(const Items& items, Receiver::Verdict verdict, Deadline deadline);

  Shared& shared_;
  Receiver& receiver_;
  Publisher& publisher_;
  DeadDesk& desk_;
  std::mutex mutex_;                      // guards what follows
  std::multimap<SteadyTime, Item> kept_;  // not handed out before that instant
  Items garbage_;                         // does not decode, and could not be put aside yet
};

}  // namespace sluice::rabbitmq
