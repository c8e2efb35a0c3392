// The fake qualifier passes the contract of every qualifier, so that engine tests may believe it.
#include "contract/qualifier_contract.h"
#include "support/fakes.h"

namespace sluice::test {
namespace {

class FakeWorld final : public QualifierWorld {
 public:
  Qualifier& qualifier() override { return fake_; }
  UtcTime now() const override { return clock_.now(); }
  void reopen(JournalSetting journal) override {
    fake_.reopen();
    fake_.setJournal(journal.on, static_cast<std::size_t>(journal.max));
  }
  void restartServer(bool keepsData) override { fake_.restart(keepsData); }
  void setClockSkew(milliseconds skew) override { fake_.setClockSkew(skew); }
  void overwriteStock(VoucherId voucher, std::int64_t stock) override { fake_.setStock(voucher, stock); }
  void appendJournal(const Admission& admission) override { fake_.appendJournal(admission); }
  void appendUndecodable(const std::string& bytes) override { fake_.appendUndecodable(bytes); }
  std::vector<std::string> aside() override { return fake_.aside(); }
  void loseAnswer(const std::function<void(Deadline)>& ask) override {
    fake_.faults.next("decide", ErrorCode::OutcomeUnknown, FaultMoment::After);
    ask(Deadline::in(scaled(milliseconds(10000))));
  }

 private:
  FakeQualifier fake_;
  ManualClock clock_;
};

TEST(FakeQualifierOwn, V12_V13_V14_V20_V21_NeedKeysMemoryAndScriptsOfAServer) {
  SLUICE_SKIP_UNCLAIMED("a server");
}

INSTANTIATE_TEST_SUITE_P(Fake, QualifierContract,
                         testing::Values(QualifierKind{"fake", [] { return std::make_unique<FakeWorld>(); }}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace sluice::test
