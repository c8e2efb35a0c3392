// A queue_rabbitmq on the broker that this program of tests runs for itself.
#pragma once

#include "contract/queue_contract.h"
#include "rabbit_queue.h"
#include "support/private_rabbitmq.h"

namespace sluice::test {

// One for the whole program: starting takes long. Up and going on, whatever the last test did.
PrivateRabbitmq& broker();

class RabbitFixture final : public QueueFixture, public QueueServerPower {
 public:
  explicit RabbitFixture(const QueueNeeds& wanted);
  ~RabbitFixture() override;
  std::unique_ptr<OrderQueue> make(const std::string& instance, std::size_t consumers) override;
  std::unique_ptr<OrderQueue> makeNamed(const std::string& name) override;
  std::int64_t rawDepth() override;
  std::vector<WrongOpening> wrongOpenings() override;
  [[nodiscard]] std::string address() const override;
  std::optional<RawFigures> raw() override;
  QueueServerPower* server() override { return this; }
  FaultProxy* line() override { return proxy_.get(); }
  bool inject(const std::string& bytes) override;
  bool showConfirms() override;

  void kill() override { broker().kill(); }
  void start() override { broker().start(); }
  void freeze() override { broker().freeze(); }
  void resume() override { broker().resume(); }
  void cutConnections() override;
  void lose(Loss what) override;
  void setMemoryFull(bool full) override;
  void occupy() override;
  bool isOccupied() override;

  rabbitmq::Settings settings;

 private:
  std::unique_ptr<FaultProxy> proxy_;
  bool full_ = false;
};

std::unique_ptr<OrderQueue> joinRabbit(const std::string& address, const std::string& instance);

inline const QueueCase kRabbitmq{
    "rabbitmq", [](const QueueNeeds& needs) { return std::make_unique<RabbitFixture>(needs); }, joinRabbit};

}  // namespace sluice::test
