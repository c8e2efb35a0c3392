// The program's log: what a line looks like, what is cut and escaped, and that nobody ever waits for its
// writer.
#include "sluice/program_log.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/manual_clock.h"
#include "support/temp_folder.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class ProgramLogTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("sluice.log"); }

  std::unique_ptr<ProgramLog> open(LogLevel level = LogLevel::Debug) {
    auto log = makeProgramLog(level, path(), clock_);
    EXPECT_TRUE(log.ok()) << log.error().text;
    return std::move(log).take();
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    std::ifstream file(path());
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) {
      all.push_back(line);
    }
    return all;
  }

  // The one line that a text becomes, from its component on.
  std::string lineOf(std::string_view text) {
    std::filesystem::remove(path());
    open()->info("gate", text);
    const auto all = lines();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? "" : all.front().substr(all.front().find("gate: "));
  }

  test::ManualClock clock_;
  test::TempFolder folder_;
};

TEST_F(ProgramLogTest, ALineHasTimeLevelComponentAndText) {
  auto log = open();
  log->info("gate", "open");
  log->warning("gate", "slow");
  log->error("gate", "gone");
  log->write(LogLevel::Debug, "gate", "detail");
  log.reset();
  const auto all = lines();
  ASSERT_EQ(all.size(), 4u);
  const std::string time = "[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+[.][0-9]+Z ";
  EXPECT_THAT(all[0], MatchesRegex(time + "info gate: open"));
  EXPECT_THAT(all[1], MatchesRegex(time + "warning gate: slow"));
  EXPECT_THAT(all[2], MatchesRegex(time + "error gate: gone"));
  EXPECT_THAT(all[3], MatchesRegex(time + "debug gate: detail"));
}

TEST_F(ProgramLogTest, LinesBelowTheLevelAreNotWritten) {
  auto log = open(LogLevel::Warning);
  EXPECT_FALSE(log->enabled(LogLevel::Info));
  EXPECT_TRUE(log->enabled(LogLevel::Warning));
  log->info("gate", "quiet");
  log->repeated(LogLevel::Info, "gate", "topic", "quiet");
  log->error("gate", "loud");
  log.reset();
  const auto all = lines();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0], EndsWith("loud"));
}

TEST_F(ProgramLogTest, ControlCharactersAndBrokenTextAreEscaped) {
  EXPECT_EQ(lineOf("a\nb\r\tc"), "gate: a\\nb\\r\\tc");
  EXPECT_EQ(lineOf("\x1b[31mred\x7f"), "gate: \\x1b[31mred\\x7f");
  EXPECT_EQ(lineOf(std::string_view("nul\0!", 5)), "gate: nul\\x00!");
  EXPECT_EQ(lineOf("back\\slash"), "gate: back\\\\slash");
  EXPECT_EQ(lineOf("秒杀 é"), "gate: 秒杀 é");
  EXPECT_EQ(lineOf("\xff\xc0\xaf"), "gate: \\xff\\xc0\\xaf");
  EXPECT_EQ(lineOf("\xed\xa0\x80"), "gate: \\xed\\xa0\\x80");
  EXPECT_EQ(lineOf("cut \xe7\xa7"), "gate: cut \\xe7\\xa7");
  EXPECT_EQ(lineOf("\xe2\x80\xae turned"), "gate: \\u202e turned");
  EXPECT_EQ(lineOf("\xc2\x9b"), "gate: \\u009b");
  EXPECT_EQ(lineOf("100% {} %s"), "gate: 100% {} %s");
}

TEST_F(ProgramLogTest, ALineIsCutAtOneKibibyteBetweenCharacters) {
  const std::string ascii = lineOf(std::string(5000, 'x'));
  EXPECT_EQ(ascii.size(), 1024u);
  EXPECT_THAT(ascii, EndsWith("x..."));
  std::string wide;
  for (int k = 0; k < 500; ++k) {
    wide += "秒";
  }
  const std::string cut = lineOf(wide);
  EXPECT_LE(cut.size(), 1024u);
  EXPECT_GT(cut.size(), 1015u);
  EXPECT_THAT(cut, EndsWith("秒..."));
  EXPECT_THAT(lineOf(std::string(5000, '\n')), EndsWith("\\n..."));
}

TEST_F(ProgramLogTest, OfARepeatedTopicOneLineInTenSecondsIsWritten) {
  auto log = open();
  for (int k = 0; k < 5; ++k) {
    log->repeated(LogLevel::Warning, "forwarder", "store away", "the store does not answer");
    log->repeated(LogLevel::Warning, "forwarder", "queue full", "the queue is full");
    clock_.advance(milliseconds(1000));
  }
  clock_.advance(milliseconds(5000));
  log->repeated(LogLevel::Warning, "forwarder", "store away", "the store does not answer");
  clock_.advance(milliseconds(10000));
  log->repeated(LogLevel::Warning, "forwarder", "store away", "the store does not answer");
  log.reset();
  const auto all = lines();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[0], EndsWith("forwarder: the store does not answer"));
  EXPECT_THAT(all[1], EndsWith("forwarder: the queue is full"));
  EXPECT_THAT(all[2], EndsWith("the store does not answer (4 more like it were left out)"));
  EXPECT_THAT(all[3], EndsWith("the store does not answer"));
}

