// queue_rabbitmq against rabbitmq-c itself: the same messages are published with confirms and consumed with
// acknowledgements, at the same time, through the plugin and by a program as small as it can be; in turn, on one
// broker of its own.
//   rabbit_race [messages [rounds [slots]]]
#include <array>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <thread>

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <sys/resource.h>

#include "bench_kit.h"
#include "rabbit_queue.h"
#include "support/private_rabbitmq.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kCall = 500;  // orders in one call, in one batch, and in one acknowledgement
constexpr int kWindow = 1000;       // unconfirmed, as in the plugin
constexpr int kPrefetch = 1000;     // as the plugin takes for such batches

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Figure {
  double perSecond = 0;
  double cpuMicros = 0;  // of this process, for each message
};

Figure measure(std::size_t messages, const auto& publish, const auto& consume) {
  const double cpuBefore = cpuSeconds();
  const double seconds = secondsOf([&] {
    std::thread publisher(publish);
    consume();
    publisher.join();
  });
  const auto count = static_cast<double>(messages);
  return {count / seconds, (cpuSeconds() - cpuBefore) * 1e6 / count};
}

// --- through the plugin

Figure viaPlugin(std::uint16_t port, const std::string& name, const std::vector<QueueMessage>& messages,
                 std::size_t slots) {
  rabbitmq::Settings settings;
  settings.port = port;
  settings.name = name;
  settings.consumers = slots;
  rabbitmq::RabbitQueue queue(settings, noLog(), systemClock(), systemRandom());
  need(queue.start(soon()));
  std::atomic<std::size_t> settled{0};
  const auto publish = [&] {
    for (std::size_t from = 0; from < messages.size(); from += kCall)
      need(queue.publish(std::span(messages).subspan(from, std::min(kCall, messages.size() - from)), soon()));
  };
  const auto work = [&](std::size_t slot) {
    while (settled < messages.size()) {
      const auto batch = need(queue.receive(slot, kCall, Deadline::in(milliseconds(200))));
      std::vector<Settlement> settlements;
      for (const Delivery& delivery : batch)
        settlements.push_back({.token = delivery.token, .kind = SettleKind::Done, .reason = {}});
      if (!batch.empty()) (void)need(queue.settle(slot, settlements, soon()));
      settled += batch.size();
    }
  };
  return measure(messages.size(), publish, [&] {
    std::vector<std::thread> workers;
    for (std::size_t slot = 0; slot < slots; ++slot)
      workers.emplace_back(work, slot);
    for (std::thread& worker : workers)
      worker.join();
  });
}

// --- rabbitmq-c itself

void check(const amqp_rpc_reply_t& reply, const char* doing) {
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) throw std::runtime_error(std::string("bare: ") + doing);
}

struct Bare {
  explicit Bare(std::uint16_t port) : connection(amqp_new_connection()) {
    amqp_socket_t* socket = amqp_tcp_socket_new(connection);
    if (amqp_socket_open(socket, "127.0.0.1", port) != AMQP_STATUS_OK)
      throw std::runtime_error("bare: connect");
    check(amqp_login(connection, "/", 0, 131072, 60, AMQP_SASL_METHOD_PLAIN, "guest", "guest"), "log in");
    amqp_channel_open(connection, 1);
    check(amqp_get_rpc_reply(connection), "open a channel");
  }
  ~Bare() { amqp_destroy_connection(connection); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  amqp_frame_t next() const {
    amqp_frame_t frame;
    if (amqp_simple_wait_frame(connection, &frame) != AMQP_STATUS_OK) throw std::runtime_error("bare: read");
    return frame;
  }
  amqp_connection_state_t connection;
};

void declareBare(std::uint16_t port, const std::string& name) {
  const Bare bare(port);
  const amqp_bytes_t queue = amqp_cstring_bytes(name.c_str());
  amqp_table_entry_t type{};
  type.key = amqp_cstring_bytes("x-queue-type");
  type.value.kind = AMQP_FIELD_KIND_UTF8;
  type.value.value.bytes = amqp_cstring_bytes("quorum");
  amqp_exchange_declare(bare.connection, 1, queue, amqp_cstring_bytes("direct"), 0, 1, 0, 0,
                        amqp_empty_table);
  amqp_queue_declare(bare.connection, 1, queue, 0, 1, 0, 0, {1, &type});
  amqp_queue_bind(bare.connection, 1, queue, queue, queue, amqp_empty_table);
  check(amqp_get_rpc_reply(bare.connection), "declare");
}

void publishBare(std::uint16_t port, const std::string& name, const std::vector<QueueMessage>& messages) {
  const Bare bare(port);
  amqp_confirm_select(bare.connection, 1);
  check(amqp_get_rpc_reply(bare.connection), "select confirms");
  const amqp_bytes_t queue = amqp_cstring_bytes(name.c_str());
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  std::uint64_t confirmed = 0;
  const auto read = [&] {
    const amqp_frame_t frame = bare.next();
    if (frame.payload.method.id != AMQP_BASIC_ACK_METHOD) throw std::runtime_error("bare: not confirmed");
    const auto* ack = static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded);
    confirmed = ack->multiple != 0 ? ack->delivery_tag : confirmed + 1;
    amqp_maybe_release_buffers(bare.connection);
  };
  for (std::uint64_t k = 0; k < messages.size(); ++k) {
    while (k - confirmed >= kWindow)
      read();
    std::string body = encodeAdmission(messages[k].admission);
    amqp_basic_publish(bare.connection, 1, queue, queue, 1, 0, &properties, {body.size(), body.data()});
  }
  while (confirmed < messages.size())
    read();
}

