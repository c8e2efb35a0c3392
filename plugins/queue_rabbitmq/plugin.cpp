// queue_rabbitmq: descriptor, options, factory.
#include "sluice/plugin.h"

#include <iterator>

#include "rabbit_queue.h"

namespace sluice::rabbitmq {

namespace {

constexpr OptionSpec kOptions[] = {
    {"host", OptionType::Text, "127.0.0.1", "..253", false, "Where RabbitMQ is."},
    {"port", OptionType::Integer, "5672", "1..65535", false, "Its AMQP port; 5671 is usual with TLS."},
    {"vhost", OptionType::Text, "/", "..255", false, "The virtual host; it must exist."},
    {"user", OptionType::Text, "guest", "..255", false,
     "Needs the rights to configure, write and read what begins with the name."},
    {"password", OptionType::Text, "guest", "..1024", true, "Of that user."},
    {"tls", OptionType::Boolean, "off", "", false, "Encrypted, TLS 1.2 or newer."},
    {"tls.ca", OptionType::Path, "", "..4096", false,
     "PEM file with the certificates of those whose servers are trusted. Needed to verify the server."},
    {"tls.certificate", OptionType::Path, "", "..4096", false,
     "PEM file with our own certificate; empty for none."},
    {"tls.key", OptionType::Path, "", "..4096", false, "PEM file with its key."},
    {"tls.verify", OptionType::Boolean, "on", "", false,
     "Check the server's certificate and name. Off, anybody on the way can read and change everything."},
    {"heartbeat", OptionType::Duration, "15s", "1s..10m", false,
     "A silent broker counts as gone after twice that, and so do we for it: what a frozen process held then "
     "goes to "
     "others. Below 5s a busy network gives false alarms."},
    {"name", OptionType::Text, "sluice", "..200", false,
     "Exchange and queues begin with it: <name>.orders, <name>.dead, <name>.wait.<step>. All workers of one "
     "shop use "
     "the same."},
    {"queue.type", OptionType::Choice, "quorum", "quorum|classic", false,
     "quorum: replicated where the broker is a cluster, and safe on every step. classic: lighter; a crash of "
     "the "
     "broker may lose what waits for a retry."},
    {"lease", OptionType::Duration, "10m", "1s..24h", false,
     "An admission that a worker has not settled for so long is given to another one. Longer than twice the "
     "slowest batch, and shorter than half of the broker's consumer_timeout (30 minutes unless changed), "
     "which would end the connection."},
    {"capacity", OptionType::Integer, "1000000", "1..100000000", false,
     "Admissions that are not settled; further requests are answered BUSY. Counted by each process, so "
     "several "
     "publishers may exceed it by what they publish within a second."},
    {"dead.max", OptionType::Integer, "10000", "1..1000000", false,
     "Dead letters kept. When they are full, the consumer waits until some are replayed or dropped; none is "
     "discarded."},
};

Settings settingsOf(const QueueContext& context) {
  const OptionMap& options = context.options;
  Settings settings;
  settings.host = options.text("host");
  settings.port = static_cast<std::uint16_t>(options.integer("port"));
  settings.vhost = options.text("vhost");
  settings.user = options.text("user");
  settings.password = options.text("password");
  settings.tls = {.on = options.boolean("tls"),
                  .authority = options.text("tls.ca"),
                  .certificate = options.text("tls.certificate"),
                  .key = options.text("tls.key"),
                  .verify = options.boolean("tls.verify")};
  settings.heartbeat = std::chrono::duration_cast<std::chrono::seconds>(options.duration("heartbeat"));
  settings.name = options.text("name");
  settings.quorum = options.text("queue.type") == "quorum";
  settings.lease = options.duration("lease");
  settings.capacity = options.integer("capacity");
  settings.deadMax = options.integer("dead.max");
  settings.consumers = context.consumers;
  return settings;
}

Status check(const Settings& settings) {
  if (settings.name.empty()) return {ErrorCode::Misconfigured, "queue.rabbitmq.name: the queues need a name"};
  if (settings.name.starts_with("amq."))
    return {ErrorCode::Misconfigured, "queue.rabbitmq.name: names that begin with amq. are RabbitMQ's own"};
  if (settings.tls.on && settings.tls.verify && settings.tls.authority.empty()) {
    return {ErrorCode::Misconfigured,
            "queue.rabbitmq.tls.ca: whose servers are trusted? Name a PEM file, e.g. "
            "/etc/ssl/certs/ca-certificates.crt"};
  }
  if (settings.tls.certificate.empty() != settings.tls.key.empty()) {
    return {ErrorCode::Misconfigured,
            "queue.rabbitmq.tls.certificate and queue.rabbitmq.tls.key belong together"};
  }
  return {};
}

Result<std::unique_ptr<OrderQueue>> make(const QueueContext& context) noexcept {
  try {
    Settings settings = settingsOf(context);
    if (auto sound = check(settings); !sound) return sound.error();
    return std::unique_ptr<OrderQueue>(
        std::make_unique<RabbitQueue>(std::move(settings), context.log, context.clock, context.random));
  } catch (const std::exception& failure) {
    return {ErrorCode::Internal, std::string("queue_rabbitmq: ") + failure.what()};
  }
}

constexpr PluginDescriptor kDescriptor = {
    .magic = kPluginMagic,
    .abi = kPluginAbi,
    .kind = PluginKind::Queue,
    .buildTag = SLUICE_BUILD_TAG,
    .name = "rabbitmq",
    .version = SLUICE_VERSION,
    .summary = "RabbitMQ: confirmed, durable quorum queues with delayed retry and dead letters",
    .options = kOptions,
    .optionCount = std::size(kOptions),
    .makeQueue = make,
    .makeStore = nullptr,
};

}  // namespace

}  // namespace sluice::rabbitmq

SLUICE_PLUGIN(sluice::rabbitmq::kDescriptor)
