// The contract suite of Qualifier: short ways to ask, and the fixture on which every qualifier, the fake too,
// shows the same cases.
//
// An implementation's own test file makes a QualifierKind and instantiates QualifierContract with it; the
// tests come with the object library sluice_qualifier_contract. They say only what sluice/qualifier.h
// promises.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/qualifier.h"

#include "contract/matrix.h"
#include "support/effort.h"

namespace sluice::test {

inline const VoucherId kVoucher{17};
inline constexpr std::string_view kKey = "0123456789abcdef";
inline constexpr std::string_view kOtherKey = "fedcba9876543210";

// "admitted 5 fresh", "already_ordered 5", "sold_out": reads well in failures.
[[nodiscard]] std::string text(const Decision& decision);
[[nodiscard]] std::vector<std::string> texts(const std::vector<Decision>& decisions);

// Words for tests of a qualifier. All ask about kVoucher and fail the test where a call answers an error,
// unless their name begins with try.
class QualifierAsking {
 protected:
  virtual ~QualifierAsking();
  [[nodiscard]] virtual Qualifier& asked() = 0;
  // The qualifier's own time.
  [[nodiscard]] virtual UtcTime now() const = 0;

  [[nodiscard]] static Deadline soon() { return Deadline::in(scaled(milliseconds(10000))); }
  // On sale from an hour ago to in an hour.
  [[nodiscard]] Voucher voucherOf(std::int64_t stock, std::int32_t limit = 1) const;
  [[nodiscard]] static Order liveOrder(std::int64_t order, std::int64_t user, std::int32_t quantity = 1);
  [[nodiscard]] static Admission admission(std::int64_t order, std::int64_t user, std::int32_t quantity = 1);
  [[nodiscard]] static QualifyRequest request(std::int64_t order, std::int64_t user,
                                              std::int32_t quantity = 1, std::string_view key = {}) {
    return {OrderId(order), UserId(user), quantity, key};
  }

  void load(const Voucher& voucher, std::vector<Order> liveOrders = {}, std::vector<UserId> eligible = {});
  Result<LoadOutcome> tryLoad(const Voucher& voucher, std::vector<Order> liveOrders = {},
                              std::vector<UserId> eligible = {});
  std::vector<Decision> decide(const std::vector<QualifyRequest>& requests, VoucherId voucher = kVoucher);
  std::vector<Decision> decideAt(UtcTime now, const std::vector<QualifyRequest>& requests);
  Decision decideOne(const QualifyRequest& request) { return decide({request}).at(0); }
  Status tryDecide(const QualifyRequest& request, Deadline deadline = soon());
  std::vector<ReleaseOutcome> release(const std::vector<Admission>& orders);
  std::size_t restore(const std::vector<Order>& rows);
  SyncOutcome sync(const Voucher& voucher);
  QualifierHealth probe();
  VoucherSnapshot snapshot();
  std::vector<Hold> holdsOf(std::int64_t user);
  std::vector<Admission> journal();
  Lead lead(const std::string& owner, milliseconds lease = std::chrono::hours(1));
  void resign(const std::string& owner);
  // Counters add up, and they are those of the holds.
  void expectConserved();
};

struct JournalSetting {
  bool on = true;
  std::int64_t max = 1'000'000;
};

// One server of a test's own behind one qualifier.
class QualifierWorld {
 public:
  virtual ~QualifierWorld();
  [[nodiscard]] virtual Qualifier& qualifier() = 0;
  [[nodiscard]] virtual UtcTime now() const = 0;
  // Another object on the same server, not started; the one before is stopped.
  virtual void reopen(JournalSetting journal) = 0;
  // The server died and is there again, with or without what it held.
  virtual void restartServer(bool keepsData) = 0;
  // The server's clock differs from ours by so much from the next probe on.
  virtual void setClockSkew(milliseconds skew) = 0;
  virtual void overwriteStock(VoucherId voucher, std::int64_t stock) = 0;
  virtual void appendJournal(const Admission& admission) = 0;
  // An entry as the qualifier writes it, but with these bytes in the place of an admission.
  virtual void appendUndecodable(const std::string& bytes) = 0;
  // The bytes of what was put aside, oldest first.
  virtual std::vector<std::string> aside() = 0;
  // Runs `ask` so that the work is done and its answer does not arrive by the deadline it is given.
  virtual void loseAnswer(const std::function<void(Deadline)>& ask) = 0;
};

struct QualifierKind {
  std::string name;
  std::function<std::unique_ptr<QualifierWorld>()> makeWorld;
  friend std::ostream& operator<<(std::ostream& out, const QualifierKind& kind) { return out << kind.name; }
};

class QualifierContract : public testing::TestWithParam<QualifierKind>, protected QualifierAsking {
 protected:
  void SetUp() override;
  [[nodiscard]] QualifierWorld& world() { return *world_; }
  [[nodiscard]] Qualifier& asked() override { return world_->qualifier(); }
  [[nodiscard]] UtcTime now() const override { return world_->now(); }
  // Another object, started and trusted.
  void open(JournalSetting journal);
  void startAndTrust();
  // After an outage: until the server answers again.
  QualifierHealth probeUntilAnswered();

 private:
  std::unique_ptr<QualifierWorld> world_;
};

// Makes every call that can be refused, each by `by()`; answers the code of each, Internal with a failed
// expectation where one is not refused. trust, stop and stats have no answer to refuse with.
[[nodiscard]] std::vector<std::pair<std::string, ErrorCode>> refusalsOfEveryCall(
    Qualifier& qualifier, const Voucher& voucher, UtcTime now, const std::function<Deadline()>& by);

// Runs `work(thread)` in `count` threads and waits for them.
void inThreads(int count, const std::function<void(int)>& work);

}  // namespace sluice::test
