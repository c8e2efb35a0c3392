// The demo, small: its figures are right, and parse.
#include <Poco/JSON/Object.h>
#include <Poco/JSON/Parser.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.h"

namespace sluice::test {
namespace {

using Object = Poco::JSON::Object::Ptr;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> demo(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"demo", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Object parse(const std::string& json) { return Poco::JSON::Parser().parse(json).extract<Object>(); }

std::int64_t sum(const Object& counts) {
  std::int64_t total = 0;
  for (const auto& [name, number] : *counts) {
    total += number.convert<std::int64_t>();
  }
  return total;
}

TEST(Demo, SellsExactlyWhatThereIs) {
  const ProgramResult result = runSluice(demo({"--users", "300", "--stock", "20"}));
  ASSERT_EQ(result.exitCode, 0) << result.out << result.err;
  const Object figures = parse(result.out);
  EXPECT_THAT(figures->getNames(),
              UnorderedElementsAre("requests", "verdicts", "admitted", "stored", "oversold", "double",
                                   "latency_ms", "seconds_to_stored", "audit"));
  EXPECT_EQ(figures->getValue<int>("requests"), 303);
  const Object verdicts = figures->getObject("verdicts");
  EXPECT_EQ(sum(verdicts), 303);
  EXPECT_EQ(verdicts->getValue<int>("admitted"), 20);
  EXPECT_EQ(figures->getValue<int>("admitted"), 20);
  EXPECT_EQ(figures->getValue<int>("stored"), 20);
  EXPECT_EQ(figures->getValue<int>("oversold"), 0);
  EXPECT_EQ(figures->getValue<int>("double"), 0);
  const Object latency = figures->getObject("latency_ms");
  EXPECT_THAT(latency->getNames(), UnorderedElementsAre("mean", "p50", "p99", "max"));
  EXPECT_GT(latency->getValue<double>("p50"), 0);
  EXPECT_LE(latency->getValue<double>("p50"), latency->getValue<double>("p99"));
  EXPECT_LE(latency->getValue<double>("p99"), latency->getValue<double>("max"));
  EXPECT_GT(figures->getValue<double>("seconds_to_stored"), 0);
  EXPECT_EQ(figures->getValue<std::string>("audit"), "clean");
}

TEST(Demo, GivesEachUserOneWhereThereIsEnough) {
  const ProgramResult result = runSluice(demo({"--users", "50", "--stock", "200", "--repeat", "1"}));
  ASSERT_EQ(result.exitCode, 0) << result.out << result.err;
  const Object figures = parse(result.out);
  EXPECT_EQ(figures->getValue<int>("requests"), 100);
  EXPECT_EQ(figures->getObject("verdicts")->getValue<int>("admitted"), 50);
  EXPECT_EQ(figures->getObject("verdicts")->getValue<int>("already_ordered"), 50);
  EXPECT_EQ(figures->getValue<int>("stored"), 50);
}

TEST(Demo, RunsWithTheBlockingQueueToo) {
  const ProgramResult result =
      runSluice(demo({"--users", "100", "--stock", "10", "--queue", "inproc", "--set", "journal=off"}));
  ASSERT_EQ(result.exitCode, 0) << result.out << result.err;
  EXPECT_EQ(parse(result.out)->getValue<int>("stored"), 10);
}

TEST(Demo, SaysWhyTheServerDoesNotComeUp) {
  const ProgramResult result = runSluice(demo({"--queue", "streem"}));
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("streem"));
}

TEST(Demo, PrintsTheSameForPeople) {
  const ProgramResult result = runSluice({"demo", "--users", "30", "--stock", "3"});
  ASSERT_EQ(result.exitCode, 0) << result.out << result.err;
  for (const char* line : {"requests  30 of 30 users", "admitted  3 for 3 pieces", "stored    3",
                           "oversold  0", "double    0", "audit     clean"}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
}

}  // namespace
}  // namespace sluice::test
