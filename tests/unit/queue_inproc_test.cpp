// queue_inproc: the contract, and what is its own: reservation, capacity, the factory's refusal, a manual
// clock.
#include <thread>

#include "sluice/plugin.h"

#include "contract/queue_contract.h"
#include "inproc_queue.h"
#include "support/manual_clock.h"
#include "support/recording_log.h"

// NOLINTNEXTLINE(readability-identifier-naming): the one symbol of the plugin boundary
extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

namespace {

Result<std::unique_ptr<OrderQueue>> fromFactory(bool journal,
                                                const std::map<std::string, std::string>& options = {}) {
  const PluginDescriptor& plugin = *sluice_plugin();
  std::vector<ConfigFault> faults;
  const OptionMap map = checkOptions({plugin.options, plugin.optionCount}, options, "queue.inproc.", faults);
  if (!faults.empty()) return {ErrorCode::Misconfigured, faults[0].key + ": " + faults[0].text};
  return plugin.makeQueue({.options = map,
                           .log = noLog(),
                           .clock = systemClock(),
                           .random = systemRandom(),
                           .redis = {},
                           .keyPrefix = "sluice",
                           .instance = "local",
                           .consumers = 1,
                           .journal = journal,
                           .journalMax = 1000});
}

class InprocFixture final : public QueueFixture {
 public:
  using QueueFixture::QueueFixture;
  std::unique_ptr<OrderQueue> make(const std::string&, std::size_t) override {
    const inproc::Settings settings{.capacity = static_cast<std::size_t>(needs.capacity),
                                    .deadMax = needs.deadMax};
    auto queue = std::make_unique<inproc::InprocQueue>(settings, log, clock);
    last_ = queue.get();
    return queue;
  }
  std::unique_ptr<OrderQueue> makeNamed(const std::string& name) override {
    auto* const ours = last_;
    auto other = make(name, 1);
    last_ = ours;
    return other;
  }
  // Nothing but the queue itself knows; its figures are checked against what the tests put in.
  std::int64_t rawDepth() override {
    const auto stats = last_->stats(Deadline::in(kSoon));
    return stats ? stats.value().ready + stats.value().inFlight : -1;
  }
  std::vector<WrongOpening> wrongOpenings() override {
    const auto opening = [](bool journal, const std::map<std::string, std::string>& options) {
      return [=]() -> Status {
        const auto made = fromFactory(journal, options);
        return made ? Status() : Status(made.error());
      };
    };
    return {{"an unknown option", opening(false, {{"capasity", "3"}}), "capacity", ""},
            {"no room at all", opening(false, {{"capacity", "0"}}), "capacity", ""}};
  }

