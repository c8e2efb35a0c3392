// See qualify_fixture.h.
#include "integration/qualify_fixture.h"

namespace sluice::test {

void QualifyFixture::open(LuaQualifierOptions options) {
  qualifier.reset();
  options.target = redis.target();
  qualifier = makeLuaQualifier(std::move(options), clock, systemRandom(), noLog());
  const Status started = qualifier->start(soon());
  ASSERT_TRUE(started) << started.error().text;
  const auto health = qualifier->probe(soon());
  ASSERT_TRUE(health) << health.error().text;
  qualifier->trust(health.value().identity);
}

namespace {

class LuaWorld final : public QualifierWorld {
 public:
  Qualifier& qualifier() override { return *qualifier_; }
  UtcTime now() const override { return clock_.now(); }
  void reopen(JournalSetting journal) override {
    if (qualifier_) qualifier_->stop();
    LuaQualifierOptions options;
    options.target = redis_.target();
    options.journal = journal.on;
    options.journalMax = journal.max;
    qualifier_ = makeLuaQualifier(std::move(options), clock_, systemRandom(), noLog());
  }
  void restartServer(bool keepsData) override {
    if (!keepsData) redis_.command({"FLUSHALL"});
    redis_.restart();
  }
  void setClockSkew(milliseconds skew) override { clock_.beWrongBy(-skew); }
  void overwriteStock(VoucherId voucher, std::int64_t stock) override {
    redis_.command({"HSET", "sluice:{0}:voucher:" + voucher.text(), "stock", std::to_string(stock)});
  }
  void appendJournal(const Admission& admission) override {
    redis_.command({"XADD", kJournalKey, "*", "o", encodeAdmission(admission)});
  }
  void appendUndecodable(const std::string& bytes) override {
    redis_.command({"XADD", kJournalKey, "*", "o", bytes});
  }
  std::vector<std::string> aside() override {
    std::vector<std::string> all;
    const RedisReply letters = redis_.command({"XRANGE", "sluice:{0}:dead", "-", "+"});
    for (std::size_t k = 0; k < letters.value().size(); ++k) {
      all.emplace_back(letters.value()[k][1][1].text());
    }
    return all;
  }
  // A frozen server still takes the bytes; it works on them once it goes on.
  void loseAnswer(const std::function<void(Deadline)>& ask) override {
    redis_.freeze();
    ask(Deadline::in(scaled(milliseconds(150))));
    redis_.resume();
  }

 private:
  PrivateRedis redis_;
  WrongClock clock_;
  std::unique_ptr<Qualifier> qualifier_;
};

}  // namespace

std::unique_ptr<QualifierWorld> makeLuaWorld() { return std::make_unique<LuaWorld>(); }

}  // namespace sluice::test
