// What the tests of the Lua qualifier share: a private Redis, a qualifier that is started and trusted,
// short ways to ask.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/lua_qualifier.h"
#include "sluice/qualifier.h"

#include "support/private_redis.h"

namespace sluice::test {

// The machine's clock, wrong by as much as a test says.
class WrongClock final : public Clock {
 public:
  [[nodiscard]] UtcTime now() const noexcept override {
    return systemClock().now() + milliseconds(offsetMs_.load());
  }
  [[nodiscard]] SteadyTime steady() const noexcept override { return systemClock().steady(); }
  void beWrongBy(milliseconds offset) noexcept { offsetMs_ = offset.count(); }

 private:
  std::atomic<std::int64_t> offsetMs_{0};
};

inline const VoucherId kVoucher{17};
inline const std::string kVoucherKey = "sluice:{0}:voucher:17";
inline const std::string kHoldsKey = "sluice:{0}:holds:17";
inline const std::string kEligibleKey = "sluice:{0}:eligible:17";
inline const std::string kIdempotencyKey = "sluice:{0}:keys:17";
inline const std::string kJournalKey = "sluice:{0}:orders";

class QualifyFixture : public ::testing::Test {
 protected:
  explicit QualifyFixture(std::vector<std::string> redisArguments = {}) : redis(std::move(redisArguments)) {}

  void SetUp() override { open({}); }

  // A new qualifier, started and trusted; the one before is gone.
  void open(LuaQualifierOptions options);

  [[nodiscard]] static Deadline soon() { return Deadline::in(milliseconds(10000)); }

  // A voucher on sale from an hour ago to in an hour.
  [[nodiscard]] static Voucher voucherOf(std::int64_t stock, std::int32_t limit = 1);
  [[nodiscard]] static Order liveOrder(std::int64_t order, std::int64_t user, std::int32_t quantity = 1);
  [[nodiscard]] static Admission admission(std::int64_t order, std::int64_t user, std::int32_t quantity = 1);
  [[nodiscard]] static QualifyRequest request(std::int64_t order, std::int64_t user,
                                              std::int32_t quantity = 1, std::string_view key = {}) {
    return {OrderId(order), UserId(user), quantity, key};
  }

  // Loads without orders and eligible users; fails the test where that does not work.
  void load(const Voucher& voucher);
  void load(const Voucher& voucher, std::vector<Order> liveOrders, std::vector<UserId> eligible = {});
  Result<LoadOutcome> tryLoad(const Voucher& voucher, std::vector<Order> liveOrders = {},
                              std::vector<UserId> eligible = {});

  // Fails the test where the call answers an error.
  std::vector<Decision> decide(const std::vector<QualifyRequest>& requests, VoucherId voucher = kVoucher);
  std::vector<Decision> decideAt(UtcTime now, const std::vector<QualifyRequest>& requests);
  Decision decideOne(const QualifyRequest& request) { return decide({request}).at(0); }
  Status tryDecide(const QualifyRequest& request, Deadline deadline = soon());

  VoucherSnapshot snapshot();
  std::vector<Hold> holdsOf(std::int64_t user);
  std::vector<Admission> journal();
  // Counters add up, and they are those of the holds.
  void expectConserved();

  PrivateRedis redis;
  WrongClock clock;
  std::unique_ptr<Qualifier> qualifier;
};

// "admitted 5 fresh", "already_ordered 5", "sold_out": reads well in failures.
[[nodiscard]] std::string text(const Decision& decision);
[[nodiscard]] std::vector<std::string> texts(const std::vector<Decision>& decisions);

}  // namespace sluice::test
