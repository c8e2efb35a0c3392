// What a queue_rabbitmq tells its callers, shown with a broker that confirms as a script says.
#include <future>

#include "rabbitmq_fixture.h"
#include "support/scripted_broker.h"

namespace sluice::test {

namespace {

// A started queue at a scripted broker, and calls to publish that are under way.
class Confirms {
 public:
  Confirms(const rabbitmq::Settings& like, Log& log) : settings_(like) {
    settings_.port = broker.port();
    settings_.heartbeat = std::chrono::seconds(600);
    queue_ = std::make_unique<rabbitmq::RabbitQueue>(settings_, log, systemClock(), systemRandom());
    const Status started = queue_->start(Deadline::in(kSoon));
    EXPECT_TRUE(started.ok()) << started.error().text;
  }

  // Begins a call with `count` messages; answers them as they came to the broker.
  std::vector<ScriptedBroker::Published> publish(std::int64_t count, milliseconds within = kSoon) {
    const std::int64_t first = next_;
    next_ += count;
    calls_.push_back(std::async(std::launch::async, [this, first, count, within] {
      return queue_->publish(messagesOf(admissionsOf(first, count)), Deadline::in(within));
    }));
    auto sent = broker.take(static_cast<std::size_t>(count), Deadline::in(kSoon));
    EXPECT_EQ(sent.size(), static_cast<std::size_t>(count));
    for (const auto& one : sent)
      EXPECT_EQ(one.body, encodeAdmission(admissionOf(first + (&one - sent.data()))));
    return sent;
  }
  // Of the call that began as number `call`, from 0.
  std::string outcome(std::size_t call) {
    std::future<Status>& asked = calls_.at(call);
    if (asked.wait_for(kSoon) != std::future_status::ready) return "no answer";
    const Status status = asked.get();
    return status.ok() ? "ok" : std::string(errorName(status.error().code));
  }
  bool isOpen(std::size_t call) {
    return calls_.at(call).wait_for(milliseconds(20)) != std::future_status::ready;
  }
  // A call that is not sent: refused before.
  std::string tryToPublish() {
    const Deadline deadline = Deadline::in(milliseconds(100));
    const Status status = queue_->publish(messagesOf(admissionsOf(next_, 1)), deadline);
    return status.ok() ? "ok" : std::string(errorName(status.error().code));
  }

  ScriptedBroker broker;

 private:
  rabbitmq::Settings settings_;
  std::unique_ptr<OrderQueue> queue_;
  std::int64_t next_ = 1;
  std::vector<std::future<Status>> calls_;
};

void outOfOrder(Confirms& shown) {
  const auto first = shown.publish(1), second = shown.publish(2), third = shown.publish(1);
  shown.broker.confirm(third[0].number);
  EXPECT_EQ(shown.outcome(2), "ok");
  EXPECT_TRUE(shown.isOpen(0) && shown.isOpen(1)) << "an earlier one is not confirmed by a later one";
  shown.broker.confirm(second[1].number);
  EXPECT_TRUE(shown.isOpen(1)) << "half of a call is no success";
  shown.broker.confirm(first[0].number);
  EXPECT_EQ(shown.outcome(0), "ok");
  shown.broker.confirm(second[0].number);
  EXPECT_EQ(shown.outcome(1), "ok");
}

void inGroups(Confirms& shown) {
  shown.publish(1);
  const auto second = shown.publish(3), third = shown.publish(1);
  shown.broker.confirm(second[1].number, true);
  EXPECT_EQ(shown.outcome(0), "ok");
  EXPECT_TRUE(shown.isOpen(1) && shown.isOpen(2)) << "a group ends where it says";
  shown.broker.confirm(third[0].number, true);
  EXPECT_EQ(shown.outcome(1), "ok");
  EXPECT_EQ(shown.outcome(2), "ok");
}

void negative(Confirms& shown) {
  const auto first = shown.publish(1), second = shown.publish(3), third = shown.publish(1);
  shown.broker.refuse(first[0].number);
  EXPECT_EQ(shown.outcome(0), "overloaded");
  shown.broker.refuse(second[0].number);
  shown.broker.confirm(second[2].number, true);
  EXPECT_EQ(shown.outcome(1), "outcome_unknown") << "a part was taken";
  shown.broker.refuse(third[0].number, true);
  EXPECT_EQ(shown.outcome(2), "overloaded");
}

void returned(Confirms& shown) {
  const auto first = shown.publish(1), second = shown.publish(2);
  shown.broker.giveBack(first[0]);
  shown.broker.giveBack(second[1]);
  shown.broker.confirm(second[1].number, true);
  EXPECT_EQ(shown.outcome(0), "unavailable") << "what nobody wanted was confirmed, and is no success";
  EXPECT_EQ(shown.outcome(1), "outcome_unknown");
}

void blocked(Confirms& shown) {
  const auto first = shown.publish(1);
  shown.broker.block();
  const Deadline heard = Deadline::in(kSoon);
  while (shown.tryToPublish() != "overloaded" && !heard.passed())
    (void)shown.broker.take(1, Deadline::in(milliseconds(0)));
  EXPECT_TRUE(shown.isOpen(0)) << "what was sent before waits for its confirm";
  shown.broker.confirm(first[0].number);
  EXPECT_EQ(shown.outcome(0), "ok");
  EXPECT_EQ(shown.tryToPublish(), "overloaded");
  EXPECT_TRUE(shown.broker.take(1, Deadline::in(milliseconds(50))).empty()) << "nothing is sent meanwhile";
  shown.broker.unblock();
}

// The connection ends with confirms open; a call on the next one counts anew.
void ended(Confirms& shown, const std::function<void()>& end) {
  const auto first = shown.publish(1), second = shown.publish(2), third = shown.publish(1);
  shown.broker.confirm(second[0].number);
  shown.broker.confirm(third[0].number);
  EXPECT_EQ(shown.outcome(2), "ok");
  end();
  EXPECT_EQ(shown.outcome(0), "outcome_unknown");
  EXPECT_EQ(shown.outcome(1), "outcome_unknown");
  const auto after = shown.publish(1);
  shown.broker.confirm(after[0].number);
  EXPECT_EQ(shown.outcome(3), "ok");
}

// The caller has gone with "unknown" when the confirm comes: it is nobody else's.
void late(Confirms& shown) {
  const auto first = shown.publish(1, milliseconds(100));
  EXPECT_EQ(shown.outcome(0), "outcome_unknown");
  const auto second = shown.publish(1);
  shown.broker.confirm(first[0].number);
  EXPECT_TRUE(shown.isOpen(1));
  shown.broker.confirm(second[0].number);
  EXPECT_EQ(shown.outcome(1), "ok");
}

}  // namespace

bool RabbitFixture::showConfirms() {
  const auto show = [this](const char* what, const std::function<void(Confirms&)>& scene) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, what);
    Confirms shown(settings, log);
    scene(shown);
  };
  show("out of order", outOfOrder);
  show("in groups", inGroups);
  show("negative", negative);
  show("returned", returned);
  show("blocked", blocked);
  show("late", late);
  show("channel closed", [](Confirms& shown) { ended(shown, [&] { shown.broker.closeChannel(); }); });
  show("connection closed", [](Confirms& shown) { ended(shown, [&] { shown.broker.closeConnection(); }); });
  show("cut", [](Confirms& shown) { ended(shown, [&] { shown.broker.cut(); }); });
  return true;
}

}  // namespace sluice::test
