// Recovery: makes good what a restarted Redis may have lost, page by page of recent rows, and goes on where
// it stopped.
//
// Threads:  one at a time.
// Note:     a call that fails or runs out of time loses its page only, so that with any number of recent rows
//           it ends. Rows that change meanwhile come again, behind the place where it stands. Vouchers whose
//           keys cannot be read are left out, so that the other sales need not wait for their repair, and
//           are looked at again later.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sluice/operations.h"

namespace sluice::lifecycle {

class Recovery {
 public:
  explicit Recovery(Parts parts) : parts_(parts) {}

  // Goes on with the server of this identity, or begins where it is another one than before: with the rows
  // changed within `window` before the newest change. ok: all of them were compared, but those of vouchers
  // left out.
  [[nodiscard]] Status goOn(const std::string& identity, milliseconds window, Deadline deadline);
  // Compares the rows of the vouchers left out again. ok: none is left.
  [[nodiscard]] Status lookAgain(Deadline deadline);
  [[nodiscard]] bool leftOut() const noexcept { return !state_.leftOut.empty() || !state_.only.empty(); }
  // What was done for this server since the beginning.
  [[nodiscard]] const RecoveryReport& report() const noexcept { return state_.report; }

 private:
  Status walk(milliseconds window, Deadline deadline);
  Status recoverPage(const std::vector<Order>& rows, Deadline deadline);
  Status recoverVoucher(VoucherId voucher, std::span<const Order> rows, Deadline deadline);
  Status releaseAgain(std::span<const Order> dead, Deadline deadline);
  Status restoreLive(std::span<const Order> live, Deadline deadline);

  struct State {
    std::string identity;
    std::optional<ChangePoint> begin;  // just before the first row of the window; none before it was read
    ChangePoint at;                    // rows up to here are compared
    std::set<VoucherId> only;          // the vouchers of this walk; all where empty
    std::set<VoucherId> leftOut;
    RecoveryReport report;
  };
  Parts parts_;
  State state_;
};

}  // namespace sluice::lifecycle