TEST_F(ProgramLogTest, ThousandsOfTopicsDoNotAccumulate) {
  auto log = open();
  for (int k = 0; k < 2000; ++k) {
    log->repeated(LogLevel::Warning, "x", "topic " + std::to_string(k), "text");
    clock_.advance(milliseconds(1));
  }
  log->repeated(LogLevel::Warning, "x", "topic 1999", "known still");
  log->repeated(LogLevel::Warning, "x", "topic 0", "forgotten long ago");
  log.reset();
  EXPECT_THAT(lines().back(), EndsWith("forgotten long ago"));
  EXPECT_EQ(lines().size(), 2001u);
}

TEST_F(ProgramLogTest, LinesAreAppendedToAnExistingFile) {
  open()->info("gate", "first");
  open()->info("gate", "second");
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_THAT(lines()[1], EndsWith("second"));
}

TEST_F(ProgramLogTest, AFileThatCannotBeOpenedIsNamed) {
  const auto log = makeProgramLog(LogLevel::Info, folder_.file("missing/sluice.log"));
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, ErrorCode::Misconfigured);
  EXPECT_THAT(log.error().text, AllOf(HasSubstr("/missing/sluice.log"), HasSubstr("No such file")));
}

TEST_F(ProgramLogTest, LinesOfManyThreadsStayWhole) {
  auto log = open();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&log, thread] {
      for (int k = 0; k < 500; ++k) {
        log->info("thread" + std::to_string(thread), std::string(200, static_cast<char>('a' + thread)));
        log->repeated(LogLevel::Info, "thread", "shared topic", "shared");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::uint64_t dropped = log->dropped();
  log.reset();
  std::size_t whole = 0;
  for (const std::string& line : lines()) {
    if (line.find("thread: shared") != std::string::npos || line.find(" log: ") != std::string::npos)
      continue;
    const std::size_t begin = line.find(": ");
    ASSERT_EQ(line.size() - begin - 2, 200u) << line;
    ++whole;
  }
  EXPECT_LE(whole, 2000u);
  EXPECT_GE(whole + dropped, 2000u);
}

// A pipe that nobody reads: the worst reader there is.
class StalledLog : public ProgramLogTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
    auto log = makeProgramLog(LogLevel::Info, "/proc/self/fd/" + std::to_string(ends_[1]), clock_);
    ASSERT_TRUE(log.ok()) << log.error().text;
    log_ = std::move(log).take();
    ::close(ends_[1]);
  }
  void TearDown() override {
    log_.reset();
    if (ends_[0] >= 0) ::close(ends_[0]);
  }

  std::string drainPipe() const {
    std::string all;
    std::string buffer(65536, '\0');
    for (ssize_t count = 0; (count = ::read(ends_[0], buffer.data(), buffer.size())) > 0;) {
      all.append(buffer, 0, static_cast<std::size_t>(count));
    }
    return all;
  }

  int ends_[2] = {-1, -1};
  std::unique_ptr<ProgramLog> log_;
};

TEST_F(StalledLog, CallersGoOnAndTheDroppedLinesAreCounted) {
  constexpr int kLines = 10'000;
  for (int k = 0; k < kLines; ++k) {
    log_->info("gate", "line " + std::to_string(k) + std::string(100, '.'));
  }
  // Getting here at all is the proof: far more was written than pipe and buffer hold.
  EXPECT_GT(log_->dropped(), 4000u);
  EXPECT_LT(log_->dropped(), 10'000u);
}

TEST_F(StalledLog, AReaderThatComesBackLearnsHowManyWereDropped) {
  for (int k = 0; k < 10'000; ++k) {
    log_->info("gate", "line " + std::to_string(k) + std::string(100, '.'));
  }
  const std::uint64_t dropped = log_->dropped();
  std::string all;
  for (int turn = 0; turn < 1000 && all.find("line 9999") == std::string::npos; ++turn) {
    all += drainPipe();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_THAT(all, HasSubstr("line 9999"));
  EXPECT_THAT(all, HasSubstr("warning log: "));
  EXPECT_EQ(log_->dropped(), dropped);
}

TEST_F(StalledLog, TheEndDoesNotWaitForAReaderForEver) {
  for (int k = 0; k < 10'000; ++k) {
    log_->info("gate", "line " + std::to_string(k) + std::string(100, '.'));
  }
  log_.reset();  // returning is the proof
  EXPECT_THAT(drainPipe(), Not(HasSubstr("line 9999")));
}

TEST_F(StalledLog, AReaderThatWentAwayEndsNothing) {
  ::close(ends_[0]);
  ends_[0] = -1;
  for (int k = 0; k < 100; ++k) {
    log_->info("gate", "into the void");
  }
  for (int turn = 0; turn < 1000 && log_->dropped() < 100; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(log_->dropped(), 100u);
}

TEST_F(ProgramLogTest, AForkedChildNeitherWritesNorWaits) {
  auto log = open();
  log->info("gate", "parent");
  const pid_t child = ::fork();
  if (child == 0) {
    log->info("gate", "child");
    log->repeated(LogLevel::Error, "gate", "topic", "child");
    log.reset();
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  log->info("gate", "parent again");
  log.reset();
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_THAT(lines()[1], EndsWith("parent again"));
}

}  // namespace
}  // namespace sluice
