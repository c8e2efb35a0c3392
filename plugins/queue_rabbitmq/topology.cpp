// See topology.h.
#include "topology.h"

#include "errors.h"

namespace sluice::rabbitmq {

namespace {

// Of its own, because a refusal closes the channel.
constexpr amqp_channel_t kChannel = 2000;

class Arguments {
 public:
  void add(const char* name, const std::string& text) {
    amqp_field_value_t value{};
    value.kind = AMQP_FIELD_KIND_UTF8;
    value.value.bytes = amqp_cstring_bytes(text.c_str());
    entries_.push_back({amqp_cstring_bytes(name), value});
  }
  void add(const char* name, milliseconds time) {
    amqp_field_value_t value{};
    value.kind = AMQP_FIELD_KIND_I64;
    value.value.i64 = time.count();
    entries_.push_back({amqp_cstring_bytes(name), value});
  }
  [[nodiscard]] amqp_table_t table() { return {static_cast<int>(entries_.size()), entries_.data()}; }

 private:
  std::vector<amqp_table_entry_t> entries_;
};

class Declaring {
 public:
  Declaring(Shared& shared, Link& link, Deadline deadline)
      : shared_(shared), link_(link), deadline_(deadline) {}

  Status all() {
    if (auto opened = link_.openChannel(kChannel, deadline_); !opened) return opened;
    const Names& names = shared_.names;
    if (auto done = exchange(); !done) return done;
    for (std::size_t k = 0; k < kWaitSteps.size(); ++k) {
      Arguments wait = waitArguments(kWaitSteps[k]);
      if (auto done = queue(names.wait[k], wait); !done) return done;
    }
    Arguments plain;
    plain.add("x-queue-type", type_);
    if (auto done = queue(names.dead, plain); !done) return done;
    if (auto done = queue(names.alone, plain); !done) return done;
    if (auto done = queue(names.work, plain); !done) return done;
    amqp_channel_close(link_.raw(), kChannel, AMQP_REPLY_SUCCESS);
    return link_.lastCall();
  }
  [[nodiscard]] const std::string& created() const noexcept { return created_; }

 private:
  Arguments waitArguments(milliseconds step) {
    Arguments wait;
    wait.add("x-queue-type", type_);
    wait.add("x-message-ttl", step);
    wait.add("x-dead-letter-exchange", shared_.names.exchange);
    wait.add("x-dead-letter-routing-key", shared_.names.work);
    if (shared_.settings.quorum) {
      // A message leaves the wait queue only once the work queue has it.
      wait.add("x-dead-letter-strategy", atLeastOnce_);
      wait.add("x-overflow", rejectPublish_);
    }
    return wait;
  }

  Status exchange() {
    link_.limitCalls(deadline_);
    amqp_exchange_declare(link_.raw(), kChannel, bytes(shared_.names.exchange), amqp_cstring_bytes("direct"),
                          0, 1, 0, 0, amqp_empty_table);
    return link_.lastCall();
  }

  Status queue(const std::string& name, Arguments& arguments) {
    auto there = exists(name);
    if (!there) return there.error();
    if (!there.value()) created_ += (created_.empty() ? "" : ", ") + name;
    link_.limitCalls(deadline_);
    amqp_queue_declare(link_.raw(), kChannel, bytes(name), 0, 1, 0, 0, arguments.table());
    if (auto declared = link_.lastCall(); !declared) return declared;
    amqp_queue_bind(link_.raw(), kChannel, bytes(name), bytes(shared_.names.exchange), bytes(name),
                    amqp_empty_table);
    return link_.lastCall();
  }

  // Asked passively: NotFound closes the channel.
  Result<bool> exists(const std::string& name) {
    link_.limitCalls(deadline_);
    amqp_queue_declare(link_.raw(), kChannel, bytes(name), 1, 0, 0, 0, amqp_empty_table);
    const amqp_rpc_reply_t reply = amqp_get_rpc_reply(link_.raw());
    const Status status = statusOf(link_.settings(), reply);
    if (status) return true;
    if (status.error().code != ErrorCode::NotFound || reply.reply.id != AMQP_CHANNEL_CLOSE_METHOD)
      return status.error();
    amqp_channel_close_ok_t agreed{};
    if (auto sent = link_.send(kChannel, AMQP_CHANNEL_CLOSE_OK_METHOD, &agreed); !sent) return sent.error();
    if (auto opened = link_.openChannel(kChannel, deadline_); !opened) return opened.error();
    return false;
  }

  static amqp_bytes_t bytes(const std::string& text) { return amqp_cstring_bytes(text.c_str()); }

  Shared& shared_;
  Link& link_;
  const Deadline deadline_;
  const std::string type_ = shared_.settings.quorum ? "quorum" : "classic";
  const std::string atLeastOnce_ = "at-least-once";
  const std::string rejectPublish_ = "reject-publish";
  std::string created_;
};

}  // namespace

Status ensureTopology(Shared& shared, Link& link, Deadline deadline) {
  const std::lock_guard lock(shared.topologyMutex);
  Declaring declaring(shared, link, deadline);
  if (auto done = declaring.all(); !done) return done.error().during("declaring the queues");
  if (shared.topologySeen && !declaring.created().empty()) {
    ++shared.counters.dataLost;
    shared.log.repeated(LogLevel::Error, kComponent, "queues gone",
                        "these queues were gone and are created anew: " + declaring.created() +
                            "; admissions that were in them are lost, the audit shows which");
  }
  shared.topologySeen = true;
  return {};
}

}  // namespace sluice::rabbitmq