void consumeBare(std::uint16_t port, const std::string& name, std::size_t messages) {
  const Bare bare(port);
  amqp_basic_qos(bare.connection, 1, 0, kPrefetch, 0);
  amqp_basic_consume(bare.connection, 1, amqp_cstring_bytes(name.c_str()), amqp_empty_bytes, 0, 0, 0,
                     amqp_empty_table);
  check(amqp_get_rpc_reply(bare.connection), "consume");
  std::uint64_t tag = 0;
  for (std::size_t seen = 0; seen < messages;) {
    const amqp_frame_t frame = bare.next();
    if (frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_BASIC_DELIVER_METHOD)
      tag = static_cast<amqp_basic_deliver_t*>(frame.payload.method.decoded)->delivery_tag;
    if (frame.frame_type != AMQP_FRAME_BODY) continue;
    amqp_maybe_release_buffers(bare.connection);
    if (++seen % kCall == 0 || seen == messages) amqp_basic_ack(bare.connection, 1, tag, 1);
  }
}

Figure viaBare(std::uint16_t port, const std::string& name, const std::vector<QueueMessage>& messages) {
  declareBare(port, name);
  return measure(
      messages.size(), [&] { publishBare(port, name, messages); },
      [&] { consumeBare(port, name, messages.size()); });
}

void run(std::size_t count, int rounds, std::size_t slots) {
  test::PrivateRabbitmq broker;
  std::vector<QueueMessage> messages;
  for (const Admission& order : ordersOf(1, count, VoucherId(1)))
    messages.push_back({order, {1767225600000, static_cast<std::uint64_t>(order.order.value())}});
  std::array<std::vector<double>, 3> all;
  for (int round = 0; round <= rounds; ++round) {
    const std::string name = "race" + std::to_string(round);
    const Figure plugin = viaPlugin(broker.port(), name, messages, slots);
    const Figure bare = viaBare(broker.port(), name + "bare", messages);
    std::printf("%s plugin %8.0f/s (%4.1f us CPU each)   bare %8.0f/s (%4.1f us)   ratio %.2f\n",
                round == 0 ? "warm-up" : "round  ", plugin.perSecond, plugin.cpuMicros, bare.perSecond,
                bare.cpuMicros, plugin.perSecond / bare.perSecond);
    if (round == 0) continue;
    all[0].push_back(plugin.perSecond);
    all[1].push_back(bare.perSecond);
    all[2].push_back(plugin.perSecond / bare.perSecond);
  }
  std::printf("median  plugin %8.0f/s   bare %8.0f/s   ratio %.2f\n", median(all[0]), median(all[1]),
              median(all[2]));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  try {
    const auto argument = [&](int at, int otherwise, int max) {
      return argc > at ? sluice::bench::numberOf(argv[at], max) : otherwise;
    };
    sluice::bench::run(static_cast<std::size_t>(argument(1, 100000, 10'000'000)), argument(2, 5, 100),
                       static_cast<std::size_t>(argument(3, 1, 64)));
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << "rabbit_race: " << failure.what() << '\n';
    return 1;
  }
}
