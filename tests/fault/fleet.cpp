// See fleet.h.
#include "fault/fleet.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "support/effort.h"
#include "support/private_rabbitmq.h"

namespace sluice::test {

FleetQueue::~FleetQueue() = default;

namespace {

constexpr std::size_t kBuyers = 8;
constexpr std::int64_t kStock = 10'000'000;
// Between two orders of a buyer: the faults matter here, not the last order a second.
constexpr milliseconds kThink{8};

class StreamFleetQueue final : public FleetQueue {
 public:
  [[nodiscard]] ServerProcess::Sets sets() const override {
    return {{"queue", "stream"}, {"queue.stream.lease", "2s"}};
  }
};

// One broker for the whole program; each fleet has queues of its own there.
class RabbitmqFleetQueue final : public FleetQueue, public FleetBroker {
 public:
  RabbitmqFleetQueue() {
    static std::atomic<int> made{0};
    name_ = "fleet" + std::to_string(++made);
  }
  ~RabbitmqFleetQueue() override {
    resume();
    start();
    setMemoryFull(false);
  }
  [[nodiscard]] ServerProcess::Sets sets() const override {
    return {{"queue", "rabbitmq"},
            {"forwarder.lease", "1s"},
            {"forwarder.stale", "2s"},
            {"queue.rabbitmq.name", name_},
            {"queue.rabbitmq.port", std::to_string(line_.port())},
            {"queue.rabbitmq.heartbeat", "2s"},
            {"queue.rabbitmq.lease", "3s"}};
  }
  [[nodiscard]] FleetBroker* server() override { return this; }
  [[nodiscard]] FaultProxy& line() override { return line_; }
  void kill() override { broker().kill(); }
  void start() override {
    if (!broker().isUp()) broker().start();
  }
  void freeze() override { broker().freeze(); }
  void resume() override { broker().resume(); }
  void setMemoryFull(bool full) override { broker().setMemoryFull(full); }
  void purge() override { broker().purgeQueue(name_ + ".orders"); }
  void loseQueues() override {
    for (const char* queue :
         {".orders", ".alone", ".wait.100ms", ".wait.1000ms", ".wait.10000ms", ".wait.100000ms"})
      broker().deleteQueue(name_ + queue);
  }
  void occupy(bool occupied) override {
    broker().deleteQueue(name_ + ".orders");
    if (occupied) broker().declareClassicQueue(name_ + ".orders");
  }

 private:
  static PrivateRabbitmq& broker() {
    static PrivateRabbitmq one;
    return one;
  }
  std::string name_;
  FaultProxy line_{{{}, broker().port()}};
};

}  // namespace

const std::vector<FleetQueueName>& fleetQueueNames() {
  static const std::vector<FleetQueueName> names = {{"stream", false}, {"rabbitmq", true}};
  return names;
}

std::unique_ptr<FleetQueue> makeFleetQueue(const std::string& name) {
  if (name == "rabbitmq") return std::make_unique<RabbitmqFleetQueue>();
  if (name != "stream") throw std::runtime_error("no fleet has the queue " + name);
  return std::make_unique<StreamFleetQueue>();
}

Fleet::Fleet(const std::string& queue, const std::string& store, const ServerProcess::Sets& more)
    : queue_(makeFleetQueue(queue)), store_(makeFleetStore(store, data_.path())) {
  ServerProcess::Sets sets = {{"redis.host", "127.0.0.1"},
                              {"redis.port", std::to_string(redisLine_.port())},
                              {"data.dir", data_.path()},
                              {"process.lease", "2s"}};
  for (const auto& part : {queue_->sets(), store_->sets(), more}) {
    sets.insert(sets.end(), part.begin(), part.end());
  }
  const auto make = [&](const char* role) {
    ServerProcess::Sets own = sets;
    own.emplace_back("role", role);
    auto process = std::make_unique<ServerProcess>(own);
    process->start();
    return process;
  };
  for (int k = 0; k < 2; ++k) {
    fronts_.push_back(make("front"));
    workers_.push_back(make("worker"));
  }
  fronts_.front()->createVoucher(kVoucher, kStock);
}

Fleet::~Fleet() { static_cast<void>(stopStorm()); }

void Fleet::startStorm() {
  storming_ = true;
  for (std::size_t k = 0; k < kBuyers; ++k) {
    buyers_.emplace_back([this, k] { buy(k); });
  }
}

void Fleet::buy(std::size_t buyer) {
  for (std::size_t turn = buyer; storming_; ++turn) {
    const std::int64_t user = nextUser_++;
    const HttpReply reply = front(turn % fronts_.size()).order(kVoucher, user);
    if (reply.status == 202) ++admitted_;
    {
      const std::lock_guard lock(mutex_);
      attempts_.push_back(
          {user, reply.status, jsonMember(reply.body, "code"), jsonMember(reply.body, "orderId")});
    }
    std::this_thread::sleep_for(kThink);
  }
}

void Fleet::awaitAdmitted(std::size_t more) {
  const std::size_t wanted = admitted_ + more;
  EXPECT_TRUE(ServerProcess::eventually(scaled(milliseconds(30'000)), [&] { return admitted_ >= wanted; }));
}

std::vector<Attempt> Fleet::stopStorm() {
  storming_ = false;
  for (std::thread& buyer : buyers_) {
    buyer.join();
  }
  buyers_.clear();
  const std::lock_guard lock(mutex_);
  return attempts_;
}

void Fleet::expectOrdersFlowAgain(milliseconds wait) {
  const Deadline deadline = Deadline::in(wait);
  for (const auto& front : fronts_) {
    std::string order;
    EXPECT_TRUE(ServerProcess::eventually(deadline.remaining(), [&] {
      const std::int64_t user = nextUser_++;
      const HttpReply reply = front->order(kVoucher, user);
      order = reply.status == 202 ? jsonMember(reply.body, "orderId") : "";
      return !order.empty();
    })) << front->get("/readyz").body;
    const std::string path = "/admin/v1/orders/" + order;
    EXPECT_TRUE(ServerProcess::eventually(
        deadline.remaining(),
        [&] { return jsonMember(front->admin("GET", path).body, "status") == "pending_payment"; }))
        << order << ": " << front->admin("GET", path).body << workers_[0]->get("/readyz").body
        << workers_[1]->get("/readyz").body;
  }
}

void Fleet::expectOneRowEach(const std::vector<Attempt>& attempts, milliseconds wait) {
  std::map<std::string, int> rows;
  std::size_t wrong = 0;
  EXPECT_TRUE(ServerProcess::eventually(wait,
                                        [&] {
                                          rows = store_->rowsById();
                                          wrong = 0;
                                          for (const Attempt& attempt : attempts) {
                                            if (attempt.status != 202) continue;
                                            const auto row = rows.find(attempt.order);
                                            wrong += row != rows.end() && row->second == 1 ? 0U : 1U;
                                          }
                                          return wrong == 0;
                                        }))
      << wrong << " admitted orders do not have exactly one row";
}

void Fleet::expectCleanAudit(milliseconds wait) {
  ServerProcess::CommandResult audit;
  EXPECT_TRUE(ServerProcess::eventually(wait, [&] {
    audit = fronts_.front()->command({"audit", "--json"});
    return audit.exitCode == 0 && jsonMember(audit.output, "atRest") == "true";
  })) << audit.output;
}

}  // namespace sluice::test
