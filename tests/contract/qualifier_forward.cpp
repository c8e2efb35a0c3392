// What every qualifier shows: the forwarder's lease (case V23).
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
    std::atomic<int> leaders{0};
    std::atomic<int> fresh{0};
    inThreads(8, [&](int k) {
      const Lead answer = lead("server" + std::to_string(k));
      leaders += answer.ours ? 1 : 0;
      fresh += answer.taken ? 1 : 0;
    });
    EXPECT_EQ(leaders, 1);
    EXPECT_EQ(fresh, 1);
    for (int k = 0; k < 8; ++k) {
      resign("server" + std::to_string(k));
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

}  // namespace
}  // namespace sluice::test
