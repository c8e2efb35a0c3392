// Asking: one batch's way through the qualifier, and through the queue where the gate publishes.
//
// Threads:  ask() from any thread, several at a time.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "sluice/engine.h"
#include "sluice/histogram.h"

#include "admission/lane.h"

namespace sluice::admission {

class Asking {
 public:
  // `publishes`: journal off; the gate itself hands fresh admissions to the queue.
  Asking(Parts parts, bool publishes) noexcept : parts_(parts), publishes_(publishes) {}

  // Fills the answers of the batch; answers how many were admitted by it. Every failure is an answer.
  [[nodiscard]] std::size_t ask(VoucherId voucher, Batch& batch, Deadline deadline) noexcept;

  // Takes back admissions for which that failed after a failed publish. Answers how many are still owed.
  std::size_t takeBackOwed(Deadline deadline);

  [[nodiscard]] const Histogram& batchSizes() const noexcept { return batchSizes_; }
  [[nodiscard]] const Histogram& nanoseconds() const noexcept { return nanoseconds_; }

 private:
  // An admission that still has to be taken back.
  struct Owed {
    VoucherId voucher;
    QualifyRequest request;  // without its key
    std::string key;
  };
  std::size_t askOrThrow(VoucherId voucher, Batch& batch, Deadline deadline);
  std::size_t reserve(Batch& batch);
  Status decide(VoucherId voucher, const Batch& batch, std::size_t asked, UtcTime now,
                std::span<Decision> decisions, Deadline deadline);
  std::size_t publish(VoucherId voucher, Batch& batch, std::size_t asked, UtcTime now, Deadline deadline);
  Status publishSurely(std::span<const QueueMessage> admissions, Deadline deadline);
  void takeBack(VoucherId voucher, Batch& batch, std::size_t asked, Verdict verdict, Deadline deadline);
  Status takeBackPage(std::span<const Owed> page, Deadline deadline);
  std::vector<Owed> takePage();

  Parts parts_;
  const bool publishes_;
  Histogram batchSizes_{1};
  Histogram nanoseconds_{16000};
  std::mutex mutex_;
  std::vector<Owed> owed_;  // guarded by mutex_
};

}  // namespace sluice::admission
