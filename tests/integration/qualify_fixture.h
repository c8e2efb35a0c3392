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

#include "contract/qualifier_contract.h"
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

inline const std::string kVoucherKey = "sluice:{0}:voucher:17";
inline const std::string kHoldsKey = "sluice:{0}:holds:17";
inline const std::string kEligibleKey = "sluice:{0}:eligible:17";
inline const std::string kIdempotencyKey = "sluice:{0}:keys:17";
inline const std::string kJournalKey = "sluice:{0}:orders";

class QualifyFixture : public ::testing::Test, protected QualifierAsking {
 protected:
  explicit QualifyFixture(std::vector<std::string> redisArguments = {}) : redis(std::move(redisArguments)) {}

  void SetUp() override { open({}); }
  Qualifier& asked() override { return *qualifier; }
  UtcTime now() const override { return clock.now(); }

  // A new qualifier, started and trusted; the one before is gone.
  void open(LuaQualifierOptions options);

  PrivateRedis redis;
  WrongClock clock;
  std::unique_ptr<Qualifier> qualifier;
};

// The Lua qualifier on a private Redis, for the contract suite.
[[nodiscard]] std::unique_ptr<QualifierWorld> makeLuaWorld();

}  // namespace sluice::test