 private:
  OrderQueue* last_ = nullptr;
};

const QueueCase kInproc{
    "inproc", [](const QueueNeeds& needs) { return std::make_unique<InprocFixture>(needs); }, {}};

SLUICE_QUEUE_CONTRACT(Inproc, kInproc);

const Deadline kNow = Deadline::in(milliseconds(0));

TEST(InprocQueue, PlacesAreReservedGivenBackAndUsedOnce) {
  inproc::InprocQueue queue({.capacity = 10, .deadMax = 1}, noLog(), systemClock());
  ASSERT_TRUE(queue.start(kNow).ok());
  EXPECT_EQ(queue.reserve(7).value(), 7U);
  EXPECT_EQ(queue.reserve(7).value(), 3U);
  EXPECT_EQ(queue.reserve(1).value(), 0U);
  ASSERT_TRUE(queue.publish(messagesOf(admissionsOf(1, 6)), kNow).ok());
  queue.unreserve(4);
  EXPECT_EQ(queue.reserve(10).value(), 4U);
  queue.unreserve(4);
  EXPECT_EQ(queue.publish(messagesOf(admissionsOf(7, 1)), kNow).error().code, ErrorCode::Overloaded)
      << "no place was reserved";
  // Handed out is not gone: the place comes back when the message is settled.
  const auto held = queue.receive(0, 6, kNow);
  ASSERT_EQ(held.value().size(), 6U);
  EXPECT_EQ(queue.reserve(10).value(), 4U);
  queue.unreserve(4);
  ASSERT_TRUE(queue.settle(0, settlementsOf(held.value()), kNow).ok());
  EXPECT_EQ(queue.reserve(20).value(), 10U);
}

TEST(InprocQueue, DelaysFollowTheClockItWasGiven) {
  ManualClock clock;
  inproc::InprocQueue queue({.capacity = 10, .deadMax = 1}, noLog(), clock);
  ASSERT_TRUE(queue.start(kNow).ok());
  ASSERT_EQ(queue.reserve(1).value(), 1U);
  ASSERT_TRUE(queue.publish(messagesOf(admissionsOf(1, 1)), kNow).ok());
  auto later = settlementsOf(queue.receive(0, 1, kNow).value(), SettleKind::RetryLater);
  later.at(0).delay = milliseconds(60000);
  ASSERT_TRUE(queue.settle(0, later, kNow).ok());
  clock.advance(milliseconds(59999));
  EXPECT_TRUE(queue.receive(0, 1, kNow).value().empty());
  EXPECT_EQ(queue.stats(kNow).value().oldestAge, milliseconds(59999));
  clock.advance(milliseconds(1));
  EXPECT_EQ(queue.receive(0, 1, kNow).value().size(), 1U);
}

TEST(InprocQueue, AnotherSlotsMessageIsNotOurs) {
  inproc::InprocQueue queue({.capacity = 10, .deadMax = 1}, noLog(), systemClock());
  ASSERT_TRUE(queue.start(kNow).ok());
  ASSERT_EQ(queue.reserve(1).value(), 1U);
  ASSERT_TRUE(queue.publish(messagesOf(admissionsOf(1, 1)), kNow).ok());
  const auto held = queue.receive(1, 1, kNow);
  EXPECT_EQ(queue.settle(0, settlementsOf(held.value()), kNow).value().at(0), SettleOutcome::Stale);
  EXPECT_EQ(queue.settle(1, settlementsOf(held.value()), kNow).value().at(0), SettleOutcome::Settled);
}

// What the journal has as well is not lost with the process.
TEST(InprocQueue, AtItsEndSaysHowManyItAloneHad) {
  RecordingLog log;
  {
    inproc::InprocQueue queue({.capacity = 10, .deadMax = 1}, log, systemClock());
    ASSERT_TRUE(queue.start(kNow).ok());
    ASSERT_EQ(queue.reserve(6).value(), 6U);
    auto messages = messagesOf(admissionsOf(1, 6));
    for (QueueMessage& message : messages) {
      message.journal = {1, 1};
    }
    ASSERT_TRUE(queue.publish(messages, kNow).ok());
    EXPECT_EQ(queue.receive(0, 2, kNow).value().size(), 2U);
  }
  EXPECT_EQ(log.text(), "");
  {
    inproc::InprocQueue queue({.capacity = 10, .deadMax = 1}, log, systemClock());
    ASSERT_TRUE(queue.start(kNow).ok());
    ASSERT_EQ(queue.reserve(3).value(), 3U);
    auto messages = messagesOf(admissionsOf(1, 3));
    for (QueueMessage& message : messages) {
      message.journal = {};
    }
    ASSERT_TRUE(queue.publish(messages, kNow).ok());
    EXPECT_EQ(queue.receive(0, 2, kNow).value().size(), 2U);
  }
  EXPECT_NE(log.text().find("3 admissions"), std::string::npos) << log.text();
}

TEST(InprocQueue, TheFactoryPassesItsOptionsOn) {
  auto made = fromFactory(false, {{"capacity", "3"}});
  ASSERT_TRUE(made.ok()) << made.error().text;
  ASSERT_TRUE(made.value()->start(kNow).ok());
  EXPECT_EQ(made.value()->reserve(10).value(), 3U);
  EXPECT_STREQ(sluice_plugin()->name, "inproc");
}

}  // namespace

}  // namespace sluice::test
