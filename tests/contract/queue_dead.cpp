// Dead letters and delayed retries.
#include <thread>

#include "contract/queue_contract.h"

namespace sluice::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueDelay);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueLease);

TEST_P(QueueContract, ADeadLetterTellsItsWholeStory) {
  publish(7, 1);
  settle(settlementsOf(take(1), SettleKind::RetryLater));
  auto last = settlementsOf(take(1), SettleKind::DeadLetter);
  last.at(0).reason = "the store refused it: \"value out of range\"\n";
  const UtcTime before = systemClock().now();
  settle(last);
  const auto letters = dead();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_FALSE(letters[0].id.empty());
  EXPECT_EQ(letters[0].admission, admissionOf(7));
  EXPECT_EQ(letters[0].bytes, encodeAdmission(admissionOf(7)));
  EXPECT_EQ(letters[0].reason, last[0].reason);
  EXPECT_EQ(letters[0].deliveries, 2U);
  EXPECT_EQ(letters[0].failures, 1U);
  EXPECT_GE(letters[0].deadAt, before);
  EXPECT_LE(letters[0].deadAt, systemClock().now());
  EXPECT_EQ(fixture_->rawDepth(), 0);
  expectQuiet(*queue_, 0);
}

TEST_P(QueueContract, ALongReasonIsCut) {
  const std::string reason(limits::kReasonBytesMax + 100, 'x');
  EXPECT_EQ(deadLetter(1, reason).reason, reason.substr(0, limits::kReasonBytesMax));
}

TEST_P(QueueContract, DeadLettersArePagedOldestFirst) {
  publish(1, 25);
  settle(settlementsOf(take(25), SettleKind::DeadLetter));
  std::vector<std::int64_t> orders;
  std::set<std::string> ids;
  std::string after;
  while (true) {
    const auto page = queue_->deadLetters(after, 10, Deadline::in(kSoon));
    ASSERT_TRUE(page.ok()) << page.error().text;
    if (page.value().empty()) break;
    EXPECT_LE(page.value().size(), 10U);
    for (const DeadLetter& letter : page.value()) {
      orders.push_back(letter.admission->order.value());
      ids.insert(letter.id);
    }
    after = page.value().back().id;
  }
  EXPECT_EQ(orders.size(), 25U);
  EXPECT_TRUE(std::is_sorted(orders.begin(), orders.end()));
  EXPECT_EQ(ids.size(), 25U);
  for (const std::size_t wrong : {std::size_t{0}, limits::kPageMax + 1}) {
    EXPECT_EQ(queue_->deadLetters("", wrong, Deadline::in(kSoon)).error().code, ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(queue_->deadLetters("no such id", 1, Deadline::in(kSoon)).error().code,
            ErrorCode::InvalidArgument);
}

TEST_P(QueueContract, ReplayStartsAnewUnderTheSameAdmission) {
  publish(1, 1);
  settle(settlementsOf(take(1), SettleKind::RetryLater));
  settle(settlementsOf(take(1), SettleKind::DeadLetter));
  const auto letters = dead();
  ASSERT_EQ(letters.size(), 1U);
  const auto found = queue_->findDeadLetter(letters[0].id, Deadline::in(kSoon));
  ASSERT_TRUE(found.ok() && found.value());
  EXPECT_EQ(found.value()->bytes, letters[0].bytes);
  const Status replayed = queue_->replayDeadLetter(letters[0].id, Deadline::in(kSoon));
  ASSERT_TRUE(replayed.ok()) << replayed.error().text;
  EXPECT_TRUE(dead().empty());
  const auto again = take(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].admission, admissionOf(1));
  EXPECT_EQ(again[0].deliveries, 1U);
  EXPECT_EQ(again[0].failures, 0U);
  settle(settlementsOf(again));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueContract, WhatIsGoneIsNotFound) {
  const DeadLetter letter = deadLetter(1, "x");
  const Deadline deadline = Deadline::in(kSoon);
  ASSERT_TRUE(queue_->removeDeadLetter(letter.id, deadline).ok());
  for (const std::string& id : {letter.id, std::string("nonsense"), std::string()}) {
    EXPECT_EQ(queue_->removeDeadLetter(id, deadline).error().code, ErrorCode::NotFound) << id;
    EXPECT_EQ(queue_->replayDeadLetter(id, deadline).error().code, ErrorCode::NotFound) << id;
    const auto found = queue_->findDeadLetter(id, deadline);
    ASSERT_TRUE(found.ok()) << id;
    EXPECT_FALSE(found.value()) << id;
  }
  EXPECT_EQ(stats().deadLetters, 0);
}

TEST_P(QueueContract, FullDeadLettersBlockAndDropNothing) {
  const auto max = static_cast<std::int64_t>(fixture_->deadMax());
  publish(1, max + 2);
  const auto held = take(static_cast<std::size_t>(max + 2));
  ASSERT_EQ(held.size(), fixture_->deadMax() + 2);
  std::vector<Delivery> part(held.begin(), held.begin() + max);
  settle(settlementsOf(part, SettleKind::DeadLetter));
  part.assign(held.begin() + max, held.end());
  auto mixed = settlementsOf(part);
  mixed[1].kind = SettleKind::DeadLetter;
  const auto refused = queue_->settle(0, mixed, Deadline::in(kSoon));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Overloaded);
  EXPECT_EQ(fixture_->rawDepth(), 2) << "nothing was taken";
  ASSERT_TRUE(queue_->removeDeadLetter(dead().at(0).id, Deadline::in(kSoon)).ok());
  settle(mixed);
  EXPECT_EQ(fixture_->rawDepth(), 0);
  EXPECT_EQ(dead().size(), fixture_->deadMax());
}

