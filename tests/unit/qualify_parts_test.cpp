// The parts of the Lua qualifier that need no server: the table of verdicts, the text of holds, what a
// server's words mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/verdict.h"

#include "qualify/hold_text.h"
#include "qualify/scripts.h"
#include "qualify/server_facts.h"
#include "qualify/server_trust.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(QualifyScripts, SeeEveryVerdictUnderItsNumberInOneLine) {
  const std::string constants = verdictConstants();
  EXPECT_THAT(constants, HasSubstr("local ADMITTED='0' "));
  EXPECT_THAT(constants, HasSubstr("local SOLD_OUT='8' "));
  EXPECT_THAT(constants, HasSubstr("local KEY_REUSED='11' "));
  EXPECT_EQ(constants.find('\n'), std::string::npos);
  for (const Verdict verdict : kVerdicts) {
    EXPECT_THAT(constants, HasSubstr("='" + std::to_string(static_cast<int>(verdict)) + "' "));
  }
}

TEST(QualifyScripts, AreAllEmbeddedAndDistinct) {
  const Scripts scripts;
  std::vector<std::string> shas;
  for (const RedisScript* script : scripts.all()) {
    EXPECT_THAT(script->source(), HasSubstr("KEYS[1]")) << script->name();
    EXPECT_THAT(shas, ::testing::Not(::testing::Contains(script->sha()))) << script->name();
    shas.push_back(script->sha());
  }
}

TEST(HoldText, ReadsWhatTheScriptsWrite) {
  std::vector<Hold> holds;
  ASSERT_TRUE(readHolds("7", "9223372036854775807:1,12:1000", holds));
  EXPECT_THAT(holds, ElementsAre(Hold{UserId(7), OrderId(9223372036854775807), 1},
                                 Hold{UserId(7), OrderId(12), 1000}));
}

TEST(HoldText, RefusesEverythingElseAndAddsNothing) {
  for (const char* wrong :
       {"", "1", "1:", ":1", "1:1,", ",1:1", "1:1,,2:1", "1:0", "0:1", "1:1001", "1:1:1", "1:1 ", "a:1"}) {
    std::vector<Hold> holds;
    EXPECT_EQ(readHolds("7", wrong, holds).error().code, ErrorCode::Corrupt) << wrong;
    EXPECT_THAT(holds, IsEmpty()) << wrong;
  }
  std::vector<Hold> holds;
  EXPECT_FALSE(readHolds("somebody", "1:1", holds));
}

TEST(ServerFacts, FindsWholeNamesInTheWordsOfInfo) {
  constexpr std::string_view kInfo =
      "# Server\r\nredis_version:7.0.15\r\nmy_run_id:x\r\nrun_id:abc\r\nempty:\r\nlast:1";
  EXPECT_EQ(infoField(kInfo, "run_id"), "abc");
  EXPECT_EQ(infoField(kInfo, "redis_version"), "7.0.15");
  EXPECT_EQ(infoField(kInfo, "empty"), "");
  EXPECT_EQ(infoField(kInfo, "last"), "1");
  EXPECT_EQ(infoField(kInfo, "redis"), "");
  EXPECT_EQ(infoField("", "run_id"), "");
}

TEST(ServerFacts, ASlowAnswerIsNoWrongClock) {
  EXPECT_EQ(certainSkew(fromMillis(1500), fromMillis(1000), fromMillis(3000)), milliseconds(0));
  EXPECT_EQ(certainSkew(fromMillis(900), fromMillis(1000), fromMillis(3000)), milliseconds(-100));
  EXPECT_EQ(certainSkew(fromMillis(3100), fromMillis(1000), fromMillis(3000)), milliseconds(100));
}

TEST(ServerFacts, JudgesVersionPolicyAndRole) {
  ServerFacts facts;
  facts.version = "5.0.3";
  facts.evictionPolicy = "noeviction";
  EXPECT_TRUE(judgeServer(facts));
  facts.version = "10.2.0";
  EXPECT_TRUE(judgeServer(facts));
  for (const char* old : {"4.0.14", "", "unknown"}) {
    facts.version = old;
    EXPECT_EQ(judgeServer(facts).error().code, ErrorCode::Misconfigured) << old;
  }
  facts.version = "7.0.15";
  facts.evictionPolicy = "volatile-lru";
  EXPECT_EQ(judgeServer(facts).error().code, ErrorCode::Misconfigured);
  facts.evictionPolicy = "noeviction";
  facts.replica = true;
  EXPECT_EQ(judgeServer(facts).error().code, ErrorCode::Unavailable);
  facts.replica = false;
  facts.loading = true;
  EXPECT_EQ(judgeServer(facts).error().code, ErrorCode::Unavailable);
}

TEST(ServerTrust, EndsWithEveryChangeAlsoWithAChangeBack) {
  ServerTrust trust;
  EXPECT_FALSE(trust.mayAdmit(0)) << "nobody was seen yet";
  const std::uint64_t first = trust.seen("a");
  EXPECT_TRUE(trust.isCurrent(first));
  EXPECT_FALSE(trust.mayAdmit(first));
  trust.trust("b");
  EXPECT_FALSE(trust.mayAdmit(first));
  trust.trust("a");
  EXPECT_TRUE(trust.mayAdmit(first));
  EXPECT_EQ(trust.seen("a"), first);
  EXPECT_TRUE(trust.mayAdmit(first));
  const std::uint64_t other = trust.seen("b");
  EXPECT_FALSE(trust.isCurrent(first));
  EXPECT_FALSE(trust.mayAdmit(other));
  const std::uint64_t back = trust.seen("a");
  EXPECT_NE(back, first);
  EXPECT_FALSE(trust.mayAdmit(back));
  EXPECT_FALSE(trust.mayAdmit(first));
}

}  // namespace
}  // namespace sluice
