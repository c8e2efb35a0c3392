// Very many orders through the in-process queue with the journal on: journal, Redis and the process are afterwards as
// they were before.
#include <iostream>

#include <gtest/gtest.h>

#include "sluice/audit.h"

#include "support/effort.h"
#include "support/faulty_engine.h"
#include "support/footprint.h"
#include "support/private_redis.h"
#include "support/temp_folder.h"

namespace sluice::test {
namespace {

class Flat : public testing::Test {
 protected:
  // A sale of so many, until each has its row; then the keys of its voucher go, which stay for a month otherwise.
  void sell(VoucherId voucher, std::int64_t count) {
    engine_.sell(voucher, count);
    const auto answers = engine_.orderAll(voucher, count);
    for (const OrderAnswer& answer : answers) {
      ASSERT_EQ(answer.verdict, Verdict::Admitted) << verdictName(answer.verdict);
    }
    sold_ += static_cast<std::uint64_t>(count);
    const Deadline end = Deadline::in(scaled(sized(milliseconds(60'000), milliseconds(1'200'000))));
    while (engine_.engine().stats().stored < sold_ || journal() > 0) {
      ASSERT_FALSE(end.passed()) << engine_.engine().stats().stored << " of " << sold_ << " stored, journal "
                                 << journal();
      std::this_thread::sleep_for(milliseconds(20));
    }
    for (const char* kind : {"voucher", "holds", "eligible", "keys"}) {
      redis_.command({"DEL", std::string("sluice:{0}:") + kind + ":" + voucher.text()});
    }
  }
  std::int64_t journal() { return redis_.number({"XLEN", "sluice:{0}:orders"}); }
  std::int64_t redisKiB() {
    redis_.command({"MEMORY", "PURGE"});
    const std::string info = redis_.text({"INFO", "memory"});
    const std::string key = "used_memory:";
    return std::stoll(info.substr(info.find(key) + key.size())) / 1024;
  }

  PrivateRedis redis_{{"--appendfsync", "everysec"}};
  TempFolder data_;
  FaultyEngine engine_{Settings{{"redis.socket", redis_.target().socketPath},
                                {"data.dir", data_.path()},
                                {"log.file", data_.file("log")},
                                {"store.sqlite.synchronous", "normal"},
                                {"queue", "inproc"},
                                {"queue.inproc.capacity", "20000"},
                                {"journal", "on"}}};
  std::uint64_t sold_ = 0;
};

TEST_F(Flat, AMillionOrdersThroughTheForwarderLeaveNothingBehind) {
  // Until caches and the heap have the size that they keep.
  const std::int64_t warmUp = sized<std::int64_t>(60'000, 300'000);
  const std::int64_t count = sized<std::int64_t>(60'000, 1'000'000);
  engine_.start();
  ASSERT_NO_FATAL_FAILURE(sell(VoucherId(1), warmUp));
  const std::int64_t redisBefore = redisKiB();
  const Footprint before = footprint();
  ASSERT_NO_FATAL_FAILURE(sell(VoucherId(2), count));
  const std::int64_t redisAfter = redisKiB();
  const Footprint after = footprint();
  const ForwarderStats forwarder = engine_.engine().stats().forwarder;
  std::cout << count << " orders: Redis KiB " << redisBefore << " -> " << redisAfter << ", journal "
            << journal() << ", resident KiB " << before.memoryKiB << " -> " << after.memoryKiB
            << ", forwarded " << forwarder.forwarded << ", read from the start " << forwarder.rereads << '\n';
  EXPECT_EQ(journal(), 0);
  EXPECT_EQ(forwarder.forwarded, sold_) << "nothing twice";
  EXPECT_LE(redisAfter, redisBefore + 2048);
  EXPECT_LE(after.threads, before.threads);
  if (memoryCounts()) {
    EXPECT_LE(after.memoryKiB, before.memoryKiB + sized(24, 16) * 1024);
  }
  engine_.stop();
}

}  // namespace
}  // namespace sluice::test