TEST_P(QueueDelay, ADelayedRetryWaitsAndOthersFlow) {
  constexpr milliseconds kDelay{400};
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = kDelay;
  const auto begin = std::chrono::steady_clock::now();
  settle(later);
  publish(2, 3);
  EXPECT_EQ(ordersOf(take(3)), (std::vector<std::int64_t>{2, 3, 4}));
  const auto again = take(1);
  const auto waited = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].admission, admissionOf(1));
  // The server's clock and ours both count whole milliseconds.
  EXPECT_GE(waited, kDelay - milliseconds(2));
  EXPECT_LT(waited, kSoon / 2);
}

TEST_P(QueueDelay, DelaysAreKeptPerMessage) {
  publish(1, 3);
  auto later = settlementsOf(take(3), SettleKind::RetryLater);
  later.at(0).delay = milliseconds(500);
  later.at(1).delay = milliseconds(100);
  later.at(2).delay = milliseconds(300);
  settle(later);
  EXPECT_EQ(ordersOf(take(3)), (std::vector<std::int64_t>{2, 3, 1}));
}

TEST_P(QueueDelay, ADelayLongerThanTheLeaseIsKept) {
  const milliseconds delay = fixture_->lease() * 3 + milliseconds(300);
  publish(1, 1);
  auto later = settlementsOf(take(1), SettleKind::RetryLater);
  later.at(0).delay = delay;
  const auto begin = std::chrono::steady_clock::now();
  settle(later);
  const auto again = take(1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, delay - milliseconds(2));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].deliveries, 2U);
}

TEST_P(QueueLease, ExtensionKeepsAMessageOverManyLeases) {
  publish(1, 2);
  const auto held = take(2);
  ASSERT_EQ(held.size(), 2U);
  const auto other = open("other");
  const Deadline end = Deadline::in(fixture_->lease() * 5);
  while (!end.passed()) {
    const auto extended = queue_->extend(0, tokensOf({held[0]}), Deadline::in(kSoon));
    ASSERT_TRUE(extended.ok()) << extended.error().text;
    std::this_thread::sleep_for(fixture_->lease() / 8);
  }
  // The one that nobody extended comes again, the other one does not.
  const auto again = take(*other, 0, 1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].admission, held[1].admission);
  settle(settlementsOf({held[0]}));
  EXPECT_EQ(countSettled(*queue_, 0, settlementsOf({held[1]})), 0U);
  settle(*other, 0, settlementsOf(again));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

TEST_P(QueueLease, ExtendingWhatIsNotOursChangesNothing) {
  publish(1, 1);
  const auto held = take(1);
  const auto other = open("other");
  const auto again = take(*other, 0, 1);
  ASSERT_EQ(again.size(), 1U);
  ASSERT_TRUE(queue_->extend(0, tokensOf(held), Deadline::in(kSoon)).ok());
  ASSERT_TRUE(queue_->extend(0, std::vector<DeliveryToken>{{9, 9, 9}}, Deadline::in(kSoon)).ok());
  settle(*other, 0, settlementsOf(again));
  EXPECT_EQ(fixture_->rawDepth(), 0);
}

}  // namespace sluice::test
