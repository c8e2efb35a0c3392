// Bytes that anybody who has the server can put into the queue: they are dead letters to the byte, and stop
// nobody.
#include "contract/queue_contract.h"

namespace sluice::test {

namespace {

std::string everyByte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes += static_cast<char>(byte);
  return bytes;
}

}  // namespace

// Injects all between two good messages; the good ones are delivered, the rest is put aside as it was.
void QueueBytes::expectPutAside(const std::vector<std::string>& foreign) {
  begin({.deadMax = foreign.size()});
  publish(1, 1);
  for (const std::string& bytes : foreign)
    ASSERT_TRUE(fixture_->inject(bytes));
  publish(2, 1);
  EXPECT_EQ(ordersOf(take(2)), numbers(1, 2)) << "consumption goes on";
  const auto letters = dead();
  ASSERT_EQ(letters.size(), foreign.size());
  for (std::size_t k = 0; k < foreign.size(); ++k) {
    EXPECT_EQ(letters[k].bytes, foreign[k].substr(0, limits::kDeadBytesMax)) << k;
    EXPECT_FALSE(letters[k].admission) << k;
    EXPECT_EQ(letters[k].reason.rfind("undecodable: ", 0), 0U) << letters[k].reason;
    EXPECT_EQ(queue_->replayDeadLetter(letters[k].id, Deadline::in(kSoon)).error().code, ErrorCode::Corrupt);
  }
  EXPECT_EQ(stats().deadLettered, foreign.size());
  EXPECT_EQ(stats().reconnects, 0U) << "the link is fine";
  EXPECT_EQ(fixture_->rawDepth(), 2);
}

TEST_P(QueueBytes, Q02_BytesOfEveryValueAreKept) {
  expectPutAside({everyByte(), std::string(1, '\0'), std::string("1 1\0 1", 6), "\r\n", "a\r\nb\n",
                  "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n", "-ERR no\r\n", "+OK\r\n", ":1\r\n", "$-1\r\n",
                  std::string("\1\0\1\0\0\0\5\0\x3c\0\x28\0\xce", 13), std::string(256, '\xff')});
}

TEST_P(QueueBytes, Q03_TextOfEveryScriptIsKept) {
  expectPutAside({"", " ", "\xF0\x9F\x8E\x9F", "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D", "e\xCC\x81",
                  "\xE7\xA7\x92", "\xEF\xBB\xBF", "\xC0\xAF not UTF-8"});
}

TEST_P(QueueBytes, Q04_EverySizeIsKeptOrCut) {
  std::vector<std::string> foreign;
  for (std::size_t size = 1; size < limits::kDeadBytesMax; size *= 4) {
    for (const std::size_t near : {size - 1, size, size + 1})
      foreign.emplace_back(near, 'x');
  }
  for (const std::size_t size : {limits::kDeadBytesMax - 1, limits::kDeadBytesMax, limits::kDeadBytesMax + 1,
                                 limits::kDeadBytesMax * 16}) {
    foreign.emplace_back(size, 'x');
  }
  expectPutAside(foreign);
}

TEST_P(QueueBytes, Q28_WhatNearlyDecodesIsPutAsideToo) {
  const std::string good = encodeAdmission(admissionOf(3));
  std::vector<std::string> foreign = {"garbage", good + " ", " " + good, good + " 1",
                                      good + std::string(1, '\0')};
  for (std::size_t size = 1; size < good.size(); size += 5) {
    foreign.push_back(good.substr(good.size() - size));
  }
  expectPutAside(foreign);
}

TEST_P(QueueBytes, Q28_WhileTheDeadLettersAreFullTheGoodOnesGoOn) {
  begin({.lease = kShortLease, .deadMax = 3});
  for (int k = 0; k < 4; ++k)
    ASSERT_TRUE(fixture_->inject("garbage"));
  publish(1, 5);
  EXPECT_EQ(ordersOf(take(5)), numbers(1, 5));
  EXPECT_LE(dead().size(), 3U);
  EXPECT_EQ(fixture_->rawDepth() + static_cast<std::int64_t>(dead().size()), 9) << "none was dropped";
}

}  // namespace sluice::test
