// Dead letters: what every queue promises.
#include <algorithm>

#include "contract/queue_contract.h"

namespace sluice::test {

TEST_P(QueueContract, Q29_ADeadLetterTellsItsWholeStory) {
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

TEST_P(QueueContract, Q29_ALongReasonIsCut) {
  const std::string reason(limits::kReasonBytesMax + 100, 'x');
  EXPECT_EQ(deadLetter(1, reason).reason, reason.substr(0, limits::kReasonBytesMax));
}

TEST_P(QueueContract, Q51_TheJournalEntrysIdStaysWithItsMessage) {
  // A queue that reads the journal settles the entry itself: nobody else needs its id.
  const JournalId mine = queue_->traits().readsJournal ? JournalId{} : journalOf(OrderId(7));
  publish(7, 1);
  const auto first = take(1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].journal, mine);
  auto later = settlementsOf(first, SettleKind::RetryLater);
  if (queue_->traits().delayedRetry) later.at(0).delay = milliseconds(10);
  settle(later);
  const auto second = take(1);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].journal, mine);
  settle(settlementsOf(second, SettleKind::DeadLetter));
  const auto letters = dead();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].journal, mine);
  ASSERT_TRUE(queue_->replayDeadLetter(letters[0].id, Deadline::in(kSoon)).ok());
  const auto replayed = take(1);
  ASSERT_EQ(replayed.size(), 1U);
  EXPECT_EQ(replayed[0].journal, mine);
  settle(settlementsOf(replayed));
}

TEST_P(QueueContract, Q31_DeadLettersArePagedOldestFirst) {
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

TEST_P(QueueContract, Q31_ReplayStartsAnewUnderTheSameAdmission) {
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

TEST_P(QueueContract, Q31_ReplayNeedsAPlaceInTheQueue) {
  begin({.capacity = 2});
  const DeadLetter letter = deadLetter(1, "x");
  publish(2, 2);
  EXPECT_EQ(queue_->replayDeadLetter(letter.id, Deadline::in(kSoon)).error().code, ErrorCode::Overloaded);
  EXPECT_EQ(dead().size(), 1U) << "a full queue keeps the dead letter";
  settle(settlementsOf(take(2)));
  EXPECT_TRUE(queue_->replayDeadLetter(letter.id, Deadline::in(kSoon)).ok());
  EXPECT_EQ(ordersOf(take(1)), numbers(1, 1));
}

TEST_P(QueueContract, Q31_WhatIsGoneIsNotFound) {
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

TEST_P(QueueContract, Q31_FullDeadLettersBlockAndDropNothing) {
  const auto max = static_cast<std::int64_t>(fixture_->needs.deadMax);
  publish(1, max + 2);
  const auto held = take(static_cast<std::size_t>(max + 2));
  ASSERT_EQ(held.size(), fixture_->needs.deadMax + 2);
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
  EXPECT_EQ(dead().size(), fixture_->needs.deadMax);
}

}  // namespace sluice::test
