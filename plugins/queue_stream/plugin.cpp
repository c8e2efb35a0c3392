// queue_stream: descriptor, options, factory.
#include "sluice/plugin.h"

#include <iterator>

#include "stream_queue.h"

namespace sluice::stream {

namespace {

constexpr OptionSpec kOptions[] = {
    {"group", OptionType::Text, "fulfilment", "..64", false,
     "Name of the consumer group in the journal. All workers of one shop use the same."},
    {"lease", OptionType::Duration, "10s", "100ms..1h", false,
     "An admission that a worker has neither settled nor extended for so long is given to another one. Must "
     "be longer than twice the "
     "slowest batch; raising it makes orders of a dead worker wait longer."},
    {"dead.max", OptionType::Integer, "10000", "1..10000000", false,
     "Dead letters kept in Redis. When they are full, the consumer waits until some are replayed or dropped; "
     "none is discarded."},
    {"consumer.retire", OptionType::Duration, "1h", "1s..168h", false,
     "The record of a consumer that owns nothing and has read nothing for so long is removed from the "
     "group."},
};

Result<std::unique_ptr<OrderQueue>> make(const QueueContext& context) noexcept {
  if (!context.journal) {
    return {ErrorCode::Misconfigured,
            "queue = stream reads the journal, so it needs journal = on; with journal = off choose queue = "
            "inproc"};
  }
  try {
    Settings settings;
    settings.group = context.options.text("group");
    settings.lease = context.options.duration("lease");
    settings.retire = context.options.duration("consumer.retire");
    settings.deadMax = context.options.integer("dead.max");
    settings.journalMax = context.journalMax;
    settings.keyPrefix = context.keyPrefix;
    settings.instance = context.instance;
    settings.consumers = context.consumers;
    settings.redis = context.redis;
    if (settings.group.empty())
      return {ErrorCode::Misconfigured, "queue.stream.group: the group needs a name"};
    return std::unique_ptr<OrderQueue>(
        std::make_unique<StreamQueue>(std::move(settings), context.log, context.clock, context.random));
  } catch (const std::exception& failure) {
    return {ErrorCode::Internal, std::string("queue_stream: ") + failure.what()};
  }
}

constexpr PluginDescriptor kDescriptor = {
    .magic = kPluginMagic,
    .abi = kPluginAbi,
    .kind = PluginKind::Queue,
    .buildTag = SLUICE_BUILD_TAG,
    .name = "stream",
    .version = SLUICE_VERSION,
    .summary =
        "the journal in Redis is the queue: consumer group with take-over, delayed retry and dead letters",
    .options = kOptions,
    .optionCount = std::size(kOptions),
    .makeQueue = make,
    .makeStore = nullptr,
};

}  // namespace

}  // namespace sluice::stream

SLUICE_PLUGIN(sluice::stream::kDescriptor)
