// Slot: one receive slot: what it was handed, and what becomes of it.
//
// Role:     hands out what the intake has for it, settles, and gives back what was held for longer than the lease.
// Threads:  receive and settle by one thread at a time; the rest from any.
#pragma once

#include "intake.h"

namespace sluice::rabbitmq {

class Slot {
 public:
  Slot(Shared& shared, Intake& intake, Receiver& receiver, Publisher& publisher, DeadDesk& desk);

  [[nodiscard]] Result<std::vector<Delivery>> receive(std::size_t max, Deadline deadline);
  [[nodiscard]] Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements,
                                                          Deadline deadline);
  // After the receives were interrupted: everything that is held goes back to the broker. Answers how many.
  [[nodiscard]] Result<std::size_t> handBack(Deadline deadline);
  // What was handed out longer ago than the lease goes back to the broker.
  [[nodiscard]] bool holdsOld(milliseconds lease);
  void handBackOld(milliseconds lease, Deadline deadline);

  [[nodiscard]] Intake::Figures figures();

 private:
  struct Claimed;

  void forgetOldEpochs();
  [[nodiscard]] std::vector<Delivery> handOut(Items items);
  [[nodiscard]] std::optional<Item> claim(const DeliveryToken& token);
  [[nodiscard]] std::vector<SettleOutcome> claimAll(std::span<const Settlement> settlements,
                                                    Claimed& claimed);
  void unclaim(Claimed& claimed);
  [[nodiscard]] Status settleClaimed(const Claimed& claimed, Deadline deadline);

  Shared& shared_;
  Intake& intake_;
  Receiver& receiver_;
  Publisher& publisher_;
  DeadDesk& desk_;
  Turn receiving_;
  std::mutex mutex_;                    // guards what follows
  std::map<std::uint64_t, Item> held_;  // handed out, by serial
  std::uint64_t serial_ = 0;
};

}  // namespace sluice::rabbitmq
