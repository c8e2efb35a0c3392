// What every qualifier shows to a forwarder: the lease (case V23), waiting for the journal (V24), and what becomes
// of entries that do not decode (V25).
#include <atomic>
#include <thread>

#include "sluice/limits.h"

#include "contract/qualifier_contract.h"

namespace sluice::test {
namespace {

using std::chrono::hours;

TEST_P(QualifierContract, V23_OneOfSeveralLeadsAndTheOthersLearnWho) {
  const Lead first = lead("one");
  EXPECT_TRUE(first.ours);
  EXPECT_TRUE(first.taken);
  EXPECT_EQ(first.owner, "one");
  const Lead other = lead("other");
  EXPECT_FALSE(other.ours);
  EXPECT_FALSE(other.taken);
  EXPECT_EQ(other.owner, "one");
  const Lead again = lead("one");
  EXPECT_TRUE(again.ours);
  EXPECT_FALSE(again.taken) << "renewed";
}

TEST_P(QualifierContract, V23_OfManyWhoAskAtOnceOneLeads) {
  for (int round = 0; round < sized(5, 200); ++round) {
    const auto name = [round](int k) { return "server" + std::to_string(8 * round + k); };
    std::atomic<int> leaders{0};
    std::atomic<int> fresh{0};
    inThreads(8, [&](int k) {
      const Lead answer = lead(name(k));
      leaders += answer.ours ? 1 : 0;
      fresh += answer.taken ? 1 : 0;
    });
    EXPECT_EQ(leaders, 1);
    EXPECT_EQ(fresh, 1);
    for (int k = 0; k < 8; ++k) {
      resign(name(k));
    }
  }
}

TEST_P(QualifierContract, V23_WhoDoesNotRenewLosesTheLeaseAndLearnsIt) {
  ASSERT_TRUE(lead("frozen", milliseconds(100)).ours);
  EXPECT_FALSE(lead("next").ours);
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_TRUE(lead("next").taken);
  const Lead late = lead("frozen");
  EXPECT_FALSE(late.ours);
  EXPECT_EQ(late.owner, "next");
}

TEST_P(QualifierContract, V23_ALeaseThatRanOutIsKeptWhereNobodyElseHadItMeanwhile) {
  ASSERT_TRUE(lead("slow", milliseconds(50)).taken);
  std::this_thread::sleep_for(milliseconds(80));
  const Lead late = lead("slow");
  EXPECT_TRUE(late.ours);
  EXPECT_FALSE(late.taken) << "nothing happened without him";
  resign("slow");
  EXPECT_TRUE(lead("other").taken);
  resign("other");
  EXPECT_TRUE(lead("slow").taken);
}

TEST_P(QualifierContract, V23_RenewedInTimeItIsKeptBeyondItsFirstEnd) {
  for (int round = 0; round < 6; ++round) {
    EXPECT_EQ(lead("one", scaled(milliseconds(1000))).taken, round == 0);
    std::this_thread::sleep_for(scaled(milliseconds(250)));
    EXPECT_FALSE(lead("other").ours);
  }
}

TEST_P(QualifierContract, V23_GivenUpTheNextOneHasItAtOnce) {
  ASSERT_TRUE(lead("one").ours);
  resign("other");
  EXPECT_FALSE(lead("other").ours) << "nobody gives up what is another's";
  resign("one");
  resign("one");
  EXPECT_TRUE(lead("other").taken);
  resign("one");
  EXPECT_TRUE(lead("other").ours);
}

TEST_P(QualifierContract, V23_AServerThatLostItsDataHasNoLeaderAndARestartedOneKeepsHim) {
  ASSERT_TRUE(lead("one").ours);
  world().restartServer(true);
  probeUntilAnswered();
  EXPECT_FALSE(lead("one").taken);
  world().restartServer(false);
  probeUntilAnswered();
  EXPECT_TRUE(lead("one").taken) << "he has to know, so that he reads the journal anew";
}

TEST_P(QualifierContract, V23_AnOwnerHasANameAndALeaseALength) {
  EXPECT_EQ(asked().lead("", hours(1), soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(asked().resign("", soon()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(asked().lead("one", milliseconds(0), soon()).error().code, ErrorCode::InvalidArgument);
  const std::string longest(limits::kOwnerBytesMax, 'x');
  EXPECT_TRUE(lead(longest).ours);
  EXPECT_EQ(asked().lead(longest + "x", hours(1), soon()).error().code, ErrorCode::InvalidArgument);
}

TEST_P(QualifierContract, V24_WaitingEndsWithAnEntryAndBringsAllThatIsThere) {
  load(voucherOf(10));
  decide({request(1, 1), request(2, 2), request(3, 3)});
  const auto first = asked().awaitJournal({}, 2, soon());
  ASSERT_TRUE(first) << first.error().text;
  ASSERT_EQ(first.value().size(), 2U);
  EXPECT_EQ(first.value()[0].admission.value().order, OrderId(1));
  const auto rest = asked().awaitJournal(first.value().back().id, 100, soon());
  ASSERT_EQ(rest.value().size(), 1U);
  const JournalId last = rest.value()[0].id;
  std::thread buyer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    decide({request(4, 4)});
  });
  const auto woken = asked().awaitJournal(last, 100, soon());
  buyer.join();
  ASSERT_TRUE(woken) << woken.error().text;
  ASSERT_EQ(woken.value().size(), 1U);
  EXPECT_EQ(woken.value()[0].admission.value().order, OrderId(4));
}

TEST_P(QualifierContract, V24_WaitingEndsAtItsDeadlineAndKeepsNobodyElseWaiting) {
  const SteadyTime began = std::chrono::steady_clock::now();
  std::atomic<int> asks{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      asks += asked().readJournal({}, 1, soon()) ? 1 : 0;
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const auto nothing = asked().awaitJournal({}, 10, Deadline::in(milliseconds(300)));
  over = true;
  other.join();
  ASSERT_TRUE(nothing) << nothing.error().text;
  EXPECT_THAT(nothing.value(), testing::IsEmpty());
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(290));
  EXPECT_GT(asks, 5);
}

TEST_P(QualifierContract, V24_StopEndsTheWait) {
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    asked().stop();
  });
  const auto ended = asked().awaitJournal({}, 10, Deadline::in(scaled(milliseconds(20000))));
  stopper.join();
  EXPECT_FALSE(ended);
}

TEST_P(QualifierContract, V25_WhatDoesNotDecodeIsPutAsideToTheByteAndTheRestStays) {
  load(voucherOf(10));
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
  }
  decide({request(1, 1)});
  world().appendUndecodable(bytes);
  decide({request(2, 2)});
  world().appendUndecodable("");
  const auto page = asked().readJournal({}, 10, soon());
  ASSERT_EQ(page.value().size(), 4U);
  EXPECT_FALSE(page.value()[1].admission);
  EXPECT_EQ(asked().setAside(page.value(), soon()).value(), 2U);
  EXPECT_EQ(asked().setAside(page.value(), soon()).value(), 0U) << "once";
  EXPECT_THAT(world().aside(), testing::ElementsAre(bytes, ""));
  EXPECT_EQ(journal().size(), 2U);
  EXPECT_EQ(probe().asideDepth, 2);
  EXPECT_EQ(probe().journalDepth, 2);
}

TEST_P(QualifierContract, V25_WhatIsNotThereIsNotPutAside) {
  const std::vector<JournalEntry> gone = {{{1, 0}, Error{ErrorCode::Corrupt, "gone meanwhile"}}};
  EXPECT_EQ(asked().setAside(gone, soon()).value(), 0U);
  EXPECT_EQ(asked().setAside({}, soon()).value(), 0U);
  EXPECT_THAT(world().aside(), testing::IsEmpty());
}

}  // namespace
}  // namespace sluice::test
